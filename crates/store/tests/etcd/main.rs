//! The etcd store keeps the contract on real etcd servers of two versions, and stands what happens to them.

mod certificates;
mod faults;
mod killing;
mod limits;
mod server;
mod sharing;

use server::{Etcd34, Etcd35, Server, Version};
use store::EtcdStore;
use store::contract::Fixture;

/// A server of its own for every test: the contract counts revisions from the first.
struct Etcd<V> {
    server: Server<V>,
    store: EtcdStore,
}

impl<V: Version> Fixture for Etcd<V> {
    type S = EtcdStore;

    async fn new() -> Etcd<V> {
        let (server, store) = Server::start(&[]).await;
        Etcd { server, store }
    }

    fn store(&self) -> &EtcdStore {
        &self.store
    }

    /// Both ends: the server is killed and started again as well.
    async fn reopen(self) -> Etcd<V> {
        let Etcd { mut server, store } = self;
        drop(store);
        server.kill();
        server.restart();
        let store = server.connect().await;
        Etcd { server, store }
    }
}

/// One `#[tokio::test]` per sentence and version, for functions that are generic in the version.
macro_rules! on_both_versions {
    ($($test:ident)*) => {
        mod etcd_3_4 {
            $(#[tokio::test] async fn $test() { super::$test::<crate::Etcd34>().await; })*
        }
        mod etcd_3_5 {
            $(#[tokio::test] async fn $test() { super::$test::<crate::Etcd35>().await; })*
        }
    };
}
use on_both_versions;

mod etcd_3_4 {
    use super::{Etcd, Etcd34};
    store::contract_tests!(Etcd<Etcd34>);
}

mod etcd_3_5 {
    use super::{Etcd, Etcd35};
    store::contract_tests!(Etcd<Etcd35>);
}
