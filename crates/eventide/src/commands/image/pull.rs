//! `eventide image pull`: an image from a registry.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use cri::Client;
use cri::v1::{AuthConfig, ImageSpec, PullImageRequest};
use runtime::images::Images;
use runtime::images::reference::Reference;
use runtime::images::registry::{Credentials, Endpoint, Registries, Scheme};

use super::progress::Progress;
use super::source::{Place, Source, refused};
use crate::failure::Failure;

/// Longer passwords are none.
const PASSWORD_BYTES_MAX: u64 = 64 * 1024;

/// Pull an image from a registry
///
/// Examples:
///
///   eventide image pull busybox:1.36
///
///   pass registry | eventide image pull registry.example/app --username me --password-stdin
///
///   eventide image pull registry.example/app --mirror registry.example=http://mirror.example:5000
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Its name, perhaps with a tag or a digest
    #[arg(value_name = "IMAGE")]
    image: Reference,
    /// Who pulls
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    username: Option<String>,
    /// Read that user's password from standard input
    #[arg(long, requires = "username")]
    password_stdin: bool,
    /// Speak HTTP without TLS to this host, as registry.example:5000; may be repeated
    #[arg(long, value_name = "HOST", conflicts_with = "runtime_endpoint")]
    plain_http: Vec<String>,
    /// Trust the authorities in this file (PEM) besides the machine's own; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "runtime_endpoint")]
    ca: Vec<PathBuf>,
    /// Ask this address before the registry itself; may be repeated
    #[arg(long, value_name = "REGISTRY=URL", value_parser = mirror, conflicts_with = "runtime_endpoint")]
    mirror: Vec<(String, Endpoint)>,
    #[command(flatten)]
    place: Place,
}

pub async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let source = arguments.place.open().await?;
    let login = arguments.username.as_deref().map(|name| Ok::<_, anyhow::Error>((name, password()?))).transpose()?;
    let id = match source {
        Source::Here(images) => pull_here(&images, arguments, login).await?,
        Source::Runtime(client) => pull_by_runtime(&client, &arguments.image, login).await?,
    };
    writeln!(io::stdout(), "{id} {}", arguments.image)?;
    Ok(())
}

async fn pull_here(images: &Images, arguments: &Arguments, login: Option<(&str, String)>) -> anyhow::Result<String> {
    let credentials = match login {
        Some((username, password)) => Credentials::Basic { username: username.to_owned(), password },
        None => Credentials::Anonymous,
    };
    let progress = Arc::new(Progress::on_standard_error());
    let pulled = images.pull(&arguments.image, &credentials, &registries(arguments), Arc::clone(&progress) as _).await;
    progress.end();
    Ok(pulled?.to_string())
}

/// The runtime has settings for registries of its own.
async fn pull_by_runtime(client: &Client, image: &Reference, login: Option<(&str, String)>) -> anyhow::Result<String> {
    let auth =
        login.map(|(username, password)| AuthConfig { username: username.into(), password, ..Default::default() });
    let name = image.to_string();
    let spec = ImageSpec { image: name.clone(), user_specified_image: name, ..ImageSpec::default() };
    anstream::eprintln!("the runtime at {} pulls {image}", client.address());
    let request = PullImageRequest { image: Some(spec), auth, sandbox_config: None };
    let answer = client.images().pull_image(request).await.map_err(|status| refused(&status))?;
    Ok(answer.into_inner().image_ref)
}

fn registries(arguments: &Arguments) -> Registries {
    let mut mirrors: BTreeMap<String, Vec<Endpoint>> = BTreeMap::new();
    for (registry, mirror) in &arguments.mirror {
        mirrors.entry(registry.clone()).or_default().push(mirror.clone());
    }
    let schemes = arguments.plain_http.iter().map(|host| (host.clone(), Scheme::Http)).collect();
    Registries { mirrors, schemes, authorities: arguments.ca.clone(), ..Registries::default() }
}

fn mirror(text: &str) -> Result<(String, Endpoint), String> {
    let (registry, url) = text.split_once('=').ok_or("write REGISTRY=URL, as docker.io=https://mirror.example")?;
    Ok((registry.to_owned(), url.parse().map_err(|error| format!("{error}"))?))
}

fn password() -> anyhow::Result<String> {
    let mut text = String::new();
    io::stdin().take(PASSWORD_BYTES_MAX).read_to_string(&mut text).context("cannot read the password")?;
    // Tools end it with a newline.
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Failure::Refused("--password-stdin: standard input holds no password".to_owned()).into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(line: &str) -> Result<Arguments, clap::Error> {
        use clap::Parser as _;
        Line::try_parse_from(line.split(' ')).map(|line| line.arguments)
    }

    #[test]
    fn flags_become_settings_of_registries() {
        let line = "pull a --plain-http plain.example:5000 --ca one.pem --ca two.pem --mirror docker.io=http://first \
                    --mirror docker.io=https://second";
        let settings = registries(&read(line).unwrap());
        assert_eq!(settings.schemes.get("plain.example:5000"), Some(&Scheme::Http));
        assert_eq!(settings.authorities, [PathBuf::from("one.pem"), PathBuf::from("two.pem")]);
        let mirrors: Vec<&str> = settings.mirrors["docker.io"].iter().map(|mirror| mirror.host.as_str()).collect();
        assert_eq!(mirrors, ["first", "second"]);
    }

    #[test]
    fn settings_that_the_runtime_has_itself_are_refused() {
        let runtime = "--runtime-endpoint unix:///run/x.sock";
        assert!(read(&format!("pull a {runtime}")).is_ok());
        for flag in ["--plain-http h", "--ca f", "--mirror a=http://b", "--data-dir d"] {
            assert!(read(&format!("pull a {runtime} {flag}")).is_err(), "{flag}");
        }
        assert!(read("pull a --username me").is_err() && read("pull a --password-stdin").is_err());
    }

    #[test]
    fn a_mirror_is_a_registry_and_an_address() {
        let (registry, endpoint) = mirror("docker.io=http://mirror.example:5000").unwrap();
        assert_eq!((registry.as_str(), endpoint.host.as_str()), ("docker.io", "mirror.example:5000"));
        for wrong in ["mirror.example", "docker.io=mirror.example", "docker.io=ftp://mirror.example"] {
            assert!(mirror(wrong).is_err(), "{wrong}");
        }
    }
}
