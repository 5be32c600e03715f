//! Every bound in one place. A bound on something read from disk protects against damage and malice; the writer keeps
//! well below each.

/// Contents above this become a file of their own under `large/`.
pub const BLOB_BYTES_MAX: u64 = 4 << 20;

/// A segment is sealed once it is this long.
pub const SEGMENT_BYTES_MAX: u64 = 64 << 20;

/// Longest body of one frame. Leaves room for a checkpoint of some hundred thousand points.
pub const FRAME_BODY_MAX: u32 = 1 << 30;

/// No segment is longer than this: it is sealed once it passes its bound, by a frame or two at most.
pub const SEGMENT_READ_MAX: u64 = SEGMENT_BYTES_MAX + 2 * FRAME_BODY_MAX as u64;

/// Operations with more pending bytes than this write and sync them before they ask for the index, so that the index
/// lock is not held during a long write.
pub const FRAME_INSIDE_LOCK_MAX: usize = 1 << 20;

/// Target size of one frame of a batch.
pub const FRAME_BATCH_BYTES: usize = 8 << 20;

/// Longest chain of deltas. A step of a cold read costs 0.02 to 0.04 ms for a 25 KB source file; a read must stay below
/// 2 ms.
pub const DELTA_DEPTH_MAX: u8 = 40;

/// Longest sum of raw sizes along a chain of deltas: what a read has to decompress.
pub const DELTA_CHAIN_BYTES_MAX: u64 = 64 << 20;

/// Level of zstd; higher ones gain little on source text (engine design, section 4).
pub const ZSTD_LEVEL: i32 = 3;

/// Level for contents of at most [`SMALL_BYTES_MAX`]: 3.5 % larger than at level 3, at two thirds of the time, which is
/// most of the time of a first snapshot of many files (measured on Rust and TypeScript sources in pieces of 8 KB; at
/// 25 KB it would be 5.5 % for 14 %).
pub const ZSTD_SMALL_LEVEL: i32 = 1;

/// Largest content that is compressed at [`ZSTD_SMALL_LEVEL`].
pub const SMALL_BYTES_MAX: usize = 16 << 10;

/// Compression must save at least 1/33 (3 %), else the content is kept raw.
pub const ZSTD_MIN_GAIN: usize = 33;

/// Contents from this size on are tried on a sample of this size first.
pub const ZSTD_SAMPLE_BYTES: usize = 128 << 10;

/// Longest path in a manifest, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;

/// Longest component of a path, in bytes (NAME_MAX of Linux).
pub const NAME_BYTES_MAX: usize = 255;

/// Longest target of a symbolic link, in bytes.
pub const LINK_TARGET_BYTES_MAX: usize = 4096;

/// A tree node is cut behind a path whose hash is a multiple of this: nodes have this many entries on average.
pub const NODE_FANOUT: u32 = 32;

/// A manifest of up to this many entries is one node: two levels would cost a node more for each point.
pub const NODE_SINGLE_MAX: usize = 128;

/// Most entries of one tree node.
pub const NODE_ENTRIES_MAX: usize = 256;

/// Most levels of a tree; 32^6 is a thousand million entries.
pub const NODE_LEVEL_MAX: u8 = 6;

/// Longest tree node: 256 entries of the longest path.
pub const NODE_BYTES_MAX: usize = NODE_ENTRIES_MAX * (PATH_BYTES_MAX + LINK_TARGET_BYTES_MAX + 64) + 64;

/// Longest session id, in bytes.
pub const SESSION_ID_BYTES_MAX: usize = 255;

/// Characters of the prompt that are kept with a point.
pub const PROMPT_CHARS_MAX: usize = 200;

/// Most reasons for a gap that are kept with a point.
pub const GAPS_MAX: usize = 16;

/// Rows of dead objects removed in one transaction: about 12 ms (engine design, section 6).
pub const DRAIN_ROWS_MAX: usize = 500;

/// Cache of the index in each process; redb's default of 1 GiB is not for a guest in an editor.
pub const INDEX_CACHE_BYTES: usize = 8 << 20;

/// Cache of decoded contents in each process: the bases of the next deltas.
pub const CONTENT_CACHE_BYTES: usize = 8 << 20;

/// How often reading a file that keeps changing is tried.
pub const CAPTURE_TRIES: u32 = 3;
