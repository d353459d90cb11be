//! `eventide image ls`: the images there are.

use std::io::Write as _;

use clap::{Args, ValueEnum};
use cri::v1::ListImagesRequest;
use serde_json::{Value, json};

use super::progress::bytes;
use super::source::{Place, Source, refused};

/// Enough digits of an id to tell images apart.
const ID_DIGITS: usize = 12;

/// List images
///
/// Example: eventide image ls -o json
#[derive(Args)]
pub struct Arguments {
    /// In which form
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// An image, whoever told of it.
struct Listed {
    id: String,
    tags: Vec<String>,
    digests: Vec<String>,
    size: u64,
    pinned: bool,
}

pub async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let images = listed(&arguments.place.open().await?).await?;
    let text = match arguments.output {
        Output::Text => table(&images),
        Output::Json => format!("{:#}\n", json!({ "images": images.iter().map(document).collect::<Vec<_>>() })),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

async fn listed(source: &Source) -> anyhow::Result<Vec<Listed>> {
    match source {
        Source::Here(images) => {
            let listed = |image: runtime::images::Image| Listed {
                id: image.id.to_string(),
                tags: image.repo_tags,
                digests: image.repo_digests,
                size: image.size,
                pinned: image.pinned,
            };
            Ok(images.list().into_iter().map(listed).collect())
        }
        Source::Runtime(client) => {
            let answer = client.images().list_images(ListImagesRequest::default()).await;
            let listed = |image: cri::v1::Image| Listed {
                id: image.id,
                tags: image.repo_tags,
                digests: image.repo_digests,
                size: image.size,
                pinned: image.pinned,
            };
            let images = answer.map_err(|status| refused(&status))?.into_inner().images;
            Ok(images.into_iter().map(listed).collect())
        }
    }
}

fn document(image: &Listed) -> Value {
    json!({
        "id": image.id,
        "repoTags": image.tags,
        "repoDigests": image.digests,
        "size": image.size,
        "pinned": image.pinned,
    })
}

/// One line per name; an image without a tag has one line with a digest, or with nothing.
fn table(images: &[Listed]) -> String {
    let mut rows = Vec::new();
    for image in images {
        let id: String = image.id.trim_start_matches("sha256:").chars().take(ID_DIGITS).collect();
        let first_digest = image.digests.first().cloned().unwrap_or_else(|| "<none>".to_owned());
        let names = if image.tags.is_empty() { vec![first_digest] } else { image.tags.clone() };
        rows.extend(names.into_iter().map(|name| (name, id.clone(), bytes(image.size))));
    }
    rows.sort();
    rows.insert(0, ("NAME".to_owned(), "ID".to_owned(), "SIZE".to_owned()));
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    rows.iter().map(|(name, id, size)| format!("{name:width$}  {id:ID_DIGITS$}  {size:>10}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_line_and_columns_are_aligned() {
        let image = |id: &str, tags: &[&str], digests: &[&str]| Listed {
            id: format!("sha256:{id}"),
            tags: tags.iter().map(ToString::to_string).collect(),
            digests: digests.iter().map(ToString::to_string).collect(),
            size: 3 << 20,
            pinned: false,
        };
        let images = [
            image("0123456789abcdef", &["b/long-name:1", "a:1"], &["b@sha256:1"]),
            image("fedcba9876543210", &[], &["c@sha256:2"]),
            image("11", &[], &[]),
        ];
        let text = table(&images);
        let wanted = "\
NAME           ID                  SIZE
<none>         11               3.0 MiB
a:1            0123456789ab     3.0 MiB
b/long-name:1  0123456789ab     3.0 MiB
c@sha256:2     fedcba987654     3.0 MiB
";
        assert_eq!(text, wanted);
    }
}
