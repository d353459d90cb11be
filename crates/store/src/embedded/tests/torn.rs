//! Power loss: of what was written since the last sync, any part may have reached the disk, and writes may be torn.

use std::io;
use std::sync::{Arc, Mutex};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use redb::{Database, StorageBackend};

use super::key;
use crate::embedded::apply::{Applied, Batch};
use crate::embedded::engine::{self, Failure};
use crate::embedded::tables::Snapshot;
use crate::{Change, Prefix, RangeRequest, Revision};

/// A disk in memory that knows what is not synced yet.
#[derive(Clone, Debug, Default)]
struct PowerlessDisk(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    now: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
    /// What the disk could hold had power failed at some moment, once this is wanted.
    images: Option<Images>,
}

#[derive(Debug)]
struct Images {
    random: Pcg64Mcg,
    taken: Vec<Vec<u8>>,
}

impl Contents {
    /// What a machine finds that lost power now.
    fn fail_power(&mut self) {
        let Some(Images { random, taken }) = &mut self.images else { return };
        let mut bytes = self.synced.clone();
        bytes.resize(self.now.len(), 0);
        for (offset, data) in &self.unsynced {
            let part = match random.random_range(0..3) {
                0 => 0..0,
                1 => 0..data.len(),
                _ => {
                    // Disks write whole sectors.
                    let sectors = data.len().div_ceil(512);
                    let start = random.random_range(0..sectors) * 512;
                    start..data.len().min(start + 512 * random.random_range(1..=sectors))
                }
            };
            if offset + part.end <= bytes.len() {
                bytes[offset + part.start..offset + part.end].copy_from_slice(&data[part]);
            }
        }
        taken.push(bytes);
    }
}

impl StorageBackend for PowerlessDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = offset as usize;
        out.copy_from_slice(&self.0.lock().unwrap().now[at..at + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut contents = self.0.lock().unwrap();
        // The worst moment: everything is written, and nothing of it is safe.
        contents.fail_power();
        contents.synced = contents.now.clone();
        contents.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut contents = self.0.lock().unwrap();
        let at = offset as usize;
        contents.now[at..at + data.len()].copy_from_slice(data);
        contents.unsynced.push((at, data.to_vec()));
        Ok(())
    }
}

fn change(database: &Database, number: u64, random: &mut Pcg64Mcg) -> Result<Revision, Failure> {
    let transaction = database.begin_write()?;
    let mut batch = Batch::begin(&transaction)?;
    let value = vec![number as u8; random.random_range(0..6_000)];
    let applied = batch.apply(&Change::put(key(format!("{}", number % 20)), value))?;
    let Applied::Committed { committed, .. } = applied else { panic!("a conflict") };
    batch.finish()?;
    transaction.commit()?;
    Ok(committed.revision)
}

#[test]
fn a_power_loss_at_any_moment_keeps_every_durable_change_and_no_half_one() {
    let mut lost = 0;
    for seed in 0..12 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let disk = PowerlessDisk::default();
        let database = Database::builder().create_with_backend(disk.clone()).unwrap();
        engine::create_tables(&database).unwrap();
        disk.0.lock().unwrap().images =
            Some(Images { random: Pcg64Mcg::seed_from_u64(seed + 1_000), taken: Vec::new() });
        let mut durable = Revision::FIRST;
        for number in 0..20 {
            let before = durable;
            durable = change(&database, number, &mut random).unwrap();
            let images = std::mem::take(&mut disk.0.lock().unwrap().images.as_mut().unwrap().taken);
            assert!(!images.is_empty(), "a commit without a sync");
            for image in images {
                lost += u64::from(check(seed, before, image) == before);
            }
        }
    }
    assert!(lost > 0, "power never failed too early for a change to be safe");
}

/// Everything up to `durable` is there, and the history up to the newest has no hole.
fn check(seed: u64, durable: Revision, image: Vec<u8>) -> Revision {
    let disk = PowerlessDisk::default();
    *disk.0.lock().unwrap() = Contents { now: image, ..Contents::default() };
    let mut database = Database::builder().create_with_backend(disk).unwrap();
    assert!(database.check_integrity().unwrap(), "seed {seed}: not intact after repair");
    let snapshot = Snapshot::take(&database).unwrap();
    assert!(snapshot.newest >= durable, "seed {seed}: {durable} was lost, the newest is {}", snapshot.newest);
    let history = snapshot.history(&Prefix::ALL, Revision::FIRST).unwrap();
    let seen: Vec<u64> = history.events.iter().map(|event| event.revision().get()).collect();
    assert_eq!(seen, (2..=snapshot.newest.get()).collect::<Vec<_>>(), "seed {seed}");
    snapshot.range(&RangeRequest::of(Prefix::ALL)).unwrap();
    snapshot.newest
}
