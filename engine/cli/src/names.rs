//! Names of points and sessions, as people type them.

use candy_store::{ErrorKind, Id, Point, SessionSummary, Store};

use crate::failure::{Candidate, Failure, Result};
use crate::text::{one_line, printable_path};
use crate::time::{age, now_ms, parse_age};

/// Shorter prefixes would be typed by accident.
const PREFIX_DIGITS_MIN: usize = 4;

/// Digits of an identifier that lists show.
pub(crate) const SHORT_DIGITS: usize = 8;

/// Candidates that an ambiguous name lists.
const CANDIDATES_MAX: usize = 20;

const FORMS: &str = "name a point by its id or the first digits of it, `latest`, `latest~2`, `SESSION:3` or `2h ago`; \
                     `candy-store log` lists them";

/// A parsed name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name<'a> {
    Id(Id),
    Prefix(&'a str),
    /// Counted or timed, in one session or in all.
    Picked {
        session: Option<&'a str>,
        pick: Pick,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    /// 0 is the newest.
    Back(u64),
    /// The newest that is at least this old.
    OlderMs(i64),
}

fn parse(text: &str) -> Option<Name<'_>> {
    if let Some(pick) = parse_pick(text) {
        return Some(Name::Picked { session: None, pick });
    }
    if let Some((session, rest)) = text.rsplit_once(':')
        && !session.is_empty()
    {
        let nth = rest.parse::<u64>().ok().and_then(|nth| nth.checked_sub(1)).map(Pick::Back);
        if let Some(pick) = nth.or_else(|| parse_pick(rest)) {
            return Some(Name::Picked { session: Some(session), pick });
        }
    }
    if let Some(id) = Id::from_hex(text) {
        return Some(Name::Id(id));
    }
    let is_prefix = (PREFIX_DIGITS_MIN..32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_prefix.then_some(Name::Prefix(text))
}

fn parse_pick(text: &str) -> Option<Pick> {
    match text.strip_prefix("latest") {
        Some("") => Some(Pick::Back(0)),
        Some(rest) => rest.strip_prefix('~')?.parse().ok().map(Pick::Back),
        None => parse_age(text).map(Pick::OlderMs),
    }
}

/// The first digits of a point's identifier.
pub(crate) fn short(id: Id) -> String {
    id.to_hex()[..SHORT_DIGITS].to_owned()
}

/// Digits that tell points from each other, at least [`SHORT_DIGITS`].
pub(crate) fn digits_that_differ<'a>(points: impl Iterator<Item = &'a Point>) -> usize {
    let mut ids: Vec<String> = points.map(|point| point.id.to_hex()).collect();
    ids.sort();
    ids.dedup();
    let shared = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(SHORT_DIGITS)
}

fn no_point(text: &str) -> Failure {
    Failure::new(ErrorKind::NotFound, format!("cannot find the point '{text}'")).hint(FORMS)
}

/// The point that a name stands for.
pub(crate) fn point(store: &Store, text: &str) -> Result<Point> {
    let Some(name) = parse(text) else {
        return Err(Failure::usage(format!("cannot use '{text}' as the name of a point")).hint(FORMS));
    };
    match name {
        Name::Id(id) => store.points_with_prefix(&id.to_hex(), 1)?.into_iter().next().ok_or_else(|| no_point(text)),
        Name::Prefix(prefix) => {
            let mut found = store.points_with_prefix(prefix, CANDIDATES_MAX)?;
            match found.len() {
                0 => Err(no_point(text)),
                1 => Ok(found.remove(0)),
                _ => Err(ambiguous(text, &found)),
            }
        }
        Name::Picked { session: Some(name), pick } => {
            let session = session(store, name)?;
            let points = store.points(&session.id)?;
            let count = points.len();
            choose(points, pick).ok_or_else(|| too_far(text, count))
        }
        Name::Picked { session: None, pick } => {
            let points = in_time(store)?;
            let count = points.len();
            choose(points, pick).ok_or_else(|| too_far(text, count))
        }
    }
}

fn too_far(text: &str, count: usize) -> Failure {
    Failure::new(
        ErrorKind::NotFound,
        format!("cannot find the point '{text}': there are {count} points, none that old"),
    )
    .hint("list what there is with `candy-store log`")
}

fn ambiguous(text: &str, points: &[Point]) -> Failure {
    let digits = digits_that_differ(points.iter());
    let now = now_ms();
    let candidates =
        points.iter().map(|point| Candidate { name: point.id.to_hex()[..digits].to_owned(), about: about(point, now) });
    Failure::new(ErrorKind::Ambiguous, format!("cannot tell which point '{text}' is: several begin so"))
        .candidates(candidates.collect())
        .hint("give more digits")
}

/// What tells a point from others.
pub(crate) fn about(point: &Point, now_ms: i64) -> String {
    let prompt = point.prompt.as_deref().map(one_line).unwrap_or_default();
    let about = format!("{}, {}, session {}", point.kind.word(), age(now_ms, point.created_ms), point.session);
    if prompt.is_empty() { about } else { format!("{about}: {prompt}") }
}

/// The point to pick from points that are sorted, oldest first.
fn choose(mut points: Vec<Point>, pick: Pick) -> Option<Point> {
    match pick {
        Pick::Back(back) => {
            let at = points.len().checked_sub(usize::try_from(back).ok()?.checked_add(1)?)?;
            Some(points.swap_remove(at))
        }
        Pick::OlderMs(age_ms) => {
            let until = now_ms().saturating_sub(age_ms);
            let at = points.iter().rposition(|point| point.created_ms <= until)?;
            Some(points.swap_remove(at))
        }
    }
}

/// All points of the store, oldest first. Within a session their order is that of their numbers, whatever the clock did.
fn in_time(store: &Store) -> Result<Vec<Point>> {
    Ok(sort_by_time(store.all_points()?))
}

fn sort_by_time(points: Vec<Point>) -> Vec<Point> {
    let mut timed: Vec<(i64, Point)> = Vec::with_capacity(points.len());
    for point in points {
        let not_before = match timed.last() {
            Some((time, last)) if last.session == point.session => *time,
            _ => i64::MIN,
        };
        timed.push((point.created_ms.max(not_before), point));
    }
    // Stable: points of one session come in their order.
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, point)| point).collect()
}

/// The session that a name stands for: its identifier, or the first characters of it.
pub(crate) fn session(store: &Store, text: &str) -> Result<SessionSummary> {
    if let Some(session) = store.session_summary(text)? {
        return Ok(session);
    }
    let mut found = store.sessions()?;
    found.retain(|session| !text.is_empty() && session.id.starts_with(text));
    match found.len() {
        0 => Err(Failure::new(ErrorKind::NotFound, format!("cannot find the session '{text}'"))
            .hint("list what there is with `candy-store log`")),
        1 => Ok(found.remove(0)),
        _ => {
            let now = now_ms();
            let about = |session: &SessionSummary| {
                format!("{}, {}", age(now, session.last_event_ms), printable_path(&session.cwd))
            };
            let candidates = found.iter().take(CANDIDATES_MAX);
            let candidates =
                candidates.map(|session| Candidate { name: session.id.clone(), about: about(session) }).collect();
            Err(Failure::new(ErrorKind::Ambiguous, format!("cannot tell which session '{text}' is: several begin so"))
                .candidates(candidates)
                .hint("give more characters"))
        }
    }
}

#[cfg(test)]
mod tests {
    use candy_store::PointKind;
    use candy_store::tree::Roots;

    use super::*;

    fn made(session: &str, seq: u64, created_ms: i64) -> Point {
        let mut id = [0; 16];
        id[15] = u8::try_from(seq).unwrap();
        Point {
            id: Id::from_bytes(id),
            session: session.to_owned(),
            seq,
            kind: PointKind::Manual,
            created_ms,
            entry: None,
            prompt: None,
            roots: Roots::default(),
            files: 0,
            changed: 0,
            gaps: vec![],
        }
    }

    #[test]
    fn names_are_parsed() {
        let back = |session, back| Some(Name::Picked { session, pick: Pick::Back(back) });
        assert_eq!(parse("latest"), back(None, 0));
        assert_eq!(parse("latest~2"), back(None, 2));
        assert_eq!(parse("s:1"), back(Some("s"), 0));
        assert_eq!(parse("cli:/home/me:3"), back(Some("cli:/home/me"), 2));
        assert_eq!(parse("s:latest~1"), back(Some("s"), 1));
        let hours = Pick::OlderMs(7_200_000);
        assert_eq!(parse("2h ago"), Some(Name::Picked { session: None, pick: hours }));
        assert_eq!(parse("s:2h ago"), Some(Name::Picked { session: Some("s"), pick: hours }));
        assert_eq!(parse("abcd"), Some(Name::Prefix("abcd")));
        assert_eq!(parse(&"a".repeat(32)), Some(Name::Id(Id::from_bytes([0xaa; 16]))));
        for bad in ["", "abc", "s:0", "s:", ":1", "s:x", "latest~", "latest~-1", "latestx", "xyzw", &"a".repeat(33)] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn points_are_picked_from_the_newest() {
        let points = vec![made("a", 1, 10), made("a", 2, 20), made("a", 3, 30)];
        let seq = |pick| choose(points.clone(), pick).map(|point| point.seq);
        assert_eq!(seq(Pick::Back(0)), Some(3));
        assert_eq!(seq(Pick::Back(2)), Some(1));
        assert_eq!(seq(Pick::Back(3)), None);
        assert_eq!(seq(Pick::Back(u64::MAX)), None);
        assert_eq!(seq(Pick::OlderMs(now_ms() - 25)), Some(2));
        assert_eq!(seq(Pick::OlderMs(now_ms())), None);
    }

    #[test]
    fn a_clock_that_jumps_back_does_not_turn_a_session_around() {
        let points = vec![made("a", 1, 100), made("a", 2, 50), made("b", 7, 60), made("b", 8, 120)];
        let order: Vec<_> = sort_by_time(points).into_iter().map(|point| point.seq).collect();
        assert_eq!(order, [7, 1, 2, 8]);
    }

    #[test]
    fn identifiers_are_shown_with_as_many_digits_as_tell_them_apart() {
        assert_eq!(digits_that_differ([made("a", 1, 0)].iter()), SHORT_DIGITS);
        assert_eq!(digits_that_differ([made("a", 1, 0), made("a", 2, 0)].iter()), 32);
        assert_eq!(digits_that_differ([].iter()), SHORT_DIGITS);
    }
}
