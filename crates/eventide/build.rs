//! How the binary is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Each container has a shim, which is this binary once more. Linked to a fixed address, it needs no relocations when
    // it starts, and those would be a megabyte of each shim's own memory. Kubernetes' and containerd's binaries are
    // linked so too.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
