//! The calls of CRI for images, as a kubelet makes them: over a socket, with a registry behind them.

use cri::v1::runtime_service_server::RuntimeService;
use cri::v1::{
    AuthConfig, Image, ImageFilter, ImageFsInfoRequest, ImageSpec, ImageStatusRequest, ListImagesRequest,
    PullImageRequest, RemoveImageRequest, StreamImagesRequest,
};
use cri::{Address, Client, server};
use futures_util::StreamExt as _;
use runtime::service::image_service::ImageCalls;
use tokio::task::JoinHandle;
use tonic::Code;

use crate::fixture::{Fixture, Layer, Packing, Store, quick};
use crate::proxy::{Action, Proxy};
use crate::registry::Registry;

struct NoRuntime;

impl RuntimeService for NoRuntime {}

/// A server of images; it ends with the test.
struct Served {
    store: Store,
    client: Client,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Served {
    async fn start() -> Served {
        let store = Store::new();
        let path = store.directory.path().join("cri.sock");
        let address: Address = path.to_str().unwrap().parse().unwrap();
        let socket = server::Socket::bind(&address).await.unwrap();
        let calls = ImageCalls::new(store.images.clone(), quick());
        let task = tokio::spawn(async move {
            server::serve_on(socket, NoRuntime, calls, std::future::pending()).await.unwrap();
        });
        let client = Client::connect(path.to_str().unwrap()).await.unwrap();
        Served { store, client, task }
    }

    async fn pull(&self, name: &str, auth: Option<AuthConfig>) -> Result<String, Code> {
        let request = PullImageRequest { image: Some(spec(name)), auth, sandbox_config: None };
        let pulled = self.client.images().pull_image(request).await;
        pulled.map(|answer| answer.into_inner().image_ref).map_err(|status| status.code())
    }

    async fn status(&self, name: &str) -> Option<Image> {
        let request = ImageStatusRequest { image: Some(spec(name)), verbose: false };
        self.client.images().image_status(request).await.unwrap().into_inner().image
    }

    async fn listed(&self, name: &str) -> Vec<String> {
        let filter = Some(ImageFilter { image: Some(spec(name)) });
        let request = ListImagesRequest { filter: filter.clone() };
        let listed = self.client.images().list_images(request).await.unwrap().into_inner().images;
        let streamed = self.client.images().stream_images(StreamImagesRequest { filter }).await.unwrap().into_inner();
        let pieces: Vec<_> = streamed.map(|piece| piece.unwrap().images).collect().await;
        assert_eq!(pieces.concat(), listed);
        listed.into_iter().map(|image| image.id).collect()
    }

    async fn remove(&self, name: &str) {
        self.client.images().remove_image(RemoveImageRequest { image: Some(spec(name)) }).await.unwrap();
    }
}

fn spec(name: &str) -> ImageSpec {
    ImageSpec { image: name.to_owned(), ..Default::default() }
}

fn image(content: &str) -> Fixture {
    Fixture::of(vec![Layer::of(&[("a", content.as_bytes())], Packing::Gzip)])
}

#[tokio::test]
async fn an_image_is_pulled_found_listed_and_removed() {
    let (registry, served) = (Registry::start(), Served::start().await);
    let (one, two) = (image("1"), image("2"));
    registry.push("one", "1", &one);
    registry.push("two", "1", &two);
    let (name, other) = (registry.name("one:1"), registry.name("two:1"));
    let id = served.pull(&name, None).await.unwrap();
    assert_eq!(id, one.id().to_string());
    assert!(id.starts_with("sha256:"));
    served.pull(&other, None).await.unwrap();
    let found = served.status(&name).await.unwrap();
    assert_eq!((&found.id, found.repo_tags.as_slice(), found.username.as_str()), (&id, &[name.clone()][..], "web"));
    assert_eq!(served.status(&id).await.unwrap(), found);
    assert_eq!(served.listed("").await.len(), 2);
    assert_eq!(served.listed(&name).await, std::slice::from_ref(&id));
    assert_eq!(served.listed(&id).await, std::slice::from_ref(&id));
    assert!(served.listed(&registry.name("three:1")).await.is_empty());
    served.remove(&name).await;
    served.remove(&name).await;
    assert_eq!(served.status(&id).await, None);
    assert_eq!(served.store.count("layers"), 1, "room is made at once");
}

#[tokio::test]
async fn verbose_status_tells_the_config() {
    let (registry, served) = (Registry::start(), Served::start().await);
    registry.push("one", "1", &image("1"));
    let name = registry.name("one:1");
    served.pull(&name, None).await.unwrap();
    let request = ImageStatusRequest { image: Some(spec(&name)), verbose: true };
    let info = served.client.images().image_status(request).await.unwrap().into_inner().info;
    let told: serde_json::Value = serde_json::from_str(&info["info"]).unwrap();
    assert_eq!(told["imageSpec"]["config"]["StopSignal"], "SIGQUIT");
}

#[tokio::test]
async fn failures_have_the_codes_that_callers_decide_by() {
    let (registry, served) = (Registry::start(), Served::start().await);
    let refusing = Proxy::start(registry.address, |_, _| Action::Answer("HTTP/1.1 403 Forbidden".into(), Vec::new()));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let rows = [
        (registry.name("none:1"), Code::NotFound),
        (refusing.name("app:1"), Code::Unauthenticated),
        (format!("{gone}/app:1"), Code::Unavailable),
        ("No/Name".to_owned(), Code::InvalidArgument),
        (String::new(), Code::InvalidArgument),
        ("localhost/host:latest".to_owned(), Code::NotFound),
    ];
    for (name, code) in rows {
        assert_eq!(served.pull(&name, None).await, Err(code), "{name:?}");
    }
    let auth = AuthConfig { auth: "no base64".into(), ..Default::default() };
    assert_eq!(served.pull(&registry.name("none:1"), Some(auth)).await, Err(Code::InvalidArgument));
}

#[tokio::test]
async fn credentials_reach_the_registry() {
    let (registry, served) = (Registry::start(), Served::start().await);
    registry.push("app", "1", &image("1"));
    let proxy = Proxy::start(registry.address, |asked, _| match asked.header("authorization") {
        Some("Basic bWU6c2VjcmV0") => Action::Forward,
        _ => Action::Answer("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"here\"".into(), Vec::new()),
    });
    let name = proxy.name("app:1");
    assert_eq!(served.pull(&name, None).await, Err(Code::Unauthenticated));
    let auth = AuthConfig { username: "me".into(), password: "secret".into(), ..Default::default() };
    assert!(served.pull(&name, Some(auth)).await.is_ok());
}

#[tokio::test]
async fn what_a_container_uses_outlives_its_image_and_is_counted() {
    let (registry, served) = (Registry::start(), Served::start().await);
    registry.push("one", "1", &image("1"));
    let name = registry.name("one:1");
    served.pull(&name, None).await.unwrap();
    let before = served.client.images().image_fs_info(ImageFsInfoRequest {}).await.unwrap().into_inner();
    let snapshot = served.store.images.snapshot(&name, "c1").unwrap();
    let runtime::images::Upper::Disk { upper, .. } = &snapshot.upper else { panic!("{snapshot:?}") };
    std::fs::write(upper.join("written"), vec![1; 100_000]).unwrap();
    served.remove(&name).await;
    assert!(snapshot.lower.iter().all(|layer| layer.join("a").exists()));
    let after = served.client.images().image_fs_info(ImageFsInfoRequest {}).await.unwrap().into_inner();
    let bytes = |usage: &cri::v1::FilesystemUsage| usage.used_bytes.unwrap().value;
    assert_eq!(bytes(&before.container_filesystems[0]), 0);
    assert!(bytes(&after.container_filesystems[0]) >= 100_000);
    assert!(bytes(&after.image_filesystems[0]) > 0);
    let place = after.image_filesystems[0].fs_id.clone().unwrap().mountpoint;
    assert_eq!(place, served.store.directory.path().display().to_string());
    assert!(after.image_filesystems[0].timestamp > before.image_filesystems[0].timestamp);
}
