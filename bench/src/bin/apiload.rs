//! Measures an API server: `apiload KUBECONFIG PID [STORED]`. Prints a Markdown table.
//!
//! Works on any Kubernetes API server. The processor time of the server per request is the figure that holds on a noisy
//! machine; rates and latencies are those of this machine at this moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bench::load::client::{Connection, Target};
use bench::load::figures::Latencies;
use bench::load::process;
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

const JSON: &str = "application/json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// Requests per phase; lists are heavier.
const REQUESTS: usize = 2_000;
const LISTS: usize = 200;
const WATCHERS: usize = 1_000;
const WRITES_PER_SECOND: u32 = 100;
const TIMED_WRITES: u32 = 1_000;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, pid, rest @ ..] = arguments.as_slice() else {
        anyhow::bail!("usage: apiload KUBECONFIG PID [STORED]");
    };
    let stored: usize = rest.first().map_or(Ok(1_000), |text| text.parse()).context("STORED is a number of pods")?;
    let load = Load { target: Target::of_kubeconfig(Path::new(kubeconfig))?, pid: pid.parse()? };
    println!("| what | connections | per second | p50 ms | p99 ms | server CPU ms each |");
    println!("| --- | --- | --- | --- | --- | --- |");
    println!("| RSS at the beginning | | {:.1} MiB | | | |", process::resident_mib(load.pid)?);
    load.fill(stored).await?;
    println!("| RSS with {stored} pods | | {:.1} MiB | | | |", process::resident_mib(load.pid)?);
    for connections in CONNECTIONS {
        let tag = format!("c{connections}");
        load.phase("create", connections, REQUESTS, |i| create(&tag, i)).await?;
        load.phase("get", connections, REQUESTS, |i| get(&tag, i)).await?;
        load.phase("status patch", connections, REQUESTS, |i| patch(&tag, i)).await?;
        load.phase("delete", connections, REQUESTS, |i| delete(&tag, i)).await?;
        let label = format!("list of {stored}");
        load.phase(&label, connections, LISTS, |_| list()).await?;
    }
    load.latency().await?;
    load.fan_out().await
}

/// One request of a phase.
struct Asked {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Bytes,
}

fn create(tag: &str, i: usize) -> Asked {
    Asked { method: Method::POST, path: PODS.to_owned(), content_type: JSON, body: pod(&format!("{tag}-{i}")) }
}

fn get(tag: &str, i: usize) -> Asked {
    Asked { method: Method::GET, path: format!("{PODS}/{tag}-{i}"), content_type: JSON, body: Bytes::new() }
}

fn patch(tag: &str, i: usize) -> Asked {
    let body = format!(
        r#"{{"status":{{"conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}}],"phase":"Running","podIP":"10.0.{}.{}"}}}}"#,
        i / 250 % 250,
        i % 250 + 1
    );
    let path = format!("{PODS}/{tag}-{i}/status");
    Asked { method: Method::PATCH, path, content_type: STRATEGIC, body: body.into() }
}

fn delete(tag: &str, i: usize) -> Asked {
    let body = Bytes::from_static(br#"{"gracePeriodSeconds":0}"#);
    Asked { method: Method::DELETE, path: format!("{PODS}/{tag}-{i}"), content_type: JSON, body }
}

fn list() -> Asked {
    let path = format!("{PODS}?labelSelector=stored%3Dyes&resourceVersion=0");
    Asked { method: Method::GET, path, content_type: JSON, body: Bytes::new() }
}

/// A pod of about 2 KiB, as pods are.
fn pod(name: &str) -> Bytes {
    let environment: Vec<String> =
        (0..12).map(|i| format!(r#"{{"name":"SETTING_{i}","value":"a value of ordinary length {i}"}}"#)).collect();
    let stored = if name.starts_with("stored") { "yes" } else { "no" };
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","labels":{{"app":"load","stored":"{stored}"}},"annotations":{{"example.com/note":"{}"}}}},"spec":{{"nodeName":"node-1","containers":[{{"name":"main","image":"registry.example.com/team/app:1.2.3","env":[{}],"ports":[{{"containerPort":8080}}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}},"lifecycle":{{"preStop":{{"sleep":{{"seconds":5}}}}}}}}]}}}}"#,
        "x".repeat(200),
        environment.join(",")
    )
    .into()
}

struct Load {
    target: Target,
    pid: u32,
}

impl Load {
    async fn fill(&self, stored: usize) -> Result<()> {
        let done = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..64 {
            let (mut connection, done) = (self.target.connect().await?, done.clone());
            tasks.push(tokio::spawn(async move {
                loop {
                    let i = done.fetch_add(1, Ordering::Relaxed);
                    if i >= stored {
                        return Ok::<_, anyhow::Error>(());
                    }
                    connection.send(Method::POST, PODS, JSON, pod(&format!("stored-{i}"))).await?;
                }
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    /// Sends `requests` requests over some connections and prints what they cost.
    async fn phase(
        &self,
        what: &str,
        connections: usize,
        requests: usize,
        asked: impl Fn(usize) -> Asked,
    ) -> Result<()> {
        let mut queues = Vec::new();
        for _ in 0..connections {
            queues.push((self.target.connect().await?, Vec::new()));
        }
        for i in 0..requests {
            queues[i % connections].1.push(asked(i));
        }
        let (before, began) = (process::cpu(self.pid)?, Instant::now());
        let tasks: Vec<_> =
            queues.into_iter().map(|(connection, queue)| tokio::spawn(work(connection, queue))).collect();
        let mut latencies = Latencies::default();
        for task in tasks {
            latencies.merge(task.await??);
        }
        let (spent, took) = (process::cpu(self.pid)? - before, began.elapsed());
        let count = latencies.count() as f64;
        println!(
            "| {what} | {connections} | {:.0} | {:.2} | {:.2} | {:.3} |",
            count / took.as_secs_f64(),
            latencies.percentile(50),
            latencies.percentile(99),
            spent.as_secs_f64() * 1000.0 / count
        );
        Ok(())
    }

    /// From the moment a write is sent to the moment a watcher has read it.
    async fn latency(&self) -> Result<()> {
        let (told, mut heard) = mpsc::unbounded_channel();
        let watcher = self.watcher(told).await?;
        let mut connection = self.target.connect().await?;
        connection.send(Method::POST, PODS, JSON, pod("timed")).await?;
        heard.recv().await.context("the watch ended")?;
        let mut every = tokio::time::interval(Duration::from_secs(1) / WRITES_PER_SECOND);
        let mut latencies = Latencies::default();
        for i in 0..TIMED_WRITES {
            every.tick().await;
            let (path, body) = (format!("{PODS}/timed"), format!(r#"{{"metadata":{{"labels":{{"round":"{i}"}}}}}}"#));
            let began = Instant::now();
            connection.send(Method::PATCH, &path, STRATEGIC, body.into()).await?;
            let seen = heard.recv().await.context("the watch ended")?;
            latencies.add(seen.saturating_duration_since(began));
        }
        println!(
            "| write to watcher, {WRITES_PER_SECOND} per s | 1 | | {:.2} | {:.2} | |",
            latencies.percentile(50),
            latencies.percentile(99)
        );
        watcher.abort();
        Ok(())
    }

    /// From the moment a write is sent to the moment the last of many watchers has read it.
    async fn fan_out(&self) -> Result<()> {
        let (told, mut heard) = mpsc::unbounded_channel();
        let mut watchers = Vec::new();
        for _ in 0..WATCHERS {
            watchers.push(self.watcher(told.clone()).await?);
        }
        let mut connection = self.target.connect().await?;
        let (before, mut latencies) = (process::cpu(self.pid)?, Latencies::default());
        let rounds = 20;
        for i in 0..rounds {
            let (path, body) = (format!("{PODS}/timed"), format!(r#"{{"metadata":{{"labels":{{"fan":"{i}"}}}}}}"#));
            let began = Instant::now();
            connection.send(Method::PATCH, &path, STRATEGIC, body.into()).await?;
            for _ in 0..WATCHERS {
                heard.recv().await.context("a watch ended")?;
            }
            latencies.add(began.elapsed());
        }
        let spent = process::cpu(self.pid)? - before;
        println!(
            "| one change to {WATCHERS} watchers | | | {:.2} | {:.2} | {:.3} |",
            latencies.percentile(50),
            latencies.percentile(99),
            spent.as_secs_f64() * 1000.0 / f64::from(rounds)
        );
        println!("| RSS with {WATCHERS} watchers | | {:.1} MiB | | | |", process::resident_mib(self.pid)?);
        Ok(())
    }

    /// A watch of one pod that tells when each event arrived.
    async fn watcher(&self, told: mpsc::UnboundedSender<Instant>) -> Result<tokio::task::JoinHandle<()>> {
        let mut connection = self.target.connect().await?;
        let newest = connection.send(Method::GET, &format!("{PODS}?limit=1"), JSON, Bytes::new()).await?;
        let newest: serde_json::Value = serde_json::from_slice(&newest)?;
        let version = newest["metadata"]["resourceVersion"].as_str().context("no version")?;
        let path = format!("{PODS}?watch=true&fieldSelector=metadata.name%3Dtimed&resourceVersion={version}");
        let mut answer = connection.open(Method::GET, &path, JSON, Bytes::new()).await?;
        Ok(tokio::spawn(async move {
            // The connection lives as long as its watch.
            let _connection = connection;
            while let Some(Ok(frame)) = answer.body_mut().frame().await {
                let at = Instant::now();
                let events = frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
                for _ in 0..events {
                    if told.send(at).is_err() {
                        return;
                    }
                }
            }
        }))
    }
}

async fn work(mut connection: Connection, queue: Vec<Asked>) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    for Asked { method, path, content_type, body } in queue {
        let began = Instant::now();
        connection.send(method, &path, content_type, body).await?;
        latencies.add(began.elapsed());
    }
    Ok(latencies)
}
