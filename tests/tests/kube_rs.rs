//! What controllers written with kube-rs do: typed objects, informers that outlive the server, errors they match on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{
    Api, AttachParams, DeleteParams, EvictParams, ListParams, LogParams, Patch, PatchParams, PostParams,
    PropagationPolicy, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Config, Error, ResourceExt as _};
use serde_json::json;
use tests::server::Server;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

async fn client(server: &Server) -> Client {
    let file = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": "a"}}, "data": {"value": value}}))
        .unwrap()
}

fn pod(name: &str) -> Pod {
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// What the server refused; anything else is a failure of the test.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String, String) {
    match result {
        Err(Error::Api(status)) => (status.code, status.reason, status.message),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn typed_objects_are_created_read_listed_patched_and_deleted() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let made = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap(), made);
    assert_eq!(maps.get_opt("b").await.unwrap(), None);
    assert_eq!(maps.get_metadata("a").await.unwrap().metadata, made.metadata);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    maps.create(&dry, &config_map("b", "1")).await.unwrap();
    let listed = maps.list(&ListParams::default().labels("app=a").limit(1)).await.unwrap();
    assert_eq!(listed.items, [made]);
    assert_eq!(maps.list(&ListParams::default().fields("metadata.name=b")).await.unwrap().items, []);
    let params = PatchParams::default();
    maps.patch("a", &params, &Patch::Merge(json!({"data": {"merged": "1"}}))).await.unwrap();
    maps.patch("a", &params, &Patch::Strategic(json!({"data": {"strategic": "1"}}))).await.unwrap();
    let steps = serde_json::from_value(json!([{"op": "remove", "path": "/data/value"}])).unwrap();
    let patched = maps.patch("a", &params, &Patch::Json::<()>(steps)).await.unwrap();
    let data = ["merged", "strategic"].map(|key| (key.to_owned(), "1".to_owned()));
    assert_eq!(patched.data, Some(BTreeMap::from(data)));
    let precondition = DeleteParams::default().preconditions(kube::api::Preconditions {
        uid: Some("other".to_owned()),
        ..kube::api::Preconditions::default()
    });
    assert_eq!(refused(maps.delete("a", &precondition).await).0, 409);
    let gone = maps.delete("a", &DeleteParams::background()).await.unwrap();
    assert!(gone.right().is_some_and(|status| status.is_success()));
    let (code, reason, message) = refused(maps.get("a").await);
    assert_eq!((code, reason.as_str(), message.as_str()), (404, "NotFound", "configmaps \"a\" not found"));
}

#[tokio::test]
async fn subresources_answer_what_controllers_expect() {
    let server = Server::start();
    let pods: Api<Pod> = Api::default_namespaced(client(&server).await);
    pods.create(&PostParams::default(), &pod("web")).await.unwrap();
    let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1"}});
    let patched = pods.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!((patched.metadata.generation, patched.status.unwrap().phase.as_deref()), (Some(1), Some("Running")));
    // There is no such node, and no agent on it.
    let (code, _, message) = refused(pods.logs("web", &LogParams::default()).await);
    assert_eq!((code, message.as_str()), (404, "nodes \"n\" not found"));
    let other = LogParams { container: Some("other".to_owned()), ..LogParams::default() };
    let (code, reason, message) = refused(pods.logs("web", &other).await);
    assert_eq!((code, reason.as_str()), (400, "BadRequest"));
    assert_eq!(message, "container other is not valid for pod web");
    let (code, _, message) = refused(pods.logs("none", &LogParams::default()).await);
    assert_eq!((code, message.as_str()), (404, "pods \"none\" not found"));
    let executed = pods.exec("none", ["true"], &AttachParams::default()).await;
    let (code, _, message) = refused(executed.map(|_| ()));
    assert_eq!((code, message.as_str()), (404, "pods \"none\" not found"));
    let executed = pods.exec("web", ["true"], &AttachParams::default()).await;
    let (code, _, message) = refused(executed.map(|_| ()));
    assert_eq!((code, message.as_str()), (404, "nodes \"n\" not found"));
    pods.evict("web", &EvictParams::default()).await.unwrap();
    assert!(pods.get("web").await.unwrap().metadata.deletion_timestamp.is_some());
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let now = DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..now };
    pods.delete("web", &now).await.unwrap();
    assert_eq!(pods.get_opt("web").await.unwrap(), None);
}

#[tokio::test]
async fn stale_updates_conflict_and_hundreds_in_a_row_converge() {
    const WORKERS: usize = 4;
    const UPDATES: usize = 75;
    let server = Server::start();
    let client = client(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let mut stale = pods.create(&PostParams::default(), &pod("web")).await.unwrap();
    let label = json!({"metadata": {"labels": {"count": "0"}}});
    pods.patch("web", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    stale.labels_mut().insert("stale".to_owned(), String::new());
    let (code, reason, message) = refused(pods.replace("web", &PostParams::default(), &stale).await);
    assert_eq!((code, reason.as_str()), (409, "Conflict"));
    assert!(
        message.contains("the object has been modified; please apply your changes to the latest version"),
        "{message}"
    );
    let workers = [(); WORKERS].map(|()| {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        tokio::spawn(async move {
            for _ in 0..UPDATES {
                while !add_one(&pods).await {}
            }
        })
    });
    for worker in workers {
        timeout(PATIENCE, worker).await.expect("updates converge").unwrap();
    }
    assert_eq!(pods.get("web").await.unwrap().labels()["count"], (WORKERS * UPDATES).to_string());
}

/// Reads, adds one, writes; whether nobody was faster.
async fn add_one(pods: &Api<Pod>) -> bool {
    let mut pod = pods.get("web").await.unwrap();
    let count: usize = pod.labels()["count"].parse().unwrap();
    pod.labels_mut().insert("count".to_owned(), (count + 1).to_string());
    match pods.replace("web", &PostParams::default(), &pod).await {
        Ok(_) => true,
        Err(Error::Api(status)) if status.code == 409 => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_watch_tells_changes_and_ends_with_a_bookmark() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let first = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let params = WatchParams::default().labels("app=a").timeout(2);
    let mut watch = maps.watch(&params, &first.resource_version().unwrap()).await.unwrap().boxed();
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"value": "2"}}))).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let mut told = Vec::new();
    let mut newest = 0;
    while let Some(event) = timeout(PATIENCE, watch.next()).await.expect("the watch ends") {
        let (what, version) = match event.unwrap() {
            WatchEvent::Added(map) => ("added", map.resource_version().unwrap()),
            WatchEvent::Modified(map) => ("modified", map.resource_version().unwrap()),
            WatchEvent::Deleted(map) => ("deleted", map.resource_version().unwrap()),
            WatchEvent::Bookmark(mark) => ("bookmark", mark.metadata.resource_version),
            WatchEvent::Error(status) => panic!("{status:?}"),
        };
        told.push(what);
        let version: u64 = version.parse().unwrap();
        assert!(version >= newest);
        newest = version;
    }
    assert_eq!(told, ["modified", "deleted", "bookmark"]);
}

#[tokio::test]
async fn initial_events_end_with_their_bookmark() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let second = maps.create(&PostParams::default(), &config_map("b", "1")).await.unwrap();
    let params = WatchParams::streaming_lists().labels("app=a");
    // Not older than what was made last: 0 would be content with less.
    let mut watch = maps.watch(&params, &second.resource_version().unwrap()).await.unwrap().boxed();
    let mut names = Vec::new();
    let mark = loop {
        match timeout(PATIENCE, watch.next()).await.expect("an event").expect("no end").unwrap() {
            WatchEvent::Added(map) => names.push(map.name_any()),
            WatchEvent::Bookmark(mark) => break mark,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(names, ["a", "b"]);
    assert_eq!(mark.metadata.annotations["k8s.io/initial-events-end"], "true");
    assert_eq!(refused(maps.watch(&WatchParams::default(), "nonsense").await.map(drop)).0, 400);
}

type State = BTreeMap<String, (String, String)>;

/// Names, versions and values.
fn state<'a>(maps: impl IntoIterator<Item = &'a ConfigMap>) -> State {
    let one = |map: &ConfigMap| (map.resource_version().unwrap(), map.data.as_ref().unwrap()["value"].clone());
    maps.into_iter().map(|map| (map.name_any(), one(map))).collect()
}

/// What an informer shows, and when it has heard something.
struct Informed {
    store: Store<ConfigMap>,
    news: watch::Receiver<()>,
}

/// An informer that runs until it is dropped, and what it shows.
fn informer(maps: Api<ConfigMap>, config: watcher::Config) -> (JoinHandle<()>, Informed) {
    let (store, writer) = reflector::store();
    let (told, news) = watch::channel(());
    let following = reflector::reflector(writer, watcher(maps, config.labels("app=a")));
    // Errors are part of its life: it tries again.
    let following = following.for_each(move |_| {
        told.send_replace(());
        std::future::ready(())
    });
    (tokio::spawn(following), Informed { store, news })
}

async fn shows(Informed { store, news }: &mut Informed, expected: &State) {
    let shown = async {
        loop {
            let maps = store.state();
            if state(maps.iter().map(|map| &**map)) == *expected {
                return;
            }
            news.changed().await.expect("the informer runs");
        }
    };
    if timeout(PATIENCE, shown).await.is_err() {
        let maps = store.state();
        assert_eq!(state(maps.iter().map(|map| &**map)), *expected);
    }
}

/// An informer sees kills and restarts, and what happened meanwhile, and ends with what is there.
async fn lives_through_kills(config: watcher::Config) {
    let mut server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let (following, mut informed) = informer(maps.clone(), config);
    for round in 0..3 {
        for count in 0..10 {
            maps.create(&PostParams::default(), &config_map(&format!("m{round}-{count}"), "1")).await.unwrap();
        }
        server.kill();
        server.run();
        let other: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
        for count in 0..5 {
            other.delete(&format!("m{round}-{count}"), &DeleteParams::default()).await.unwrap();
            let patch = Patch::Merge(json!({"data": {"value": "2"}}));
            other.patch(&format!("m{round}-{}", count + 5), &PatchParams::default(), &patch).await.unwrap();
        }
        let there = other.list(&ListParams::default().labels("app=a")).await.unwrap();
        assert_eq!(there.items.len(), (round + 1) * 5);
        shows(&mut informed, &state(&there.items)).await;
    }
    following.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_with_list_and_watch_lives_through_kills() {
    lives_through_kills(watcher::Config::default().page_size(3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_with_streaming_lists_lives_through_kills() {
    lives_through_kills(watcher::Config::default().streaming_lists()).await;
}
