//! `eventide image rm`: removes names, and with the last one the image.

use std::io::Write as _;

use anyhow::{anyhow, bail};
use clap::Args;
use cri::Client;
use cri::v1::{ImageSpec, ImageStatusRequest, ListContainersRequest, RemoveImageRequest};
use runtime::images::{ErrorKind, Images};

use super::source::{Place, Source, refused};

/// Remove images
///
/// A name is removed, and with its last name the image. An image that containers use is not removed.
///
/// Example: eventide image rm registry.example/team/app:1.2
#[derive(Args)]
pub struct Arguments {
    /// Names or ids
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,
    #[command(flatten)]
    place: Place,
}

/// What an image is called, and who uses it.
struct Found {
    id: String,
    names: usize,
    containers: Vec<String>,
}

pub async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let source = arguments.place.open().await?;
    // Each is tried, whatever became of those before it.
    let mut failures = Vec::new();
    for image in &arguments.images {
        match remove(&source, image).await {
            Ok(()) => writeln!(std::io::stdout(), "removed {image}")?,
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if failures.is_empty() { Ok(()) } else { bail!(failures.join("\n")) }
}

async fn remove(source: &Source, image: &str) -> anyhow::Result<()> {
    let found = match source {
        Source::Here(images) => find_here(images, image)?,
        Source::Runtime(client) => find_by_runtime(client, image).await?,
    };
    let found = found.ok_or_else(|| anyhow!("image {image:?} is not here"))?;
    check_unused(image, &found)?;
    match source {
        Source::Here(images) => {
            images.remove(image)?;
            images.collect()?;
        }
        Source::Runtime(client) => {
            let request = RemoveImageRequest { image: Some(spec(image)) };
            client.images().remove_image(request).await.map_err(|status| refused(&status))?;
        }
    }
    Ok(())
}

/// One name of several may go at any time.
fn check_unused(image: &str, found: &Found) -> anyhow::Result<()> {
    let is_id = found.id.trim_start_matches("sha256:") == image.trim_start_matches("sha256:");
    if found.containers.is_empty() || (!is_id && found.names > 1) {
        return Ok(());
    }
    let containers = found.containers.join(", ");
    bail!("image {image:?} is in use: remove its containers first ({containers})")
}

fn find_here(images: &Images, image: &str) -> anyhow::Result<Option<Found>> {
    let found = match images.find(image) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let users = images.snapshots()?.into_iter().filter(|snapshot| snapshot.image == found.id);
    let containers = users.map(|snapshot| snapshot.container).collect();
    Ok(Some(Found { id: found.id.to_string(), names: found.repo_tags.len(), containers }))
}

async fn find_by_runtime(client: &Client, image: &str) -> anyhow::Result<Option<Found>> {
    let request = ImageStatusRequest { image: Some(spec(image)), verbose: false };
    let answer = client.images().image_status(request).await.map_err(|status| refused(&status))?;
    let Some(found) = answer.into_inner().image else { return Ok(None) };
    let answer = client.runtime().list_containers(ListContainersRequest::default()).await;
    let all = answer.map_err(|status| refused(&status))?.into_inner().containers;
    // Runtimes name a container's image in any of these ways.
    let names: Vec<&String> = found.repo_tags.iter().chain(&found.repo_digests).chain([&found.id]).collect();
    let uses = |container: &cri::v1::Container| {
        let spec = container.image.as_ref().map(|spec| &spec.image);
        [&container.image_id, &container.image_ref].into_iter().chain(spec).any(|name| names.contains(&name))
    };
    let containers = all.into_iter().filter(uses).map(|container| container.id).collect();
    Ok(Some(Found { id: found.id, names: found.repo_tags.len(), containers }))
}

fn spec(image: &str) -> ImageSpec {
    ImageSpec { image: image.to_owned(), user_specified_image: image.to_owned(), ..ImageSpec::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(image: &str, names: usize, containers: &[&str]) -> Result<(), String> {
        let containers = containers.iter().map(ToString::to_string).collect();
        check_unused(image, &Found { id: "sha256:12".into(), names, containers }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_name_of_an_image_in_use_stays() {
        assert!(checked("a:1", 1, &["c1", "c2"]).unwrap_err().contains("c1, c2"));
        assert!(checked("a:1", 2, &["c1"]).is_ok());
        assert!(checked("sha256:12", 2, &["c1"]).is_err());
        assert!(checked("12", 2, &["c1"]).is_err());
        assert!(checked("sha256:12", 2, &[]).is_ok());
    }
}
