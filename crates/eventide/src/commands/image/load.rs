//! `eventide image load`: images from an archive.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use clap::Args;

use super::progress::{Counted, Progress};
use super::source::Directory;
use crate::manifest_file;

/// Load images from an archive: an OCI layout or what `docker save` writes, packed or not
///
/// A directory with an OCI layout is read as well. This works on the images' directory itself, and not while a runtime
/// has it open: loading is no part of CRI.
///
/// Examples:
///
///   eventide image load app.tar
///
///   docker save app:1 | eventide image load -
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The archive; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// The name of images that have only a tag in the archive, as registry.example/team/app
    #[arg(long, value_name = "BASE")]
    name: Option<String>,
    #[command(flatten)]
    directory: Directory,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let instead = "a runtime has them open, and CRI has no call to load archives: stop the runtime first, or push the \
                   images to a registry and pull them with --runtime-endpoint unix:///…";
    let images = arguments.directory.open(instead)?;
    let (file, base) = (arguments.file.as_str(), arguments.name.as_deref());
    let progress = Progress::on_standard_error();
    let loaded = if file != "-" && Path::new(file).is_dir() {
        images.load_directory(Path::new(file), base)
    } else if file == "-" {
        images.load(Counted::new(io::stdin().lock(), None, &progress), base)
    } else {
        let archive = File::open(file).with_context(|| file.to_owned())?;
        let size = archive.metadata().with_context(|| file.to_owned())?.len();
        images.load(Counted::new(archive, Some(size), &progress), base)
    };
    progress.end();
    let loaded = loaded.with_context(|| manifest_file::name(file).to_owned())?;
    for image in loaded {
        let names =
            if image.names.is_empty() { "(no name: give it one with --name)".into() } else { image.names.join(" ") };
        writeln!(io::stdout(), "{} {names}", image.id)?;
    }
    Ok(())
}
