//! Where images are: in a directory that is free, or behind the runtime that has it open.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use cri::{Address, Client};
use runtime::images::{Error, HostImage, Images};

use crate::data_dir;

/// Says where images are.
#[derive(Args)]
pub struct Place {
    #[command(flatten)]
    pub directory: Directory,
    /// Ask the runtime at this socket instead, as unix:///run/eventide.sock
    #[arg(long, value_name = "ADDRESS", conflicts_with = "data_dir")]
    runtime_endpoint: Option<Address>,
}

/// Says below which directory images are kept.
#[derive(Args)]
pub struct Directory {
    /// Where everything is kept [default: /var/lib/eventide, or $XDG_DATA_HOME/eventide when not root]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Where images were found.
pub enum Source {
    Here(Images),
    Runtime(Client),
}

impl Place {
    pub async fn open(&self) -> anyhow::Result<Source> {
        match &self.runtime_endpoint {
            Some(address) => Ok(Source::Runtime(Client::connect(&address.to_string()).await?)),
            None => {
                let instead = "a runtime has them open: name its socket with --runtime-endpoint unix:///…";
                Ok(Source::Here(self.directory.open(instead)?))
            }
        }
    }
}

impl Directory {
    /// Opens the images; `instead` says what to do while another process has them open.
    pub fn open(&self, instead: &str) -> anyhow::Result<Images> {
        let directory = data_dir::images(&data_dir::resolve(self.data_dir.as_deref())?);
        match Images::open(&directory, HostImage::Refused) {
            Ok(images) => Ok(images),
            Err(error @ Error::Locked(_)) => Err(anyhow!("{error}: {instead}")),
            Err(error) => Err(error).with_context(|| format!("cannot open the images in {}", shown(&directory))),
        }
    }
}

fn shown(directory: &Path) -> std::path::Display<'_> {
    directory.display()
}

/// What a runtime refused, in its own words.
pub fn refused(status: &tonic::Status) -> anyhow::Error {
    anyhow!("the runtime refuses ({:?}): {}", status.code(), status.message())
}
