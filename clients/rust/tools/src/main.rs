//! Writes the generated code of the client from the protos, with the compilers that the server's build uses. Knows nothing of where it is kept.

use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(protos), Some(out), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("give the folder of the protos and one to write to: clients/rust/generate does".into());
    };
    let mut compiler = protox::Compiler::new([&protos])?;
    compiler.include_imports(true).include_source_info(true).open_files(files(&protos)?)?;
    tonic_prost_build::configure()
        .btree_map(".")
        .out_dir(out)
        .emit_rerun_if_changed(false)
        // Only tests stand in for a server.
        .server_mod_attribute(".", "#[cfg(feature = \"testing\")]")
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

/// The files of the API, by their paths from the folder of the protos; what the server stores is its own.
fn files(protos: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = Path::new("antiphon/v1");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(protos.join(folder))? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|extension| extension == "proto") {
            found.push(folder.join(name));
        }
    }
    found.sort();
    Ok(found)
}
