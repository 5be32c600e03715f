//! A small store with everything in it, for damaging.

use std::path::Path;

use candy_store::{NewRedoItem, PointKind, RedoKind, SnapshotRequest, Target};

use crate::agent::{open_store, plan_request, session_options};
use crate::rng::Rng;
use crate::workload::SourceText;

/// Makes a store at `store` of files edited in `cwd`: three sessions with points, deltas, deleted files, a large content,
/// redo items, and a fork; and a second segment, because it is closed and opened in between.
///
/// # Errors
/// When the engine reports one.
///
/// # Panics
/// When the files cannot be written.
pub fn make(store: &Path, cwd: &Path) -> candy_store::Result<()> {
    let mut rng = Rng::new(41);
    std::fs::create_dir_all(cwd).unwrap();
    let cwd = &cwd.canonicalize().unwrap();
    let mut texts: Vec<SourceText> = (0..8).map(|size| SourceText::generate(&mut rng, 500 + 700 * size)).collect();
    for round in 0..3_usize {
        let store = open_store(store)?;
        let session = store.open_session(&session_options(&format!("session-{round}"), cwd))?;
        if round == 0 {
            // Above 4 MiB contents are files of their own.
            std::fs::write(cwd.join("large.bin"), rng.noise((4 << 20) + 1)).unwrap();
            session.track(&cwd.join("large.bin"))?;
        }
        for turn in 0..8_usize {
            let request = SnapshotRequest {
                prompt: Some(format!("prompt {turn} of session {round}")),
                ..SnapshotRequest::of(if turn == 0 { PointKind::Baseline } else { PointKind::Operation })
            };
            let point = session.snapshot(&request)?.point;
            session.bind(point.id, &format!("entry-{round}-{turn}"))?;
            for _ in 0..3 {
                let file = rng.below(texts.len());
                let path = cwd.join(format!("file{file}.ts"));
                session.track(&path)?;
                texts[file].edit(&mut rng);
                std::fs::write(&path, texts[file].bytes()).unwrap();
                session.tool_done(&path, false)?;
            }
            if turn == 5 {
                let path = cwd.join("file0.ts");
                session.track(&path)?;
                let _ = std::fs::remove_file(&path);
            }
        }
        let target = session.points()?[3].id;
        let plan = session.plan(&plan_request(Target::Point(target)))?;
        let report = session.apply(plan.id, 0)?;
        session.redo_push(&NewRedoItem {
            kind: RedoKind::Both,
            point: Some(report.redo_point.id),
            old_leaf: Some(format!("leaf-{round}")),
            items_max: 10,
        })?;
        if round == 1 {
            store.fork("session-1", "fork", cwd)?;
        }
        drop(session);
        store.close()?;
    }
    Ok(())
}
