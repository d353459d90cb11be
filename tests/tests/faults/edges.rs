//! Each limit of the way in, at its edge and one step beyond; and bytes that are no requests.

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use tests::client::{Answer, Body, CONFIG_MAPS, Client, Credentials, NoAnswer, PATIENCE, config_map, request};
use tests::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
/// One user may have nine tenths of the writes that are worked on at the same time.
const WRITES_OF_ONE_USER: usize = 180;

/// An object in a body of just this size: blanks after it mean nothing.
fn sized(name: &str, bytes: usize) -> Bytes {
    let mut body = config_map(name, "v").to_string();
    body.extend(std::iter::repeat_n(' ', bytes - body.len()));
    body.into()
}

#[tokio::test]
async fn a_body_of_three_mebibytes_is_read_and_one_byte_more_is_not() {
    let server = Server::start();
    let credentials = Credentials::admin(&server);
    for client in [Client::http1(&credentials).await.unwrap(), Client::http2(&credentials).await.unwrap()] {
        let over = client.ask(request(Method::POST, CONFIG_MAPS, sized("over", MAX_BODY_BYTES + 1))).await.unwrap();
        assert_eq!((over.code.as_u16(), &over.refusal()["reason"]), (413, &"RequestEntityTooLarge".into()));
    }
    for (name, client) in
        [("one", Client::http1(&credentials).await.unwrap()), ("two", Client::http2(&credentials).await.unwrap())]
    {
        let within = client.ask(request(Method::POST, CONFIG_MAPS, sized(name, MAX_BODY_BYTES))).await.unwrap();
        assert_eq!(within.object()["metadata"]["name"], name);
    }
    assert_eq!(Client::admin(&server).await.get(&format!("{CONFIG_MAPS}/over")).await.unwrap().code, 404);
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused_and_the_server_goes_on() {
    let server = Server::start();
    let credentials = Credentials::admin(&server);
    let with_header = |bytes: usize| {
        let mut request = request(Method::GET, "/version", "");
        request.headers_mut().insert("x-long", "a".repeat(bytes).parse().unwrap());
        request
    };
    let one = Client::http1(&credentials).await.unwrap();
    assert_eq!(one.ask(with_header(300 * 1024)).await.unwrap().code, 200);
    // A refusal that comes before everything was sent may be lost with the connection.
    let refused = one.ask(with_header(1024 * 1024)).await;
    assert!(refused.as_ref().map_or(true, |answer| answer.code == 431), "{refused:?}");
    let two = Client::http2(&credentials).await.unwrap();
    assert_eq!(two.ask(with_header(12 * 1024)).await.unwrap().code, 200);
    assert_eq!(two.ask(with_header(20 * 1024)).await.unwrap().code, 431);
    assert_eq!(two.ask(with_header(12 * 1024)).await.unwrap().code, 200, "the connection goes on");
    assert_eq!(Client::admin(&server).await.get("/version").await.unwrap().code, 200);
}

#[tokio::test]
async fn nobody_sees_only_health_and_version() {
    let server = Server::start();
    let client = Client::http2(&Credentials::nobody(&server)).await.unwrap();
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(client.get(path).await.unwrap().code, 200, "{path}");
    }
    for path in [CONFIG_MAPS, "/api", "/apis", "/openapi/v3", "/metrics", "/", "/nowhere"] {
        let refused = client.get(path).await.unwrap();
        assert_eq!((refused.code.as_u16(), &refused.refusal()["reason"]), (403, &"Forbidden".into()), "{path}");
    }
    for token in ["nonsense", "a.b.c", "", "\u{fc}"] {
        let mut asked = request(Method::GET, "/version", "");
        let value = http::HeaderValue::from_bytes(format!("Bearer {token}").as_bytes()).unwrap();
        asked.headers_mut().insert("authorization", value);
        let refused = client.ask(asked).await.unwrap();
        // No token at all is nobody, who may see the version.
        let expected = if token.is_empty() { 200 } else { 401 };
        assert_eq!(refused.code, expected, "{token:?}");
        if expected == 401 {
            assert_eq!(refused.refusal()["reason"], "Unauthorized");
        }
    }
}

/// A request whose body never comes.
fn endless() -> Request<Body> {
    let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, std::convert::Infallible>>());
    let builder = Request::builder().method(Method::POST).uri(CONFIG_MAPS).header("content-type", "application/json");
    builder.body(body.boxed_unsync()).unwrap()
}

/// Sends writes until one is answered as expected.
async fn until_answered(client: &Client, code: u16) -> Answer {
    let asked = async {
        let mut again = tokio::time::interval(std::time::Duration::from_millis(5));
        loop {
            again.tick().await;
            let answer = client.post(CONFIG_MAPS, &config_map("again", "")).await.unwrap();
            if answer.code == code {
                return answer;
            }
        }
    };
    timeout(PATIENCE, asked).await.expect("the answer that was expected")
}

#[tokio::test]
async fn too_many_writes_at_once_are_told_when_to_come_back() {
    let server = Server::start();
    let (slow, client) = (Client::admin(&server).await, Client::admin(&server).await);
    let mut waiting = JoinSet::new();
    for _ in 0..WRITES_OF_ONE_USER {
        let slow = slow.clone();
        // One that came while another write had its place comes again.
        waiting.spawn(async move { while slow.send(endless()).await.is_ok_and(|refused| refused.status() == 429) {} });
    }
    let refused = until_answered(&client, 429).await;
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.refusal()["reason"], "TooManyRequests");
    // Reads have a place of their own.
    assert_eq!(client.get(CONFIG_MAPS).await.unwrap().code, 200);
    drop((waiting, slow));
    until_answered(&client, 409).await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_and_garbage_ends_the_connection() {
    let server = Server::start();
    let mut stream = Credentials::admin(&server).connect(&["http/1.1"]).await.unwrap();
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let garbage = "\u{1}\u{2}nonsense\r\n\r\n";
    let sent = [ask("/version"), ask("/livez"), ask("/nowhere"), garbage.to_owned()].concat();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut received)).await.expect("the connection ends").unwrap();
    let received = String::from_utf8(received).unwrap();
    let codes: Vec<&str> = received.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(codes, ["200", "200", "404", "400"], "{received}");
    assert_eq!(Client::admin(&server).await.get("/livez").await.unwrap().code, 200);
}

#[tokio::test]
async fn bytes_that_are_no_tls_end_the_connection_and_nothing_else() {
    let server = Server::start();
    for garbage in
        [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0; 64], &[0x16, 3, 1, 255, 255, 1], b"\x16\x03\x01\x00\x05\x01"]
    {
        let mut stream = TcpStream::connect(&server.address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        // An alert, or nothing; a reset is an end, too.
        let _ = timeout(PATIENCE, stream.read_to_end(&mut received)).await.expect("the connection ends");
        assert!(received.len() < 64, "{received:?}");
    }
    assert_eq!(Client::admin(&server).await.get("/livez").await.unwrap().code, 200);
}

#[tokio::test]
async fn a_protocol_that_is_not_spoken_is_refused_and_none_is_http_1() {
    let server = Server::start();
    let credentials = Credentials::admin(&server);
    let NoAnswer(refused) = credentials.connect(&["spdy/3.1"]).await.expect_err("a refusal");
    assert!(refused.contains("NoApplicationProtocol"), "{refused}");
    let mut stream = credentials.connect(&[]).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut received = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut received)).await.expect("an answer").unwrap();
    assert!(received.starts_with("HTTP/1.1 200") && received.ends_with("ok"), "{received}");
}
