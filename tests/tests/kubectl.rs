//! What people do with kubectl, done with kubectl, against the API server alone.

use std::io::{BufRead as _, BufReader};

use tests::server::Server;

const WEB: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: n1
  containers: [{name: c, image: nginx, lifecycle: {preStop: {sleep: {seconds: 0}}}}]
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: nginx}]}
";

#[test]
fn a_folder_is_applied_and_applied_again_without_change() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pod.yaml"), WEB).unwrap();
    std::fs::write(folder.path().join("deployment.yaml"), DEPLOYMENT).unwrap();
    let folder = folder.path().display().to_string();
    let first = server.kubectl_ok(&["apply", "-f", &folder]);
    assert!(first.contains("pod/web created") && first.contains("deployment.apps/d created"), "{first}");
    let second = server.kubectl_ok(&["apply", "-f", &folder]);
    assert!(second.contains("pod/web unchanged") && second.contains("deployment.apps/d unchanged"), "{second}");
}

#[test]
fn a_pod_is_shown_in_every_form() {
    let server = Server::start();
    server.apply(WEB);
    let wide = server.kubectl_ok(&["get", "pod", "web", "-o", "wide"]);
    assert!(wide.contains("NOMINATED NODE") && wide.contains("Pending") && wide.contains("n1"), "{wide}");
    let json: serde_json::Value =
        serde_json::from_str(&server.kubectl_ok(&["get", "pod", "web", "-o", "json"])).unwrap();
    assert_eq!(json["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!(json["metadata"]["generation"], 1);
    assert_eq!(json["status"]["qosClass"], "BestEffort");
    let yaml = server.kubectl_ok(&["get", "pod", "web", "-o", "yaml"]);
    assert!(yaml.contains("seconds: 0") && yaml.contains("kind: Pod"), "{yaml}");
    let path = server.kubectl_ok(&["get", "pods", "-o", "jsonpath={.items[*].metadata.name}"]);
    assert_eq!(path, "web");
    let described = server.kubectl_ok(&["describe", "pod", "web"]);
    assert!(described.contains("Node:") && described.contains("QoS Class:"), "{described}");
    let selected = server.kubectl_ok(&[
        "get",
        "pods",
        "-A",
        "-l",
        "app=web",
        "--field-selector",
        "spec.nodeName=n1",
        "-o",
        "name",
    ]);
    assert_eq!(selected, "pod/web\n");
    assert_eq!(server.kubectl_ok(&["get", "pods", "-l", "app!=web", "-o", "name"]), "");
}

#[test]
fn objects_are_changed_by_label_annotate_patch_and_scale() {
    let server = Server::start();
    server.apply(WEB);
    server.apply(DEPLOYMENT);
    server.kubectl_ok(&["label", "pod", "web", "tier=front"]);
    server.kubectl_ok(&["annotate", "pod", "web", "note=x"]);
    server.kubectl_ok(&["patch", "pod", "web", "-p", r#"{"metadata":{"labels":{"merged":"yes"}}}"#]);
    server.kubectl_ok(&[
        "patch",
        "pod",
        "web",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/metadata/labels/tier"}]"#,
    ]);
    server.kubectl_ok(&["patch", "pod", "web", "--type=merge", "-p", r#"{"metadata":{"annotations":{"note":null}}}"#]);
    let labels =
        server.kubectl_ok(&["get", "pod", "web", "-o", "jsonpath={.metadata.labels} {.metadata.annotations.note}"]);
    assert_eq!(labels, r#"{"app":"web","merged":"yes"} "#);
    server.kubectl_ok(&["scale", "deployment", "d", "--replicas=5"]);
    let scaled =
        server.kubectl_ok(&["get", "deployment", "d", "-o", "jsonpath={.spec.replicas} {.metadata.generation}"]);
    assert_eq!(scaled, "5 2");
    let refused = server.kubectl(&["patch", "pod", "web", "-p", r#"{"spec":{"restartPolicy":"Never"}}"#]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("pod updates may not change fields other than"), "{}", refused.stderr);
}

#[test]
fn a_pod_on_a_node_is_marked_and_a_forced_one_is_gone() {
    let server = Server::start();
    server.apply(WEB);
    server.kubectl_ok(&["delete", "pod", "web", "--wait=false"]);
    let marks = "jsonpath={.metadata.deletionGracePeriodSeconds} {.metadata.generation}";
    assert_eq!(server.kubectl_ok(&["get", "pod", "web", "-o", marks]), "30 2");
    assert!(server.kubectl_ok(&["get", "pod", "web"]).contains("Terminating"));
    server.kubectl_ok(&["delete", "pod", "web", "--now", "--wait=false"]);
    assert_eq!(server.kubectl_ok(&["get", "pod", "web", "-o", marks]), "1 2");
    let mut waiting = server.kubectl_command(&["wait", "--for=delete", "pod/web", "--timeout=60s"]).spawn().unwrap();
    server.kubectl_ok(&["delete", "pod", "web", "--force", "--grace-period=0"]);
    assert!(waiting.wait().unwrap().success());
    assert!(server.kubectl(&["get", "pod", "web"]).stderr.contains("(NotFound): pods \"web\" not found"));
    // A pod that no node runs goes at once, also with --wait.
    server.apply(&WEB.replace("nodeName: n1", "hostname: h"));
    assert!(server.kubectl_ok(&["delete", "pod", "web", "--wait"]).contains("deleted"));
}

#[test]
fn a_watch_shows_what_happens() {
    let server = Server::start();
    let mut watch =
        server.kubectl_command(&["get", "pods", "--watch", "--output-watch-events", "--no-headers"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    server.apply(WEB);
    assert!(lines.next().unwrap().starts_with("ADDED"));
    server.kubectl_ok(&["label", "pod", "web", "a=b"]);
    assert!(lines.next().unwrap().starts_with("MODIFIED"));
    server.kubectl_ok(&["delete", "pod", "web", "--force", "--grace-period=0"]);
    let rest: Vec<String> = lines.by_ref().take(2).collect();
    assert!(rest[0].starts_with("MODIFIED") && rest[1].starts_with("DELETED"), "{rest:?}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_namespace_begins_furnished_and_ends_empty() {
    let server = Server::start();
    server.kubectl_ok(&["create", "namespace", "shop"]);
    let found = server.kubectl_ok(&["get", "serviceaccounts,configmaps", "-n", "shop", "-o", "name"]);
    assert_eq!(found, "serviceaccount/default\nconfigmap/kube-root-ca.crt\n");
    let pod = WEB.replace("metadata: {name: web,", "metadata: {name: web, namespace: shop,");
    server.apply(&pod.replace("nodeName: n1", "hostname: h"));
    server.kubectl_ok(&["delete", "namespace", "shop", "--wait"]);
    assert!(server.kubectl(&["get", "pods", "-n", "shop", "-o", "name"]).stdout.is_empty());
    let refused = server.kubectl_reading(&pod, &["create", "-f", "-"]);
    assert!(refused.stderr.contains("namespaces \"shop\" not found"), "{}", refused.stderr);
    let kept = server.kubectl(&["delete", "namespace", "default"]);
    assert!(kept.stderr.contains("this namespace may not be deleted"), "{}", kept.stderr);
}

#[test]
fn a_namespace_waits_for_its_pods() {
    let server = Server::start();
    server.kubectl_ok(&["create", "namespace", "shop"]);
    server.apply(&WEB.replace("metadata: {name: web,", "metadata: {name: web, namespace: shop,"));
    server.kubectl_ok(&["create", "configmap", "settings", "-n", "shop", "--from-literal=a=b"]);
    server.kubectl_ok(&["delete", "namespace", "shop", "--wait=false"]);
    server.kubectl_ok(&[
        "wait",
        "pod/web",
        "-n",
        "shop",
        "--for=jsonpath={.metadata.deletionGracePeriodSeconds}=30",
        "--timeout=60s",
    ]);
    // What the pod may still need is there as long as the pod is.
    assert_eq!(
        server.kubectl_ok(&["get", "configmap", "settings", "-n", "shop", "-o", "name"]),
        "configmap/settings\n"
    );
    let refused = server.kubectl(&["create", "configmap", "late", "-n", "shop"]);
    assert!(refused.stderr.contains("because it is being terminated"), "{}", refused.stderr);
    server.kubectl_ok(&["delete", "pod", "web", "-n", "shop", "--force", "--grace-period=0"]);
    server.kubectl_ok(&["wait", "namespace/shop", "--for=delete", "--timeout=60s"]);
}

#[test]
fn people_ask_what_there_is() {
    let server = Server::start();
    let resources = server.kubectl_ok(&["api-resources", "-o", "wide"]);
    for expected in ["pods", "deployments", "poddisruptionbudgets", "leases"] {
        assert!(resources.contains(expected), "{resources}");
    }
    assert_eq!(server.kubectl_ok(&["get", "--raw", "/readyz"]), "ok");
    assert!(server.kubectl_ok(&["get", "--raw", "/livez?verbose"]).contains("[+]ping ok"));
    assert!(server.kubectl_ok(&["version", "-o", "json"]).contains("eventide"));
    let explained = server.kubectl_ok(&["explain", "pod.spec.containers.lifecycle.stopSignal"]);
    assert!(explained.contains("stopSignal"), "{explained}");
    assert!(server.kubectl_ok(&["explain", "deployments", "--recursive"]).contains("maxUnavailable"));
}

#[test]
fn a_difference_is_shown_and_a_dry_run_changes_nothing() {
    let server = Server::start();
    server.apply(DEPLOYMENT);
    let changed = DEPLOYMENT.replace("replicas: 2", "replicas: 7");
    let diff = server.kubectl_reading(&changed, &["diff", "-f", "-"]);
    assert_eq!(diff.code, 1, "{}", diff.stderr);
    assert!(diff.stdout.contains("-  replicas: 2") && diff.stdout.contains("+  replicas: 7"), "{}", diff.stdout);
    let dry = server.kubectl_reading(&changed, &["apply", "--dry-run=server", "-f", "-"]);
    assert!(dry.stdout.contains("server dry run"), "{}{}", dry.stdout, dry.stderr);
    assert_eq!(server.kubectl_ok(&["get", "deployment", "d", "-o", "jsonpath={.spec.replicas}"]), "2");
}

#[test]
fn a_token_of_a_service_account_opens_the_door() {
    let server = Server::start();
    let token = server.kubectl_ok(&["create", "token", "default", "--duration=10m"]);
    let token = format!("--token={}", token.trim());
    let url = format!("--server=https://{}", server.address);
    let who =
        server.kubectl(&[&url, &token, "--insecure-skip-tls-verify", "--kubeconfig=/dev/null", "get", "namespaces"]);
    assert_eq!(who.code, 0, "{}", who.stderr);
    let forged = format!("{token}x");
    let refused =
        server.kubectl(&[&url, &forged, "--insecure-skip-tls-verify", "--kubeconfig=/dev/null", "get", "namespaces"]);
    assert!(refused.stderr.contains("Unauthorized") || refused.stderr.contains("logged in"), "{}", refused.stderr);
    let short = server.kubectl(&["create", "token", "default", "--duration=1m"]);
    assert!(short.stderr.contains("may not specify a duration less than 10 minutes"), "{}", short.stderr);
}

#[test]
fn bad_input_is_refused_in_words() {
    let server = Server::start();
    server.apply(WEB);
    let rows: [(&[&str], &str, &str); 8] = [
        (
            &["create", "-f", "-"],
            &WEB.replace("image: nginx", "imag: nginx"),
            "unknown field \"spec.containers[0].imag\"",
        ),
        (&["create", "-f", "-"], WEB, "pods \"web\" already exists"),
        (&["create", "-f", "-"], &WEB.replace("name: web,", "name: Web_1,"), "metadata.name: Invalid value: \"Web_1\""),
        (&["create", "--validate=false", "-f", "-"], &WEB.replace("[{name: c", "[{name: 5"), "expected a string"),
        (&["replace", "-f", "-"], &WEB.replace("name: web,", "name: none,"), "pods \"none\" not found"),
        (&["patch", "pod", "web", "--type=json", "-p", "[{}]"], "", "the server rejected our request"),
        (&["get", "pods", "--field-selector", "spec.color=red"], "", "field label not supported: spec.color"),
        (&["get", "pods", "-l", "a=b=c"], "", "unable to parse"),
    ];
    for (arguments, input, expected) in rows {
        let run = server.kubectl_reading(input, arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}
