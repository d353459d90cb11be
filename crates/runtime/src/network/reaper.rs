//! The slow end of a sandbox's network, behind the back of whoever waits: its link is deleted, then its addresses are
//! given back, then its record goes. The kernel takes tens of milliseconds to delete a link, and no longer for many.
//!
//! A crash in between leaves the record and the addresses, and `reconcile` finds them.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::NetworkError;
use super::bridge::{self, Bridge};
use super::links::Links;
use super::records::Records;

/// The most sandboxes that end together; more than a node has.
const MAX_TOGETHER: usize = 256;

/// What is shared between the network and its reaper.
#[derive(Debug)]
pub struct Shared {
    pub records: Records,
    pub bridge: Mutex<Bridge>,
}

#[derive(Debug)]
enum Order {
    Reap(String),
    /// Answered when everything ordered before is done.
    Tell(oneshot::Sender<()>),
}

/// Ends with its last order when it is dropped.
#[derive(Debug)]
pub struct Reaper {
    orders: Sender<Order>,
}

impl Reaper {
    /// Works in the network namespace of the calling thread.
    pub fn start(shared: Arc<Shared>) -> Result<Self, NetworkError> {
        let (orders, received) = channel();
        let links = Links::open()?;
        let work = move || work(&shared, links, &received);
        thread::Builder::new().name("network-reaper".to_owned()).spawn(work).map_err(NetworkError::Reaper)?;
        Ok(Self { orders })
    }

    /// A sandbox whose ports were already withdrawn is to lose the rest.
    pub fn reap(&self, sandbox: &str) -> Result<(), NetworkError> {
        self.order(Order::Reap(sandbox.to_owned()))
    }

    /// Returns when everything ordered so far is done.
    pub async fn settle(&self) -> Result<(), NetworkError> {
        let (tell, told) = oneshot::channel();
        self.order(Order::Tell(tell))?;
        told.await.map_err(|_| NetworkError::Interrupted)
    }

    fn order(&self, order: Order) -> Result<(), NetworkError> {
        let ended = |_| NetworkError::Reaper(io::Error::other("the thread has ended"));
        self.orders.send(order).map_err(ended)
    }
}

fn work(shared: &Shared, mut links: Links, orders: &Receiver<Order>) {
    while let Ok(first) = orders.recv() {
        let (mut sandboxes, mut waiting) = (Vec::new(), Vec::new());
        for order in std::iter::once(first).chain(orders.try_iter()).take(MAX_TOGETHER) {
            match order {
                Order::Reap(sandbox) => sandboxes.push(sandbox),
                Order::Tell(tell) => waiting.push(tell),
            }
        }
        if let Err(error) = reap(shared, &mut links, &sandboxes) {
            tracing::warn!(?sandboxes, %error, "networks are left for the next start to take away");
        }
        for tell in waiting {
            // Whoever asked may have gone.
            let _ = tell.send(());
        }
    }
}

fn reap(shared: &Shared, links: &mut Links, sandboxes: &[String]) -> Result<(), NetworkError> {
    if sandboxes.is_empty() {
        return Ok(());
    }
    bridge::delete_links(links, sandboxes)?;
    let mut bridge = shared.bridge.lock().unwrap_or_else(PoisonError::into_inner);
    let mut release = |sandbox: &String| {
        bridge.release(sandbox)?;
        Ok(shared.records.remove(sandbox)?)
    };
    // One that fails does not hold up the others.
    let outcomes: Vec<Result<(), NetworkError>> = sandboxes.iter().map(&mut release).collect();
    outcomes.into_iter().collect()
}
