//! Rows of texts and what they mean.

use super::*;

fn tls() -> Option<EtcdTls> {
    Some(EtcdTls { authority: PathBuf::from("ca.pem"), client: None })
}

fn endpoints(text: &str, tls: Option<EtcdTls>) -> Result<Vec<String>, String> {
    EtcdOptions::parse(text, Prefix::ALL, tls).map(|options| options.endpoints).map_err(|error| error.to_string())
}

#[test]
fn endpoints_are_hosts_and_ports() {
    assert_eq!(endpoints("etcd://a:1,b.example:2", None).unwrap(), ["a:1", "b.example:2"]);
    assert_eq!(
        endpoints("etcd://10.0.0.1,[::1],[fe80::1]:3/", None).unwrap(),
        ["10.0.0.1:2379", "[::1]:2379", "[fe80::1]:3"]
    );
    assert_eq!(endpoints("http://a:1,http://b:2", None).unwrap(), ["a:1", "b:2"]);
    assert_eq!(endpoints("https://a:1,b:2", tls()).unwrap(), ["a:1", "b:2"]);
}

#[test]
fn certificates_decide_whether_connections_are_encrypted() {
    let url = |tls| EtcdOptions::parse("etcd://a:1", Prefix::ALL, tls).unwrap().urls().unwrap().remove(0).1;
    assert_eq!((url(None), url(tls())), ("http://a:1".to_owned(), "https://a:1".to_owned()));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let rows = [
        ("", "names no etcd"),
        ("embedded", "names no etcd"),
        ("ftp://a:1", "names no etcd"),
        ("etcd://", "no host"),
        ("etcd://a:1,", "no host"),
        ("etcd://:1", "no host"),
        ("etcd://a:0", "its port is no port"),
        ("etcd://a:65536", "its port is no port"),
        ("etcd://a:", "its port is no port"),
        ("etcd://::1", "needs brackets"),
        ("etcd://[x]:1", "no IPv6 address"),
        ("etcd://a b:1", "no name and no address"),
        ("etcd://a:1/path", "only a host and a port"),
        ("etcd://user:secret@a:1", "use a client certificate"),
        ("https://a:1", "give the certificate of etcd's authority"),
    ];
    for (text, reason) in rows {
        let error = endpoints(text, None).expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
    assert!(endpoints("http://a:1", tls()).unwrap_err().contains("write etcd:// or https://"));
    let many = format!("etcd://{}", vec!["a:1"; MAX_ENDPOINTS + 1].join(","));
    assert!(endpoints(&many, None).unwrap_err().contains("17 endpoints"));
}
