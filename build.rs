//! Generates the gRPC types from `proto/` with a compiler that is itself a crate, so that no `protoc` is needed.

#![allow(clippy::disallowed_methods, reason = "a build script is told where to write by its environment")]

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);

    let mut api = protox::Compiler::new(["proto"])?;
    api.include_imports(true).include_source_info(true).open_files(files("proto/antiphon/v1")?)?;
    // Encoded by the compiler itself, since this keeps what the decoded set loses; served by reflection.
    std::fs::write(out.join("descriptor.bin"), api.encode_file_descriptor_set())?;
    // Maps are sorted, so that a message has one encoding and can be fingerprinted; bytes are shared, not copied.
    tonic_prost_build::configure()
        .btree_map(".")
        .bytes(".")
        .codec_path("crate::grpc::codec::Protobuf")
        .extern_path(".antiphon.v1.StreamInspectResponse", "crate::grpc::streamed::StreamInspectResponse")
        .compile_fds(api.file_descriptor_set())?;

    let mut stored = protox::Compiler::new(["proto"])?;
    stored.include_imports(true).open_files(files("proto/antiphon/storage/v1")?)?;
    // By which an export writes stored records as JSON.
    std::fs::write(out.join("storage.bin"), stored.encode_file_descriptor_set())?;
    tonic_prost_build::configure()
        .btree_map(".")
        .bytes(".")
        .build_client(false)
        .build_server(false)
        .compile_fds(stored.file_descriptor_set())?;
    Ok(())
}

fn files(folder: &str) -> Result<Vec<String>, std::io::Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "proto") {
            files.push(path.to_string_lossy().replacen("proto/", "", 1));
        }
    }
    files.sort();
    Ok(files)
}
