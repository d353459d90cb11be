//! Compiles the definitions of the Kubernetes protobuf encoding into one descriptor set, without protoc.

use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let mut files = Vec::new();
    for entry in fs::read_dir("proto")? {
        files.push(entry?.path());
    }
    files.sort();
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(files)?;
    // Encoded by the compiler itself: its typed form would lose our own options.
    let descriptors = compiler.encode_file_descriptor_set();
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("kubernetes.descriptors"), descriptors)?;
    Ok(())
}
