//! A shim by itself, for this crate's own tests: the product starts its own binary again.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::shim::main(std::env::args_os().skip(1))
}
