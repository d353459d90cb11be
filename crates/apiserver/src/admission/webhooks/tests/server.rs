//! A webhook that behaves as a test wants it to: a real HTTPS server on this machine.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// What the webhook does with a question.
#[derive(Clone)]
pub enum Behaviour {
    /// Answers with this response, under the UID of the question.
    Respond(Value),
    /// Applies this patch.
    Patch(Value),
    /// Answers with this body and code.
    Raw { code: u16, body: String },
    /// Takes the connection and says nothing, not even a greeting.
    Deaf,
    /// Reads the question and says nothing.
    Hang,
    /// Sends its answer one byte at a time, for ever.
    Drip,
    /// Sends without end.
    Flood,
    /// Closes the connection instead of an answer.
    HangUp,
}

pub struct Server {
    pub port: u16,
    /// The authority behind the server's certificate, as PEM.
    pub authority: String,
    /// The requests of the questions, in order.
    pub asked: mpsc::UnboundedReceiver<Value>,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// A server whose certificate is for these names.
    pub async fn start(behaviour: Behaviour, names: &[&str]) -> Server {
        let (authority, config) = certificate(names);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (told, asked) = mpsc::unbounded_channel();
        let acceptor = TlsAcceptor::from(config);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, acceptor.clone(), behaviour.clone(), told.clone()));
            }
        });
        Server { port, authority, asked, task: task.abort_handle() }
    }

    pub async fn local(behaviour: Behaviour) -> Server {
        Server::start(behaviour, &["localhost"]).await
    }

    /// How a webhook names this server.
    pub fn client_config(&self) -> Value {
        json!({"url": format!("https://localhost:{}/ask", self.port), "caBundle": STANDARD.encode(&self.authority)})
    }
}

fn certificate(names: &[&str]) -> (String, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (authority, Arc::new(config))
}

/// Serves one question; whatever goes wrong is the client's to notice.
async fn serve(
    socket: TcpStream,
    acceptor: TlsAcceptor,
    behaviour: Behaviour,
    told: mpsc::UnboundedSender<Value>,
) -> Option<()> {
    if matches!(behaviour, Behaviour::Deaf) {
        let _kept_open = socket;
        return std::future::pending().await;
    }
    let mut stream = acceptor.accept(socket).await.ok()?;
    let question = read_question(&mut stream).await?;
    let uid = question["request"]["uid"].clone();
    let _ = told.send(question["request"].clone());
    let body = match behaviour {
        Behaviour::Respond(response) => (200, review(response, &uid)),
        Behaviour::Patch(patch) => {
            let patch = STANDARD.encode(patch.to_string());
            (200, review(json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}), &uid))
        }
        Behaviour::Raw { code, body } => (code, body),
        Behaviour::Deaf | Behaviour::Hang => return std::future::pending().await,
        Behaviour::HangUp => return None,
        Behaviour::Drip => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await.ok()?;
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            loop {
                ticks.tick().await;
                stream.write_all(b"{").await.ok()?;
                stream.flush().await.ok()?;
            }
        }
        Behaviour::Flood => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").await.ok()?;
            let block = vec![b' '; 64 * 1024];
            loop {
                stream.write_all(&block).await.ok()?;
            }
        }
    };
    let (code, body) = body;
    let answer = format!("HTTP/1.1 {code} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

fn review(mut response: Value, uid: &Value) -> String {
    if response.get("uid").is_none() {
        response["uid"] = uid.clone();
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).to_string()
}

async fn read_question(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if body.len() >= length.trim().parse().ok()? {
            let start = head.len() + 4;
            return serde_json::from_slice(&bytes[start..]).ok();
        }
    }
}
