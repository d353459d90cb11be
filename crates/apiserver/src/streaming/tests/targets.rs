//! Which node and which path a request is passed on to.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::scene::{SOON, Scene};

#[tokio::test]
async fn a_request_to_a_node_is_passed_on_as_it_is() {
    let mut scene = Scene::new().await;
    let mut stream = tokio::net::TcpStream::connect(scene.front).await.unwrap();
    let request = "POST /api/v1/nodes/n1/proxy/a%20b/../c/?x=1&y=%2F HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\
                   Authorization: Bearer secret\r\nX-Mine: 1\r\nContent-Length: 4\r\n\r\nbody";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 418 ") && answer.ends_with("POST body"), "{answer}");
    let asked = scene.asked().await;
    assert_eq!(asked.path_and_query, "/c/?x=1&y=%2F");
    assert_eq!(asked.headers["x-mine"], "1");
    assert!(!asked.headers.contains_key("authorization"));
    scene.all_ended().await;
}

#[tokio::test]
async fn another_port_of_a_node_must_not_be_on_this_machine() {
    let scene = Scene::new().await;
    for (name, message) in
        [("n1:22", "address not allowed"), ("ftp:n1:22", "invalid node request"), ("n1:x", "invalid node request")]
    {
        let answer = scene.get(&format!("/api/v1/nodes/{name}/proxy/")).await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(message), "{name}: {answer}");
    }
}
