//! What a real server logs, and what it never does.

use tests::server::Server;

/// Stands for the content of a secret; long enough not to be anywhere by chance.
const HIDDEN: &str = "correct-horse-battery-staple-4711";
/// The same as it travels and is stored.
const HIDDEN_BASE64: &str = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZS00NzEx";

/// The lines of all private keys below the server's directory.
fn private_keys(server: &Server) -> Vec<String> {
    let files = std::fs::read_dir(server.data_dir().join("certificates")).unwrap();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
    let keys = texts.filter(|text| text.contains("PRIVATE KEY"));
    keys.flat_map(|key| key.lines().filter(|line| !line.starts_with("--")).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn kubectl_with_token(server: &Server, token: &str) -> tests::Run {
    let address = format!("--server=https://{}", server.address);
    let token = format!("--token={token}");
    server.kubectl(&["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", &address, &token, "get", "secrets"])
}

#[test]
fn no_secret_token_or_key_is_ever_logged() {
    let mut server = Server::start_with(&["--log-level", "trace"]);
    let literal = format!("--from-literal=password={HIDDEN}");
    server.kubectl_ok(&["create", "secret", "generic", "hidden", &literal]);
    let shown = server.kubectl_ok(&["get", "secret", "hidden", "-o", "yaml"]);
    assert!(shown.contains(HIDDEN_BASE64), "{shown}");
    let patch = format!(r#"{{"stringData": {{"other": "{HIDDEN}"}}, "unknown": "{HIDDEN}"}}"#);
    server.kubectl_ok(&["patch", "secret", "hidden", "--type=merge", "-p", &patch]);
    let invalid = format!(r#"{{"data": {{"{HIDDEN}/": "{HIDDEN_BASE64}"}}}}"#);
    assert_eq!(server.kubectl(&["patch", "secret", "hidden", "--type=merge", "-p", &invalid]).code, 1);
    let token = server.kubectl_ok(&["create", "token", "default"]);
    let token = token.trim();
    // Known to the server, but without rights; and unknown to it.
    assert_eq!(kubectl_with_token(&server, token).code, 1);
    assert_eq!(kubectl_with_token(&server, HIDDEN).code, 1);
    server.kubectl(&["get", "--raw", &format!("/api/v1/secrets?labelSelector=a%3D{HIDDEN}")]);
    let keys = private_keys(&server);
    assert!(keys.len() > 2, "{keys:?}");
    server.stop();

    let log = server.log();
    assert!(log.contains("path=\"/api/v1/namespaces/default/secrets/hidden\""), "{log}");
    assert!(log.contains("path=\"/api/v1/secrets\""), "{log}");
    let signature = token.rsplit('.').next().unwrap();
    for hidden in [HIDDEN, HIDDEN_BASE64, token, signature].into_iter().chain(keys.iter().map(String::as_str)) {
        assert!(!log.contains(hidden), "{hidden} in {log}");
    }
}

#[test]
fn a_request_is_one_line_of_our_own() {
    let mut server = Server::start_with(&["--log-level", "debug", "--log-format", "json"]);
    assert_eq!(server.kubectl(&["get", "--raw", "/api/v1/namespaces/default/pods/missing"]).code, 1);
    server.stop();
    let log = server.log();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    for line in &lines {
        let target = line["target"].as_str().unwrap();
        let ours = ["eventide", "apiserver", "store"].contains(&target.split("::").next().unwrap());
        assert!(ours || ["WARN", "ERROR"].contains(&line["level"].as_str().unwrap()), "{line}");
    }
    let of_request = |line: &&serde_json::Value| line["fields"]["path"] == "/api/v1/namespaces/default/pods/missing";
    let requests: Vec<_> = lines.iter().filter(of_request).collect();
    assert_eq!(requests.len(), 1, "{log}");
    let fields = &requests[0]["fields"];
    assert_eq!((&fields["verb"], &fields["code"]), (&"GET".into(), &404.into()));
    assert!(fields["user"].is_string() && fields["micros"].is_number(), "{fields}");
    assert_eq!(requests[0]["level"], "DEBUG");
}
