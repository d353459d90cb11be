//! Every target holds on its seeds and on a few thousand deterministic mutations of them: what can be had of fuzzing
//! without libFuzzer, on every run of the tests.

use std::path::Path;

use fuzz::{TARGETS, Target};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

const MUTATIONS_PER_TARGET: usize = 3_000;
const CHANGES_PER_MUTATION: usize = 4;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no seeds in {}", directory.display());
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn mutate(rng: &mut Pcg64Mcg, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[rng.random_range(0..seeds.len())].clone();
    for _ in 0..rng.random_range(1..=CHANGES_PER_MUTATION) {
        let at = rng.random_range(0..=bytes.len());
        let end = rng.random_range(at..=bytes.len().min(at + 16));
        match rng.random_range(0..5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, rng.random()),
            2 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            3 => {
                let other = &seeds[rng.random_range(0..seeds.len())];
                let from = rng.random_range(0..=other.len());
                bytes.splice(at..end, other[from..other.len().min(from + 40)].iter().copied()).for_each(drop);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = b"[]{}:,-#&*!|>'\"%\n 0a\xff"[rng.random_range(0..21)];
                }
            }
        }
    }
    bytes
}

fn target(name: &str) -> Target {
    TARGETS.iter().find(|(known, _)| *known == name).unwrap().1
}

fn holds_on_seeds_and_mutations(name: &str) {
    let (target, seeds) = (target(name), seeds(name));
    for seed in &seeds {
        target(seed);
    }
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    for _ in 0..MUTATIONS_PER_TARGET {
        target(&mutate(&mut rng, &seeds));
    }
}

#[test]
fn gates_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("gates");
}

#[test]
fn manifests_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("manifest");
}

#[test]
fn exit_priorities_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("exit_priority");
}

#[test]
fn steps_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("step");
}

#[test]
fn patches_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("patch");
}

#[test]
fn selectors_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("selector");
}

#[test]
fn bodies_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("body");
}

#[test]
fn protobuf_bodies_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("protobuf");
}

#[test]
fn request_lines_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("request_line");
}

#[test]
fn reviews_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("review");
}

#[test]
fn tokens_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("token");
}

#[test]
fn image_documents_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("image");
}

#[test]
fn layers_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("layer");
}

#[test]
fn cri_requests_hold_on_seeds_and_mutations() {
    holds_on_seeds_and_mutations("cri_request");
}

#[test]
fn every_target_has_seeds() {
    for (name, _) in TARGETS {
        assert!(!seeds(name).is_empty());
    }
}
