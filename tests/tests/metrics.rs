//! `/metrics` of a real server: the format is valid, every family is there, the counts are right.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tests::server::Server;

/// Within this, what happened shows.
const SOON: Duration = Duration::from_secs(20);

/// What a scrape showed: samples by name and labels, the types of families.
struct Scrape {
    samples: HashMap<String, f64>,
    types: HashMap<String, String>,
}

impl Scrape {
    fn of(server: &Server) -> Scrape {
        Scrape::parse(&server.kubectl_ok(&["get", "--raw", "/metrics"]))
    }

    /// Reads the text format of Prometheus 0.0.4, strictly.
    fn parse(text: &str) -> Scrape {
        let (mut samples, mut types) = (HashMap::new(), HashMap::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect(line);
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
            } else if !line.starts_with("# HELP ") {
                let (series, value) = line.rsplit_once(' ').expect(line);
                let value = value.parse::<f64>().expect(line);
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
                check_labels(labels.strip_suffix('}').expect(line));
                let family = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end));
                let family = family.filter(|family| types.get(*family).is_some_and(|kind| kind == "histogram"));
                assert!(types.contains_key(family.unwrap_or(name)), "no type before {line}");
                assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
            }
        }
        Scrape { samples, types }
    }

    /// The sum of all samples of this name with all of these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let fits = |series: &str| {
            let (found, rest) = series.split_once('{').unwrap_or((series, ""));
            found == name && wanted.iter().all(|wanted| rest.contains(wanted.as_str()))
        };
        self.samples.iter().filter(|(series, _)| fits(series)).map(|(_, value)| value).sum()
    }
}

fn check_labels(mut labels: &str) {
    let mut names = HashSet::new();
    while !labels.is_empty() {
        let (name, rest) = labels.split_once("=\"").expect(labels);
        assert!(names.insert(name) && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{labels}");
        let (value, rest) = rest.split_once('"').expect(labels);
        assert!(!value.contains('\\'), "{labels}");
        labels = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn eventually(server: &Server, holds: impl Fn(&Scrape) -> bool) -> Scrape {
    let until = Instant::now() + SOON;
    loop {
        let scrape = Scrape::of(server);
        if holds(&scrape) {
            return scrape;
        }
        let mut shown: Vec<_> = scrape.samples.iter().collect();
        shown.sort_by_key(|(series, _)| (*series).clone());
        assert!(Instant::now() < until, "{shown:#?}");
    }
}

#[test]
fn a_scrape_counts_what_was_done() {
    let server = Server::start();
    for name in ["a", "b", "c"] {
        server.kubectl_ok(&["create", "configmap", name]);
    }
    assert_eq!(server.kubectl(&["get", "--raw", "/api/v1/namespaces/default/configmaps/missing"]).code, 1);
    assert_eq!(server.kubectl(&["get", "--raw", "/apis/invented.example/v1/inventions"]).code, 1);
    let mut watch = server.kubectl_command(&["get", "configmaps", "--watch-only", "-o", "name"]).spawn().unwrap();
    let watching = [("verb", "WATCH"), ("resource", "configmaps")];
    eventually(&server, |scrape| scrape.sum("apiserver_longrunning_requests", &watching) == 1.0);
    server.kubectl_ok(&["create", "configmap", "d"]);
    let mut told = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "configmap/d\n");

    let scrape = Scrape::of(&server);
    let requests = |labels: &[(&str, &str)]| scrape.sum("apiserver_request_total", labels);
    assert_eq!(requests(&[("verb", "POST"), ("resource", "configmaps"), ("code", "201")]), 4.0);
    assert_eq!(requests(&[("verb", "GET"), ("resource", "configmaps"), ("code", "404")]), 1.0);
    assert_eq!(requests(&[("verb", "LIST"), ("resource", "other"), ("code", "404")]), 1.0);
    assert_eq!(scrape.sum("apiserver_watch_events_total", &[("resource", "configmaps")]), 1.0);
    let made = [("verb", "POST"), ("resource", "configmaps")];
    assert_eq!(scrape.sum("apiserver_request_duration_seconds_count", &made), 4.0);
    // The scrape itself is under way.
    assert_eq!(scrape.sum("apiserver_current_inflight_requests", &[("request_kind", "readOnly")]), 1.0);
    let stored = scrape.sum("apiserver_storage_objects", &[("resource", "configmaps")]);
    let listed = server.kubectl_ok(&["get", "configmaps", "-A", "-o", "name"]);
    assert_eq!(stored, listed.lines().count() as f64);
    assert!(scrape.sum("process_resident_memory_bytes", &[]) > 1e6);
    assert!(scrape.sum("process_start_time_seconds", &[]) > 1.7e9);
    watch.kill().unwrap();
    watch.wait().unwrap();
    eventually(&server, |scrape| scrape.sum("apiserver_longrunning_requests", &watching) == 0.0);
}

#[test]
fn every_family_is_there() {
    let server = Server::start();
    server.kubectl_ok(&["get", "pods"]);
    let mut stranger = TcpStream::connect(&server.address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut refusal = Vec::new();
    let _ = stranger.read_to_end(&mut refusal);
    let scrape = eventually(&server, |scrape| scrape.sum("apiserver_tls_handshake_errors_total", &[]) == 1.0);
    let families = [
        ("apiserver_current_inflight_requests", "gauge"),
        ("apiserver_rejected_requests_total", "counter"),
        ("apiserver_request_duration_seconds", "histogram"),
        ("apiserver_request_total", "counter"),
        ("apiserver_storage_objects", "gauge"),
        ("apiserver_tls_handshake_errors_total", "counter"),
        ("eventide_build_info", "gauge"),
        ("eventide_store_batch_changes", "histogram"),
        ("eventide_store_commit_duration_seconds", "histogram"),
        ("eventide_store_compacted_revision", "gauge"),
        ("eventide_store_revision", "gauge"),
        ("process_cpu_seconds_total", "counter"),
        ("process_open_fds", "gauge"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_start_time_seconds", "gauge"),
    ];
    for (family, kind) in families {
        assert_eq!(scrape.types.get(family).map(String::as_str), Some(kind), "{family}");
    }
    assert!(scrape.sum("eventide_store_commit_duration_seconds_count", &[]) > 0.0);
    assert!(scrape.sum("eventide_store_revision", &[]) > 1.0);
}
