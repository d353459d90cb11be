//! Project chores behind `cargo xtask`.

fn main() {}
