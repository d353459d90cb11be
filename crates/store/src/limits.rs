//! How much of everything there may be.

/// The longest key and the longest prefix. Kubernetes names give keys of a few hundred bytes.
pub const MAX_KEY_BYTES: usize = 2 * 1024;

/// The largest value: upstream accepts request bodies of 3 MiB, so nothing larger can arrive.
pub const MAX_VALUE_BYTES: usize = 3 * 1024 * 1024;

/// The most entries of one page, whatever was asked for; the rest is read with further pages.
pub const MAX_PAGE_ENTRIES: usize = 10_000;

/// A page ends early after this many bytes of values.
pub const MAX_PAGE_BYTES: usize = 64 * 1024 * 1024;

/// The most changes that share one durable commit.
pub const MAX_BATCH_CHANGES: usize = 256;

/// A batch ends early after this many bytes of values.
pub const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The most changes that wait for the committer; further callers wait before they are queued.
pub const MAX_QUEUED_CHANGES: usize = 1_024;

/// The most KiB of values that wait for the committer.
pub const MAX_QUEUED_KIB: u32 = 64 * 1024;

/// The most revisions that one compaction step forgets; steps share commits with waiting changes.
pub const MAX_COMPACTED_REVISIONS: usize = 1_024;

/// The newest events, kept in memory so that watchers that keep up never read the disk.
pub const MAX_RECENT_EVENTS: usize = 4_096;

/// The newest events are dropped from memory beyond this many bytes of values; watchers then read them from disk.
pub const MAX_RECENT_BYTES: usize = 8 * 1024 * 1024;

/// The most events that a watcher holds undelivered. The rest waits in the store, not in memory.
pub const MAX_WATCH_BUFFER: usize = 256;

/// The most revisions that a watcher looks at in one read of history.
pub const MAX_WATCH_SCAN: usize = 4_096;
