//! The embedded store keeps the contract.

use store::EmbeddedStore;
use store::contract::Fixture;
use tempfile::TempDir;

struct Embedded {
    store: EmbeddedStore,
    directory: TempDir,
}

impl Fixture for Embedded {
    type S = EmbeddedStore;

    async fn new() -> Embedded {
        let directory = tempfile::tempdir().unwrap();
        Embedded { store: EmbeddedStore::open(directory.path()).unwrap(), directory }
    }

    fn store(&self) -> &EmbeddedStore {
        &self.store
    }

    async fn reopen(self) -> Embedded {
        let Embedded { store, directory } = self;
        drop(store);
        Embedded { store: EmbeddedStore::open(directory.path()).unwrap(), directory }
    }
}

store::contract_tests!(Embedded);
