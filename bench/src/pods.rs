//! Manifests to measure with.

use std::fmt::Write as _;

use model::manifest::{Limits, Workload, read};

/// An ordinary pod: three containers, a native sidecar, hooks, ranks, probes, ports, resources.
pub const ORDINARY: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: default
  labels: {app: shop}
  annotations:
    kruise.io/container-exit-priority: '{"log-agent": 1}'
spec:
  terminationGracePeriodSeconds: 60
  initContainers:
  - name: proxy
    image: registry.example/proxy:1.29
    restartPolicy: Always
    lifecycle:
      preStop: {sleep: {seconds: 5}}
  containers:
  - name: web
    image: registry.example/web:3.1
    ports: [{name: http, containerPort: 8080}]
    env:
    - {name: MODE, value: production}
    resources:
      requests: {cpu: 250m, memory: 256Mi}
      limits: {memory: 512Mi}
    readinessProbe:
      httpGet: {path: /ready, port: http}
    lifecycle:
      preStop:
        exec: {command: [/bin/drain, --wait]}
  - name: cache
    image: registry.example/cache:7
    lifecycle:
      preStop:
        httpGet: {path: /flush, port: 6379}
  - name: log-agent
    image: registry.example/log-agent:2
"#;

/// A pod of this many containers, half of them sidecars, all with something to say; in YAML.
pub fn large(containers: usize) -> String {
    let mut text = String::from(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: large, namespace: default}\nspec:\n  \
         os: {name: linux}\n  terminationGracePeriodSeconds: 600\n",
    );
    let sidecars = containers / 2;
    text.push_str("  initContainers:\n");
    for n in 0..sidecars {
        let _ = write!(text, "  - name: sidecar-{n}\n    restartPolicy: Always\n");
        body(&mut text, n, &format!("preStop: {{sleep: {{seconds: {}}}}}", n % 7));
    }
    text.push_str("  containers:\n");
    for n in 0..containers - sidecars {
        let _ = writeln!(text, "  - name: main-{n}");
        body(&mut text, n, "preStop: {exec: {command: [/bin/drain]}}");
    }
    text
}

fn body(text: &mut String, n: usize, hook: &str) {
    let _ = write!(
        text,
        "    image: registry.example/app:{n}\n    \
         env: [{{name: KRUISE_EXIT_PRIORITY, value: \"{}\"}}, {{name: NUMBER, value: \"{n}\"}}]\n    \
         resources: {{requests: {{cpu: 1m, memory: 1Mi}}}}\n    \
         lifecycle:\n      stopSignal: SIGQUIT\n      {hook}\n",
        n % 50,
    );
}

/// An annotation that ranks this many containers.
pub fn annotation(containers: usize) -> String {
    let entries: Vec<String> = (0..containers).map(|n| format!("\"main-{n}\": {}", n % 50)).collect();
    format!("{{{}}}", entries.join(", "))
}

/// The first pod of a manifest.
pub fn decode(text: &str) -> Box<k8s_openapi::api::core::v1::Pod> {
    let documents = read(text.as_bytes(), &Limits::DEFAULT).unwrap_or_else(|error| panic!("{error}"));
    match documents.into_iter().next().map(|document| document.workload) {
        Some(Workload::Pod(pod)) => pod,
        Some(Workload::Template(_)) | None => panic!("no pod"),
    }
}
