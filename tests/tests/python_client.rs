//! What programs written with the official Python client do. The program itself is `tests/python/client.py`: each of
//! its functions is one test here, on a server of its own.

use std::process::Command;

use tests::server::Server;
use tests::{part, root};

fn python(function: &str) {
    let server = Server::start();
    let output = Command::new(part("EVENTIDE_PYTHON", "python-kubernetes-37.0/bin/python"))
        .arg(root().join("tests/python/client.py"))
        .arg(function)
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .expect("Python runs");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{said}");
    assert_eq!(said, format!("{function}: ok\n"));
}

#[test]
fn objects_are_created_read_and_listed_with_selectors() {
    python("create_and_list");
}

#[test]
fn a_list_is_read_in_pages() {
    python("pages");
}

#[test]
fn a_watch_tells_what_happens_and_ends() {
    python("watching");
}

#[test]
fn objects_are_patched_in_each_way() {
    python("patches");
}

#[test]
fn objects_are_deleted_with_options() {
    python("deletes");
}

#[test]
fn status_scale_eviction_binding_and_token_are_subresources() {
    python("subresources");
}

#[test]
fn refusals_are_exceptions_with_status_and_reason() {
    python("refusals");
}

#[test]
fn a_file_of_several_objects_is_created() {
    python("from_yaml");
}

#[test]
fn any_kind_is_found_by_discovery() {
    python("dynamic");
}
