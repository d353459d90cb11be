//! How a server begins and ends: alone on its directory, on a store that is whole, and letting others finish.

use std::process::{Command, Output};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use tests::client::{Body, CONFIG_MAPS, Client, PATIENCE, config_map};
use tests::server::Server;
use tokio::sync::mpsc;
use tokio::time::timeout;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a server that will not serve.
fn refused(mut command: Command) -> Output {
    let output = command.output().expect("eventide runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(output.stdout.is_empty(), "it says that it serves");
    output
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let server = Server::start();
    let output = refused(server.command());
    let said = text(&output);
    let directory = server.data_dir().display().to_string();
    assert!(said.starts_with("error: ") && said.contains(&directory), "{said}");
    assert!(said.contains(&format!("in use by another server (pid {})", server.pid())), "{said}");
    // The first one does not mind.
    assert_eq!(server.kubectl_ok(&["get", "--raw", "/readyz"]), "ok");
}

#[test]
fn a_damaged_store_is_refused_and_left_as_it_is() {
    let mut server = Server::start();
    server.kubectl_ok(&["create", "configmap", "kept"]);
    assert_eq!(server.stop(), Some(0));
    let file = server.data_dir().join("store/store.redb");
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[..512].fill(0x5a);
    std::fs::write(&file, &damaged).unwrap();
    let said = text(&refused(server.command()));
    assert!(said.starts_with("error: ") && said.contains("store.redb"), "{said}");
    assert!(std::fs::read(&file).unwrap() == damaged, "a damaged store was changed");
    std::fs::write(&file, &whole).unwrap();
    server.run();
    server.kubectl_ok(&["get", "configmap", "kept"]);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = Server::start();
    let mut server = Server::start();
    server.kill();
    server.address.clone_from(&taken.address);
    let said = text(&refused(server.command()));
    assert!(said.contains(&format!("cannot listen on {}", taken.address)), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_finishes_what_it_has_begun() {
    let mut server = Server::start();
    let client = Client::admin(&server).await;
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name=late")).await.unwrap();
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    let pieces = stream::unfold(receiver, async |mut receiver| {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(Frame::data(piece)), receiver))
    });
    let body: Body = StreamBody::new(Box::pin(pieces)).boxed_unsync();
    let request = Request::builder().method(Method::POST).uri(CONFIG_MAPS).header("content-type", "application/json");
    let asked = {
        let (client, request) = (client.clone(), request.body(body).unwrap());
        tokio::spawn(async move { client.ask(request).await })
    };
    let object = config_map("late", "v").to_string();
    let (first, second) = object.split_at(object.len() / 2);
    sender.send(first.to_owned().into()).await.unwrap();
    // The connection is in order: when this is answered, the request before it has begun.
    client.get("/version").await.unwrap().object();
    server.terminate();
    // The watch ends as a watch ends, not as a connection does.
    assert_eq!(watch.next().await.expect("no fault"), None);
    sender.send(second.to_owned().into()).await.unwrap();
    drop(sender);
    let answer = timeout(PATIENCE, asked).await.expect("an answer").unwrap().expect("an answer");
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(server.wait(), Some(0));
    server.run();
    server.kubectl_ok(&["get", "configmap", "late"]);
}
