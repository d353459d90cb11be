//! The `eventide` binary: parses the command line and calls the part that does the work.

fn main() {}
