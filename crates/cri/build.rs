//! Makes messages, clients and server traits of `proto/`, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["proto/runtime.proto", "proto/image.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .build_transport(false)
        // A call that a runtime does not implement answers so; runtimes differ in the newer ones.
        .generate_default_stubs(true)
        // Debug output must not tell passwords.
        .skip_debug([".runtime.v1.AuthConfig"])
        .compile_fds(descriptors)?;
    Ok(())
}
