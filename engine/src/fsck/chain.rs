//! The chain of committed transactions, back from the newest by each frame's pointer to the one before.

use std::collections::HashMap;

use crate::fsck::scan::{FoundJournal, FoundSegment, JournalHead};
use crate::index::rows::FrameRef;

/// A journalled transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) at: FrameRef,
    pub(crate) head: JournalHead,
    /// Length of its journal record.
    pub(crate) len: u64,
}

/// Every journal record that this program understands, by its frame.
pub(crate) fn links(segments: &[FoundSegment]) -> HashMap<FrameRef, Link> {
    let link = |journal: &FoundJournal| {
        let head = journal.content?;
        (journal.at.order > 0).then_some((journal.at, Link { at: journal.at, head, len: journal.len }))
    };
    segments.iter().flat_map(|segment| &segment.journals).filter_map(link).collect()
}

/// The transactions from the newest back to the newest checkpoint, or to the first of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// Newest first.
    pub(crate) links: Vec<Link>,
    /// Frames that are named and not there. What came before them is the best guess, if anything.
    pub(crate) missing: Vec<FrameRef>,
}

/// Follows the chain from a known frame and stops at the first that is missing.
pub(crate) fn follow(links: &HashMap<FrameRef, Link>, from: Option<FrameRef>) -> Chain {
    let mut chain = Chain::default();
    let mut next = from;
    while let Some(at) = next {
        let Some(link) = links.get(&at) else {
            chain.missing.push(at);
            break;
        };
        chain.links.push(*link);
        // Orders fall, or hand-made frames could lead in circles.
        next = link.head.parent.filter(|parent| !link.head.checkpoint && parent.order < at.order);
    }
    chain
}

/// Finds the chain when nobody knows its end: that is the frame of the highest order. Of several of one order, the last
/// one written was committed, if any was: whoever wrote it found the number still free.
pub(crate) fn guess(links: &HashMap<FrameRef, Link>) -> Chain {
    let newest_before = |order: u64| {
        let candidates = links.values().filter(|link| link.at.order < order);
        candidates.max_by_key(|link| (link.at.order, link.head.at_ms, link.at.segment, link.at.offset))
    };
    let mut chain = Chain::default();
    let mut start = newest_before(u64::MAX);
    while let Some(from) = start {
        let part = follow(links, Some(from.at));
        chain.links.extend(part.links);
        start = part.missing.first().and_then(|missing| newest_before(missing.order));
        chain.missing.extend(part.missing);
    }
    chain
}

impl Chain {
    /// The newest transaction.
    pub(crate) fn tip(&self) -> Option<FrameRef> {
        self.links.first().map(|link| link.at)
    }

    /// Whether everything since the beginning, or since a checkpoint that stands for it, is there.
    pub(crate) fn is_whole(&self) -> bool {
        let from_start = self.links.last().is_none_or(|link| link.head.checkpoint || link.head.parent.is_none());
        self.missing.is_empty() && from_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn frame(order: u64, segment: u8) -> FrameRef {
        FrameRef { order, segment: Id::from_bytes([segment; 16]), offset: 64 }
    }

    fn make(all: &[(FrameRef, Option<FrameRef>, i64, bool)]) -> HashMap<FrameRef, Link> {
        all.iter()
            .map(|(at, parent, at_ms, checkpoint)| {
                let head = JournalHead { parent: *parent, at_ms: *at_ms, checkpoint: *checkpoint };
                (*at, Link { at: *at, head, len: 1 })
            })
            .collect()
    }

    fn orders(chain: &Chain) -> Vec<(u64, u8)> {
        chain.links.iter().map(|link| (link.at.order, link.at.segment.as_bytes()[0])).collect()
    }

    #[test]
    fn a_frame_that_the_next_transaction_does_not_name_was_never_committed() {
        let links = make(&[
            (frame(1, 1), None, 10, false),
            (frame(2, 2), Some(frame(1, 1)), 99, false),
            (frame(2, 1), Some(frame(1, 1)), 11, false),
            (frame(3, 1), Some(frame(2, 1)), 12, false),
        ]);
        let chain = guess(&links);
        assert_eq!(orders(&chain), [(3, 1), (2, 1), (1, 1)]);
        assert!(chain.is_whole());
    }

    #[test]
    fn of_two_frames_at_the_end_the_later_one_counts() {
        let links = make(&[
            (frame(1, 1), None, 10, false),
            (frame(2, 9), Some(frame(1, 1)), 11, false),
            (frame(2, 1), Some(frame(1, 1)), 12, false),
        ]);
        assert_eq!(orders(&guess(&links)), [(2, 1), (1, 1)]);
    }

    #[test]
    fn a_checkpoint_that_was_never_committed_is_passed_by() {
        let links = make(&[
            (frame(1, 1), None, 10, false),
            (frame(2, 2), Some(frame(1, 1)), 11, true),
            (frame(2, 1), Some(frame(1, 1)), 12, false),
            (frame(3, 1), Some(frame(2, 1)), 13, false),
        ]);
        assert_eq!(orders(&guess(&links)), [(3, 1), (2, 1), (1, 1)]);
    }

    #[test]
    fn nothing_is_followed_beyond_a_checkpoint() {
        let links = make(&[(frame(4, 1), Some(frame(3, 1)), 10, true), (frame(5, 1), Some(frame(4, 1)), 11, false)]);
        let chain = guess(&links);
        assert_eq!(orders(&chain), [(5, 1), (4, 1)]);
        assert!(chain.is_whole());
    }

    #[test]
    fn a_missing_frame_is_told_and_what_came_before_is_used() {
        let links = make(&[(frame(1, 1), None, 10, false), (frame(3, 1), Some(frame(2, 1)), 12, false)]);
        let chain = guess(&links);
        assert_eq!(orders(&chain), [(3, 1), (1, 1)]);
        assert_eq!(chain.missing, [frame(2, 1)]);
        assert!(!chain.is_whole());
    }

    #[test]
    fn frames_that_name_each_other_end() {
        let links = make(&[(frame(1, 1), Some(frame(1, 2)), 1, false), (frame(1, 2), Some(frame(1, 1)), 2, false)]);
        assert_eq!(guess(&links).links.len(), 1);
    }
}
