//! The tables of the index, and typed access to them in both kinds of transaction.

use std::cell::RefCell;
use std::collections::HashMap;

use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::keys;
use crate::index::rows::{ObjectRow, PointRow, SegmentRow, SessionRow, StateRow};
use crate::tree::TrackedPath;

type Bytes = &'static [u8];
type HashKey = &'static [u8; 32];

const STATE: TableDefinition<'static, Bytes, Bytes> = TableDefinition::new("state");
const OBJECTS: TableDefinition<'static, HashKey, Bytes> = TableDefinition::new("objects");
const DEAD: TableDefinition<'static, HashKey, ()> = TableDefinition::new("dead");
const SEGMENTS: TableDefinition<'static, u32, Bytes> = TableDefinition::new("segments");
const UNLINK: TableDefinition<'static, Bytes, Bytes> = TableDefinition::new("unlink");

/// The tables of the logical state: what a checkpoint holds and a rebuild restores. The number is written in
/// checkpoints and must never change its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Logical {
    Sessions = 1,
    Points = 2,
    PointIds = 3,
    Layers = 4,
    Originals = 5,
    Notes = 6,
    Redo = 7,
    Pins = 8,
    Restores = 9,
    Purged = 10,
}

impl Logical {
    pub(crate) const ALL: [Self; 10] = [
        Self::Sessions,
        Self::Points,
        Self::PointIds,
        Self::Layers,
        Self::Originals,
        Self::Notes,
        Self::Redo,
        Self::Pins,
        Self::Restores,
        Self::Purged,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|table| *table as u8 == number)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Points => "points",
            Self::PointIds => "point_ids",
            Self::Layers => "layers",
            Self::Originals => "originals",
            Self::Notes => "notes",
            Self::Redo => "redo",
            Self::Pins => "pins",
            Self::Restores => "restores",
            Self::Purged => "purged",
        }
    }

    const fn definition(self) -> TableDefinition<'static, Bytes, Bytes> {
        TableDefinition::new(self.name())
    }
}

const STATE_KEY: &[u8] = b"state";

fn bad_row(table: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::IndexDamaged, format!("read a row of the table '{table}'")).because(source)
}

pub(crate) fn db_error(action: &str, error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    match error {
        // Only a handle that must not write is refused for this.
        redb::Error::RepairAborted => Error::new(ErrorKind::ReadOnly, action.to_owned())
            .cause("a process was killed while it used the index, and what it left must be settled by a writer")
            .with_hint("run any command without --read-only once, for instance `candy-store log`"),
        redb::Error::Io(source) if source.kind() == std::io::ErrorKind::TimedOut => {
            Error::new(ErrorKind::LockTimeout, action.to_owned()).cause("another process is in a transaction")
        }
        // A file that is too short or is no database says so in the words of the operating system.
        redb::Error::Io(source)
            if matches!(source.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData) =>
        {
            Error::new(ErrorKind::IndexDamaged, action.to_owned()).because(source)
        }
        redb::Error::Io(source) => {
            let kind = Error::io("", "", std::io::Error::from(source.kind())).kind();
            Error::new(kind, action.to_owned()).because(source)
        }
        other => Error::new(ErrorKind::IndexDamaged, action.to_owned()).because(other),
    }
}

fn parse<T: Serialize + DeserializeOwned>(table: &str, bytes: &[u8]) -> Result<T> {
    codec::decode(bytes).map_err(|error| bad_row(table, error))
}

/// Is given a key and a value, and says whether to go on.
pub(crate) type VisitRaw<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'a;

/// Reading, in either kind of transaction.
pub(crate) trait Rows {
    /// The bytes of a row of a logical table.
    fn raw(&self, table: Logical, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Calls `visit` with each row whose key begins with `prefix`, in order, until it says false.
    fn scan_raw(&self, table: Logical, prefix: &[u8], visit: &mut VisitRaw<'_>) -> Result<()>;
    /// An object's row.
    fn object(&self, hash: Hash) -> Result<Option<ObjectRow>>;
    /// Calls `visit` with every object, in the order of names.
    fn each_object(&self, visit: &mut dyn FnMut(Hash, ObjectRow) -> Result<()>) -> Result<()>;
    /// A segment's row.
    fn segment(&self, number: u32) -> Result<Option<SegmentRow>>;
    /// All segments.
    fn segments(&self) -> Result<Vec<(u32, SegmentRow)>>;
    /// The counters.
    fn state(&self) -> Result<StateRow>;
    /// Objects without references that wait for collection, at most `max`.
    fn dead(&self, max: usize) -> Result<Vec<Hash>>;
    /// Files to unlink, with their keys.
    fn unlinks(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>>;
}

/// Typed rows, for everything that has [`Rows`].
pub(crate) trait RowsExt: Rows {
    fn get<T: Serialize + DeserializeOwned>(&self, table: Logical, key: &[u8]) -> Result<Option<T>> {
        self.raw(table, key)?.map(|bytes| parse(table.name(), &bytes)).transpose()
    }

    fn scan<T: Serialize + DeserializeOwned>(
        &self,
        table: Logical,
        prefix: &[u8],
        visit: &mut dyn FnMut(&[u8], T) -> Result<()>,
    ) -> Result<()> {
        self.scan_raw(table, prefix, &mut |key, bytes| {
            visit(key, parse(table.name(), bytes)?)?;
            Ok(true)
        })
    }

    /// Whether an object is there with its bytes: only then need they not be stored again.
    fn has_bytes(&self, hash: Hash) -> Result<bool> {
        Ok(self.object(hash)?.is_some_and(|row| !row.is_lost()))
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        self.get(Logical::Sessions, id.as_bytes())
    }

    fn session_or_error(&self, id: &str) -> Result<SessionRow> {
        self.session(id)?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "find the session").cause(format!("no session '{id}'")))
    }

    fn sessions(&self) -> Result<Vec<(String, SessionRow)>> {
        let mut sessions = Vec::new();
        self.scan(Logical::Sessions, b"", &mut |key, row| {
            let id = String::from_utf8(key.to_vec()).map_err(|error| bad_row("sessions", error))?;
            sessions.push((id, row));
            Ok(())
        })?;
        Ok(sessions)
    }

    fn point(&self, session: &str, seq: u64) -> Result<Option<PointRow>> {
        self.get(Logical::Points, &keys::numbered(session, seq))
    }

    fn points(&self, session: &str) -> Result<Vec<(u64, PointRow)>> {
        let mut points = Vec::new();
        self.scan(Logical::Points, &keys::session_prefix(session), &mut |key, row| {
            let (_, seq) = keys::parse_numbered(key).ok_or_else(|| bad_row("points", "malformed key"))?;
            points.push((seq, row));
            Ok(())
        })?;
        Ok(points)
    }

    /// Session and number of a point.
    fn find_point(&self, id: Id) -> Result<Option<(String, u64)>> {
        let Some(key) = self.raw(Logical::PointIds, id.as_bytes())? else { return Ok(None) };
        let (session, seq) = keys::parse_numbered(&key).ok_or_else(|| bad_row("point_ids", "malformed value"))?;
        Ok(Some((session.to_owned(), seq)))
    }

    /// Tracked paths of a session with their original states, newer layers over older ones.
    fn originals(
        &self,
        session: &SessionRow,
    ) -> Result<std::collections::BTreeMap<TrackedPath, (u64, crate::tree::Entry)>> {
        let mut all = std::collections::BTreeMap::new();
        for layer in &session.layers {
            self.scan::<crate::index::rows::OriginalRow>(Logical::Originals, layer.as_bytes(), &mut |key, row| {
                let path = keys::parse_layer_path(key).ok_or_else(|| bad_row("originals", "malformed key"))?;
                match row.entry {
                    Some(entry) => all.insert(path, (row.order, entry)),
                    None => all.remove(&path),
                };
                Ok(())
            })?;
        }
        Ok(all)
    }
}

impl<R: Rows + ?Sized> RowsExt for R {}

fn scan_table(table: &impl ReadableTable<Bytes, Bytes>, prefix: &[u8], visit: &mut VisitRaw<'_>) -> Result<()> {
    for row in table.range::<&[u8]>(prefix..).map_err(|error| db_error("read the index", error))? {
        let (key, value) = row.map_err(|error| db_error("read the index", error))?;
        if !key.value().starts_with(prefix) || !visit(key.value(), value.value())? {
            break;
        }
    }
    Ok(())
}

fn get_object(table: &impl ReadableTable<HashKey, Bytes>, hash: Hash) -> Result<Option<ObjectRow>> {
    let row = table.get(hash.as_bytes()).map_err(|error| db_error("read the index", error))?;
    row.map(|bytes| parse("objects", bytes.value())).transpose()
}

fn each_object_of(
    table: &impl ReadableTable<HashKey, Bytes>,
    visit: &mut dyn FnMut(Hash, ObjectRow) -> Result<()>,
) -> Result<()> {
    for row in table.iter().map_err(|error| db_error("read the index", error))? {
        let (key, value) = row.map_err(|error| db_error("read the index", error))?;
        visit(Hash::from_bytes(*key.value()), parse("objects", value.value())?)?;
    }
    Ok(())
}

fn get_segment(table: &impl ReadableTable<u32, Bytes>, number: u32) -> Result<Option<SegmentRow>> {
    let row = table.get(number).map_err(|error| db_error("read the index", error))?;
    row.map(|bytes| parse("segments", bytes.value())).transpose()
}

fn all_segments(table: &impl ReadableTable<u32, Bytes>) -> Result<Vec<(u32, SegmentRow)>> {
    let mut rows = Vec::new();
    for row in table.iter().map_err(|error| db_error("read the index", error))? {
        let (key, value) = row.map_err(|error| db_error("read the index", error))?;
        rows.push((key.value(), parse("segments", value.value())?));
    }
    Ok(rows)
}

fn first_dead(table: &impl ReadableTable<HashKey, ()>, max: usize) -> Result<Vec<Hash>> {
    let mut hashes = Vec::new();
    for row in table.iter().map_err(|error| db_error("read the index", error))?.take(max) {
        let (key, _) = row.map_err(|error| db_error("read the index", error))?;
        hashes.push(Hash::from_bytes(*key.value()));
    }
    Ok(hashes)
}

fn get_state(table: &impl ReadableTable<Bytes, Bytes>) -> Result<StateRow> {
    let row = table.get(STATE_KEY).map_err(|error| db_error("read the index", error))?;
    let row = row.ok_or_else(|| bad_row("state", "the row is missing"))?;
    parse("state", row.value())
}

fn all_raw(table: &impl ReadableTable<Bytes, Bytes>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut rows = Vec::new();
    scan_table(table, b"", &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(true)
    })?;
    Ok(rows)
}

/// A read transaction.
pub(crate) struct Snapshot(ReadTransaction);

impl Snapshot {
    pub(crate) fn new(txn: ReadTransaction) -> Self {
        Self(txn)
    }

    fn open<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<redb::ReadOnlyTable<K, V>> {
        self.0.open_table(definition).map_err(|error| db_error("open a table of the index", error))
    }
}

impl Rows for Snapshot {
    fn raw(&self, table: Logical, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let table = self.open(table.definition())?;
        let row = table.get(key).map_err(|error| db_error("read the index", error))?;
        Ok(row.map(|bytes| bytes.value().to_vec()))
    }

    fn scan_raw(&self, table: Logical, prefix: &[u8], visit: &mut VisitRaw<'_>) -> Result<()> {
        scan_table(&self.open(table.definition())?, prefix, visit)
    }

    fn object(&self, hash: Hash) -> Result<Option<ObjectRow>> {
        get_object(&self.open(OBJECTS)?, hash)
    }

    fn each_object(&self, visit: &mut dyn FnMut(Hash, ObjectRow) -> Result<()>) -> Result<()> {
        each_object_of(&self.open(OBJECTS)?, visit)
    }

    fn segment(&self, number: u32) -> Result<Option<SegmentRow>> {
        get_segment(&self.open(SEGMENTS)?, number)
    }

    fn segments(&self) -> Result<Vec<(u32, SegmentRow)>> {
        all_segments(&self.open(SEGMENTS)?)
    }

    fn state(&self) -> Result<StateRow> {
        get_state(&self.open(STATE)?)
    }

    fn dead(&self, max: usize) -> Result<Vec<Hash>> {
        first_dead(&self.open(DEAD)?, max)
    }

    fn unlinks(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        all_raw(&self.open(UNLINK)?)
    }
}

/// Object rows that a transaction has looked at or changed. Counting touches the row of a new object several times; it
/// is written once.
#[derive(Default)]
struct ObjectRows(HashMap<Hash, CachedRow>);

struct CachedRow {
    row: Option<ObjectRow>,
    /// Not in the table yet.
    changed: bool,
}

/// Rows kept in memory by one transaction: some megabytes.
const OBJECT_ROWS_MAX: usize = 16 << 10;

/// The tables of a write transaction.
pub(crate) struct Tables<'t> {
    state: Table<'t, Bytes, Bytes>,
    objects: RefCell<Table<'t, HashKey, Bytes>>,
    object_rows: RefCell<ObjectRows>,
    dead: Table<'t, HashKey, ()>,
    segments: Table<'t, u32, Bytes>,
    unlink: Table<'t, Bytes, Bytes>,
    logical: Vec<Table<'t, Bytes, Bytes>>,
}

impl<'t> Tables<'t> {
    pub(crate) fn open(txn: &'t WriteTransaction) -> Result<Self> {
        let fail = |error| db_error("open a table of the index", redb::Error::from(error));
        Ok(Self {
            state: txn.open_table(STATE).map_err(fail)?,
            objects: RefCell::new(txn.open_table(OBJECTS).map_err(fail)?),
            object_rows: RefCell::default(),
            dead: txn.open_table(DEAD).map_err(fail)?,
            segments: txn.open_table(SEGMENTS).map_err(fail)?,
            unlink: txn.open_table(UNLINK).map_err(fail)?,
            logical: Logical::ALL
                .into_iter()
                .map(|table| txn.open_table(table.definition()).map_err(fail))
                .collect::<Result<_>>()?,
        })
    }

    /// Writes what is still in memory. Without this the transaction must not be committed.
    pub(crate) fn finish(self) -> Result<()> {
        self.write_object_rows()
    }

    /// In the order of their names, which keeps the tree's pages hot.
    fn write_object_rows(&self) -> Result<()> {
        let mut table = self.objects.borrow_mut();
        let rows = std::mem::take(&mut self.object_rows.borrow_mut().0);
        let mut changed: Vec<(Hash, ObjectRow)> = rows
            .into_iter()
            .filter_map(|(hash, cached)| cached.row.filter(|_| cached.changed).map(|row| (hash, row)))
            .collect();
        changed.sort_unstable_by_key(|(hash, _)| *hash);
        for (hash, row) in changed {
            let bytes = codec::encode(&row);
            table.insert(hash.as_bytes(), bytes.as_slice()).map_err(|error| db_error("write the index", error))?;
        }
        Ok(())
    }

    fn table(&self, table: Logical) -> &Table<'t, Bytes, Bytes> {
        &self.logical[table as usize - 1]
    }

    fn table_mut(&mut self, table: Logical) -> &mut Table<'t, Bytes, Bytes> {
        &mut self.logical[table as usize - 1]
    }

    pub(crate) fn put_raw(&mut self, table: Logical, key: &[u8], value: &[u8]) -> Result<()> {
        self.table_mut(table).insert(key, value).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn put<T: Serialize>(&mut self, table: Logical, key: &[u8], row: &T) -> Result<()> {
        self.put_raw(table, key, &codec::encode(row))
    }

    /// Removes a row; true when there was one.
    pub(crate) fn remove(&mut self, table: Logical, key: &[u8]) -> Result<bool> {
        let row = self.table_mut(table).remove(key).map_err(|error| db_error("write the index", error))?;
        Ok(row.is_some())
    }

    pub(crate) fn put_session(&mut self, id: &str, row: &SessionRow) -> Result<()> {
        self.put(Logical::Sessions, id.as_bytes(), row)
    }

    pub(crate) fn put_object(&mut self, hash: Hash, row: &ObjectRow) -> Result<()> {
        if self.object_rows.borrow().0.len() >= OBJECT_ROWS_MAX {
            self.write_object_rows()?;
        }
        let cached = CachedRow { row: Some(row.clone()), changed: true };
        self.object_rows.borrow_mut().0.insert(hash, cached);
        Ok(())
    }

    pub(crate) fn remove_object(&mut self, hash: Hash) -> Result<()> {
        self.object_rows.borrow_mut().0.remove(&hash);
        self.objects.borrow_mut().remove(hash.as_bytes()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn put_dead(&mut self, hash: Hash) -> Result<()> {
        self.dead.insert(hash.as_bytes(), ()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn remove_dead(&mut self, hash: Hash) -> Result<()> {
        self.dead.remove(hash.as_bytes()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn put_segment(&mut self, number: u32, row: &SegmentRow) -> Result<()> {
        let bytes = codec::encode(row);
        self.segments.insert(number, bytes.as_slice()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn remove_segment(&mut self, number: u32) -> Result<()> {
        self.segments.remove(number).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn put_state(&mut self, row: &StateRow) -> Result<()> {
        let bytes = codec::encode(row);
        self.state.insert(STATE_KEY, bytes.as_slice()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn put_unlink<T: Serialize>(&mut self, key: &[u8], row: &T) -> Result<()> {
        let bytes = codec::encode(row);
        self.unlink.insert(key, bytes.as_slice()).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }

    pub(crate) fn remove_unlink(&mut self, key: &[u8]) -> Result<()> {
        self.unlink.remove(key).map_err(|error| db_error("write the index", error))?;
        Ok(())
    }
}

impl Rows for Tables<'_> {
    fn raw(&self, table: Logical, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let row = self.table(table).get(key).map_err(|error| db_error("read the index", error))?;
        Ok(row.map(|bytes| bytes.value().to_vec()))
    }

    fn scan_raw(&self, table: Logical, prefix: &[u8], visit: &mut VisitRaw<'_>) -> Result<()> {
        scan_table(self.table(table), prefix, visit)
    }

    fn object(&self, hash: Hash) -> Result<Option<ObjectRow>> {
        if let Some(cached) = self.object_rows.borrow().0.get(&hash) {
            return Ok(cached.row.clone());
        }
        let row = get_object(&*self.objects.borrow(), hash)?;
        let rows = &mut self.object_rows.borrow_mut().0;
        if rows.len() < OBJECT_ROWS_MAX {
            rows.insert(hash, CachedRow { row: row.clone(), changed: false });
        }
        Ok(row)
    }

    fn each_object(&self, visit: &mut dyn FnMut(Hash, ObjectRow) -> Result<()>) -> Result<()> {
        self.write_object_rows()?;
        each_object_of(&*self.objects.borrow(), visit)
    }

    fn segment(&self, number: u32) -> Result<Option<SegmentRow>> {
        get_segment(&self.segments, number)
    }

    fn segments(&self) -> Result<Vec<(u32, SegmentRow)>> {
        all_segments(&self.segments)
    }

    fn state(&self) -> Result<StateRow> {
        get_state(&self.state)
    }

    fn dead(&self, max: usize) -> Result<Vec<Hash>> {
        first_dead(&self.dead, max)
    }

    fn unlinks(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        all_raw(&self.unlink)
    }
}
