"""What programs written with the official client library do with a server; KUBECONFIG says which.

Each function is one test, run by tests/tests/python_client.rs: it raises if something is not as it must be.
"""

import json
import os
import sys
import tempfile

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "default"


def config_map(name, value="v", **labels):
    metadata = client.V1ObjectMeta(name=name, labels=labels or None)
    return client.V1ConfigMap(metadata=metadata, data={"value": value})


def pod(name, node=None):
    container = client.V1Container(name="c", image="i", ports=[client.V1ContainerPort(container_port=80)])
    spec = client.V1PodSpec(containers=[container], node_name=node)
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name, labels={"app": "web"}), spec=spec)


def deployment(name, replicas):
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": name}),
        spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="i")]),
    )
    selector = client.V1LabelSelector(match_labels={"app": name})
    spec = client.V1DeploymentSpec(replicas=replicas, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


def refusal(call, *arguments, **options):
    """The status with which the server refuses a call, and the body that says why."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        body = json.loads(error.body)
        assert body["kind"] == "Status" and body["status"] == "Failure", body
        assert body["code"] == error.status, body
        return error.status, body
    raise AssertionError(f"{call.__name__}{arguments} was not refused")


def names(listed):
    return [item.metadata.name for item in listed.items]


def create_and_list():
    core = client.CoreV1Api()
    for name, tier in [("a", "front"), ("b", "back"), ("c", "front")]:
        made = core.create_namespaced_config_map(NAMESPACE, config_map(name, tier=tier))
        assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo is not None, made
    assert core.read_namespaced_config_map("a", NAMESPACE).data == {"value": "v"}
    selected = {"tier=front": ["a", "c"], "tier!=front,tier": ["b"], "tier in (back,none)": ["b"], "!tier": []}
    for selector, expected in selected.items():
        found = names(core.list_namespaced_config_map(NAMESPACE, label_selector=selector))
        assert [name for name in found if name != "kube-root-ca.crt"] == expected, (selector, found)
    assert names(core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=b")) == ["b"]
    everywhere = core.list_config_map_for_all_namespaces(label_selector="tier")
    assert names(everywhere) == ["a", "b", "c"], everywhere
    core.create_namespaced_pod(NAMESPACE, pod("web", node="n"))
    assert names(core.list_pod_for_all_namespaces(field_selector="spec.nodeName=n")) == ["web"]
    core.create_namespaced_config_map(NAMESPACE, config_map("dry"), dry_run="All")
    assert refusal(core.read_namespaced_config_map, "dry", NAMESPACE)[0] == 404
    made = core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata={"generateName": "some-"}))
    assert made.metadata.name.startswith("some-") and len(made.metadata.name) > len("some-"), made
    assert client.VersionApi().get_code().major == "1"


def pages():
    core = client.CoreV1Api()
    expected = [f"m{count}" for count in range(7)]
    for name in expected:
        core.create_namespaced_config_map(NAMESPACE, config_map(name, paged="yes"))
    found, token = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="paged", limit=3, _continue=token)
        assert len(page.items) <= 3, page
        found += names(page)
        token = page.metadata._continue
        if not token:
            break
    assert found == expected, found


def watching():
    core = client.CoreV1Api()
    listed = core.list_namespaced_config_map(NAMESPACE)
    core.create_namespaced_config_map(NAMESPACE, config_map("a"))
    core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"value": "w"}})
    core.delete_namespaced_config_map("a", NAMESPACE)
    options = {"resource_version": listed.metadata.resource_version, "timeout_seconds": 1}
    events = list(watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, **options))
    told = [(event["type"], event["object"].metadata.name) for event in events]
    assert told == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")], told
    versions = [int(event["object"].metadata.resource_version) for event in events]
    assert versions == sorted(set(versions)), versions
    # Without a version, a watch begins with what is there.
    events = list(watch.Watch().stream(core.list_namespace, timeout_seconds=1))
    found = {event["object"].metadata.name for event in events if event["type"] == "ADDED"}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= found, found


def patches():
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    core.create_namespaced_config_map(NAMESPACE, config_map("a"))
    core.patch_namespaced_config_map("a", NAMESPACE, [{"op": "add", "path": "/data/json", "value": "1"}])
    merged = core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"value": None, "merged": "1"}})
    assert merged.data == {"json": "1", "merged": "1"}, merged
    apps.create_namespaced_deployment(NAMESPACE, deployment("d", 2))
    containers = [{"name": "side", "image": "s"}]
    strategic = {"spec": {"template": {"spec": {"containers": containers}}}}
    patched = apps.patch_namespaced_deployment(
        "d", NAMESPACE, strategic, _content_type="application/strategic-merge-patch+json"
    )
    assert {c.name for c in patched.spec.template.spec.containers} == {"c", "side"}, patched
    patched = apps.patch_namespaced_deployment("d", NAMESPACE, strategic, _content_type="application/merge-patch+json")
    assert [c.name for c in patched.spec.template.spec.containers] == ["side"], patched
    assert patched.metadata.generation == 3, patched
    status, body = refusal(core.patch_namespaced_config_map, "a", NAMESPACE, [{"op": "test", "path": "/x", "value": 1}])
    assert status in (400, 422), body


def deletes():
    core = client.CoreV1Api()
    core.create_namespaced_pod(NAMESPACE, pod("web", node="n"))
    marked = core.delete_namespaced_pod("web", NAMESPACE, grace_period_seconds=20)
    assert marked.metadata.deletion_grace_period_seconds == 20, marked
    body = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other"))
    assert refusal(core.delete_namespaced_pod, "web", NAMESPACE, body=body)[0] == 409
    assert core.read_namespaced_pod("web", NAMESPACE).metadata.deletion_timestamp
    body = client.V1DeleteOptions(grace_period_seconds=0, propagation_policy="Background")
    core.delete_namespaced_pod("web", NAMESPACE, body=body)
    assert refusal(core.read_namespaced_pod, "web", NAMESPACE)[0] == 404
    for name in ["a", "b", "c"]:
        core.create_namespaced_config_map(NAMESPACE, config_map(name, kept="yes" if name == "b" else "no"))
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="kept=no")
    assert names(core.list_namespaced_config_map(NAMESPACE, label_selector="kept")) == ["b"]
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="shop")))
    core.delete_namespace("shop")


def subresources():
    core, apps, policy = client.CoreV1Api(), client.AppsV1Api(), client.PolicyV1Api()
    core.create_namespaced_pod(NAMESPACE, pod("web"))
    target = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="web"), target=target)
    core.create_namespaced_pod_binding("web", NAMESPACE, binding, _preload_content=False)
    assert core.read_namespaced_pod("web", NAMESPACE).spec.node_name == "n"
    again = refusal(core.create_namespaced_pod_binding, "web", NAMESPACE, binding)
    assert again[0] == 409, again
    condition = {"type": "Ready", "status": "True"}
    status = {"status": {"phase": "Running", "conditions": [condition]}, "metadata": {"labels": {"ignored": "x"}}}
    patched = core.patch_namespaced_pod_status("web", NAMESPACE, status)
    assert patched.status.phase == "Running" and patched.metadata.generation == 1, patched
    apps.create_namespaced_deployment(NAMESPACE, deployment("d", 2))
    assert apps.read_namespaced_deployment_scale("d", NAMESPACE).spec.replicas == 2
    scaled = apps.patch_namespaced_deployment_scale("d", NAMESPACE, {"spec": {"replicas": 5}})
    assert scaled.spec.replicas == 5, scaled
    assert apps.read_namespaced_deployment("d", NAMESPACE).spec.replicas == 5
    budget = client.V1PodDisruptionBudget(
        metadata=client.V1ObjectMeta(name="b"),
        spec=client.V1PodDisruptionBudgetSpec(
            min_available=1, selector=client.V1LabelSelector(match_labels={"app": "web"})
        ),
    )
    policy.create_namespaced_pod_disruption_budget(NAMESPACE, budget)
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="web", namespace=NAMESPACE))
    code, body = refusal(core.create_namespaced_pod_eviction, "web", NAMESPACE, eviction)
    assert (code, body["reason"]) == (429, "TooManyRequests"), body
    policy.delete_namespaced_pod_disruption_budget("b", NAMESPACE)
    core.create_namespaced_pod_eviction("web", NAMESPACE, eviction)
    assert core.read_namespaced_pod("web", NAMESPACE).metadata.deletion_timestamp
    spec = client.V1TokenRequestSpec(audiences=[], expiration_seconds=600)
    request = client.AuthenticationV1TokenRequest(spec=spec)
    issued = core.create_namespaced_service_account_token("default", NAMESPACE, request)
    assert issued.status.token.count(".") == 2, issued


def refusals():
    core = client.CoreV1Api()
    code, body = refusal(core.read_namespaced_config_map, "none", NAMESPACE)
    assert (code, body["reason"], body["message"]) == (404, "NotFound", 'configmaps "none" not found'), body
    assert body["details"] == {"name": "none", "kind": "configmaps"}, body
    made = core.create_namespaced_config_map(NAMESPACE, config_map("a"))
    code, body = refusal(core.create_namespaced_config_map, NAMESPACE, config_map("a"))
    assert (code, body["reason"]) == (409, "AlreadyExists"), body
    core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"value": "w"}})
    code, body = refusal(core.replace_namespaced_config_map, "a", NAMESPACE, made)
    assert (code, body["reason"]) == (409, "Conflict"), body
    code, body = refusal(core.create_namespaced_config_map, NAMESPACE, config_map("Not_A_Name"))
    assert (code, body["reason"]) == (422, "Invalid"), body
    assert body["details"]["causes"][0]["field"] == "metadata.name", body
    code, body = refusal(core.create_namespaced_config_map, "nowhere", config_map("a"))
    assert (code, body["message"]) == (404, 'namespaces "nowhere" not found'), body
    code, body = refusal(core.list_namespaced_config_map, NAMESPACE, label_selector="a=b=c")
    assert (code, body["reason"]) == (400, "BadRequest"), body
    nobody = client.Configuration.get_default_copy()
    nobody.cert_file, nobody.key_file, nobody.api_key = None, None, {"authorization": "Bearer nonsense"}
    code, body = refusal(client.CoreV1Api(client.ApiClient(nobody)).list_namespace)
    assert (code, body["reason"]) == (401, "Unauthorized"), body


MANIFEST = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: "no"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


def from_yaml():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "shop.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MANIFEST)
        utils.create_from_yaml(client.ApiClient(), path)
        assert client.CoreV1Api().read_namespaced_config_map("settings", "shop").data == {"color": "no"}
        assert client.AppsV1Api().read_namespaced_deployment("web", "shop").spec.replicas == 3
        try:
            utils.create_from_yaml(client.ApiClient(), path)
        except utils.FailToCreateError as error:
            assert {json.loads(one.body)["reason"] for one in error.api_exceptions} == {"AlreadyExists"}, error
        else:
            raise AssertionError("objects were created twice")


def dynamic_client():
    found = dynamic.DynamicClient(client.ApiClient())
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": "v"}}
    maps.create(body=body, namespace=NAMESPACE)
    assert maps.get(name="a", namespace=NAMESPACE).data.value == "v"
    changed = maps.patch(body={"metadata": {"name": "a"}, "data": {"value": "w"}}, namespace=NAMESPACE)
    assert changed.data.value == "w", changed
    assert [item.metadata.name for item in maps.get(namespace=NAMESPACE, label_selector="none").items] == []
    leases = found.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    assert leases.namespaced


TESTS = {
    "create_and_list": create_and_list,
    "pages": pages,
    "watching": watching,
    "patches": patches,
    "deletes": deletes,
    "subresources": subresources,
    "refusals": refusals,
    "from_yaml": from_yaml,
    "dynamic": dynamic_client,
}

if __name__ == "__main__":
    config.load_kube_config()
    TESTS[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok")
