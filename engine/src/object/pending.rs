//! Objects on their way into the store.

use std::collections::HashMap;
use std::sync::Arc;

use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::ObjectKind;
use crate::object::encode::{Encoded, Form, encode, encode_full};
use crate::object::large::StoredLarge;

/// Bytes with their name: what a delta is made against.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) hash: Hash,
    pub(crate) bytes: Arc<[u8]>,
}

/// Where a pending object's record already is, when it was written ahead of the transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) segment: Id,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// An object that may have to be written.
#[derive(Clone, Debug)]
pub(crate) struct PendingObject {
    pub(crate) hash: Hash,
    pub(crate) kind: ObjectKind,
    pub(crate) raw_len: u64,
    /// The bytes, while they may be needed: a delta whose base vanished is encoded anew, and nodes are asked for
    /// children.
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) encoded: Encoded,
    pub(crate) written: Option<Written>,
}

impl PendingObject {
    /// Encodes a content.
    pub(crate) fn blob(hash: Hash, bytes: Arc<[u8]>, base: Option<&Base>) -> Self {
        Self::new(hash, ObjectKind::Blob, bytes, base)
    }

    fn new(hash: Hash, kind: ObjectKind, bytes: Arc<[u8]>, base: Option<&Base>) -> Self {
        let base = base.filter(|base| base.hash != hash).map(|base| (base.hash, &*base.bytes));
        let encoded = encode(&bytes, base);
        Self { hash, kind, raw_len: bytes.len() as u64, bytes, encoded, written: None }
    }
}

/// A set of objects, children before parents.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    objects: Vec<PendingObject>,
    by_hash: HashMap<Hash, usize>,
    pub(crate) large: Vec<StoredLarge>,
    unwritten_bytes: usize,
}

impl Pending {
    pub(crate) fn contains(&self, hash: Hash) -> bool {
        self.by_hash.contains_key(&hash) || self.large.iter().any(|large| large.content == hash)
    }

    /// Adds an object that is encoded already.
    pub(crate) fn add(&mut self, object: PendingObject) {
        if self.contains(object.hash) {
            return;
        }
        self.by_hash.insert(object.hash, self.objects.len());
        self.unwritten_bytes += object.encoded.payload.len();
        self.objects.push(object);
    }

    /// Adds a tree node.
    pub(crate) fn add_node(&mut self, hash: Hash, bytes: Vec<u8>, base: Option<&Base>) {
        if !self.contains(hash) {
            self.add(PendingObject::new(hash, ObjectKind::Node, bytes.into(), base));
        }
    }

    pub(crate) fn get(&self, hash: Hash) -> Option<&PendingObject> {
        self.by_hash.get(&hash).map(|at| &self.objects[*at])
    }

    pub(crate) fn objects(&self) -> &[PendingObject] {
        &self.objects
    }

    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.unwritten_bytes
    }

    /// Notes where the objects at `positions` were written. What cannot be asked for any more is let go of, so that a
    /// batch of any size fits into memory.
    pub(crate) fn set_written(&mut self, written: &[(usize, Written)]) {
        for (at, place) in written {
            let object = &mut self.objects[*at];
            object.written = Some(*place);
            self.unwritten_bytes -= object.encoded.payload.len();
        }
    }

    /// Encodes an object without its base, which is not in the store any more.
    pub(crate) fn drop_base(&mut self, at: usize) {
        let object = &mut self.objects[at];
        if matches!(object.encoded.form, Form::Delta { .. }) {
            if object.written.take().is_none() {
                self.unwritten_bytes -= object.encoded.payload.len();
            }
            object.encoded = encode_full(&object.bytes);
            self.unwritten_bytes += object.encoded.payload.len();
        }
    }

    /// Lets go of the bytes of contents that are written in full: nobody asks for them again.
    pub(crate) fn shed_bytes(&mut self) {
        for object in &mut self.objects {
            let full = !matches!(object.encoded.form, Form::Delta { .. });
            if object.written.is_some() && full && object.kind == ObjectKind::Blob {
                object.bytes = Arc::from([]);
                object.encoded.payload = Vec::new();
            }
        }
    }

    /// Whether everything that was written ahead lies in `segment`.
    pub(crate) fn written_only_to(&self, segment: Id) -> bool {
        self.objects.iter().all(|object| object.written.is_none_or(|written| written.segment == segment))
    }
}
