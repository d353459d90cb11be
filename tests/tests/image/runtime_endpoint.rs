//! While a runtime has the images open: nothing works behind its back, and everything that CRI has works through it.

use cri::server::{Socket, serve_on};
use cri::v1::runtime_service_server::RuntimeService;
use cri::v1::{Container, ListContainersRequest, ListContainersResponse};
use runtime::images::registry::Registries;
use runtime::images::{HostImage, Images};
use runtime::service::image_service::ImageCalls;
use tests::eventide;
use tonic::{Request, Response, Status};

use crate::registry::Registry;
use crate::scene::{Scene, archive, names, push};

/// A runtime with one container.
struct Runtime {
    image: String,
}

#[tonic::async_trait]
impl RuntimeService for Runtime {
    async fn list_containers(
        &self,
        _: Request<ListContainersRequest>,
    ) -> Result<Response<ListContainersResponse>, Status> {
        let container = Container { id: "container-1".into(), image_id: self.image.clone(), ..Default::default() };
        Ok(Response::new(ListContainersResponse { containers: vec![container] }))
    }
}

/// Serves the images of a scene as long as the test runs; the threads that do, and the address.
fn serve(scene: &Scene) -> (tokio::runtime::Runtime, String) {
    let images = Images::open(&scene.images(), HostImage::Refused).unwrap();
    let image = images.find("localhost/used:1").unwrap().id.to_string();
    let address = format!("unix://{}", scene.images().join("cri.sock").display());
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let socket = threads.block_on(Socket::bind(&address.parse().unwrap())).unwrap();
    let calls = ImageCalls::new(images, Registries::default());
    threads.spawn(async move { serve_on(socket, Runtime { image }, calls, std::future::pending()).await });
    (threads, address)
}

#[test]
fn images_that_a_runtime_has_open_are_reached_through_it() {
    let (scene, registry) = (Scene::new(), Registry::start());
    push(&registry, "app", "1", &archive(&["localhost/app:1"]));
    let file = scene.file("used.tar", &archive(&["localhost/used:1"]));
    assert_eq!(scene.image(&["load", &file]).code, 0);
    let (_threads, address) = serve(&scene);

    let name = registry.name("app:1");
    for verb in [&["ls"][..], &["pull", &name], &["rm", &name]] {
        let refused = scene.image(verb);
        assert!(refused.code == 1 && refused.stderr.contains("--runtime-endpoint"), "{verb:?}: {}", refused.stderr);
    }
    let refused = scene.image(&["load", &file]);
    assert!(refused.code == 1 && refused.stderr.contains("CRI has no call to load archives"), "{}", refused.stderr);

    let through = |arguments: &[&str]| eventide(&[&["image"], arguments, &["--runtime-endpoint", &address]].concat());
    let pulled = through(&["pull", &name]);
    assert!(pulled.code == 0 && pulled.stdout.ends_with(&format!(" {name}\n")), "{}", pulled.stderr);
    assert_eq!(names(&through(&["ls", "-o", "json"])), [name.as_str(), "localhost/used:1"]);
    let missing = through(&["pull", &registry.name("none:1")]);
    assert!(missing.code == 1 && missing.stderr.contains("NotFound"), "{}", missing.stderr);
    assert_eq!(through(&["rm", &name]).code, 0);
    let gone = through(&["rm", &name]);
    assert!(gone.code == 1 && gone.stderr.contains("is not here"), "{}", gone.stderr);
    let used = through(&["rm", "localhost/used:1"]);
    assert!(used.code == 1 && used.stderr.contains("in use") && used.stderr.contains("container-1"), "{}", used.stderr);
    assert_eq!(names(&through(&["ls", "-o", "json"])), ["localhost/used:1"]);
}

#[test]
fn a_runtime_that_is_not_there_is_named() {
    let nowhere = eventide(&["image", "ls", "--runtime-endpoint", "unix:///nowhere/cri.sock"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("/nowhere/cri.sock"), "{}", nowhere.stderr);
    assert_eq!(eventide(&["image", "ls", "--runtime-endpoint", "tcp://host"]).code, 2);
}
