//! Images: fetched or loaded, kept by content, unpacked into snapshots.
