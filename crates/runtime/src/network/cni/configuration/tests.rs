//! Which configuration is found, and what plugins are told.

use serde_json::json;

use super::*;

const LIST: &str = r#"{"cniVersion": "1.0.0", "name": "net",
        "plugins": [{"type": "bridge", "capabilities": {"portMappings": true}}]}"#;

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn found(files: &[(&str, &str)]) -> Result<Option<Configuration>, ConfigurationError> {
    Configuration::find(directory(files).path())
}

#[test]
fn no_file_means_no_cni_network() {
    assert_eq!(found(&[]).unwrap(), None);
    assert_eq!(found(&[("readme.txt", LIST)]).unwrap(), None);
    assert_eq!(Configuration::find(Path::new("/nonexistent/net.d")).unwrap(), None);
}

#[test]
fn the_first_valid_file_in_the_order_of_names_counts() {
    let second = LIST.replace("\"net\"", "\"second\"");
    let files = [("20.conflist", second.as_str()), ("10.conflist", "{"), ("30.conflist", LIST)];
    assert_eq!(found(&files).unwrap().unwrap().name(), "second");
}

#[test]
fn a_file_of_one_plugin_is_a_chain_of_one() {
    let single = r#"{"cniVersion": "0.4.0", "name": "one", "type": "ptp", "mtu": 1400}"#;
    let configuration = found(&[("a.conf", single)]).unwrap().unwrap();
    assert_eq!(configuration.plugins().len(), 1);
    assert_eq!(configuration.plugins()[0]["mtu"], 1400);
}

#[test]
fn only_bad_files_are_an_error_that_names_the_first_problem() {
    for (text, reason) in [
        ("{", "not JSON"),
        ("[]", "no JSON object"),
        (r#"{"plugins": [{"type": "a"}]}"#, "no valid name"),
        (r#"{"name": "n", "cniVersion": "9.9.9", "plugins": [{"type": "a"}]}"#, "cniVersion \"9.9.9\""),
        (r#"{"name": "n", "plugins": []}"#, "1 to 32 plugins"),
        (r#"{"name": "n", "plugins": {}}"#, "no list"),
        (r#"{"name": "n", "plugins": [{"type": "../../bin/sh"}]}"#, "no type of a plugin"),
        (r#"{"name": "n"}"#, "no type"),
    ] {
        let error = found(&[("a.conflist", text), ("b.conflist", "{")]).unwrap_err().to_string();
        assert!(error.contains("a.conflist") && error.contains(reason), "{text}: {error}");
    }
    let huge = format!("{}{LIST}", " ".repeat(MAX_FILE_BYTES as usize));
    assert!(found(&[("a.conflist", &huge)]).unwrap_err().to_string().contains("larger"));
}

#[test]
fn a_plugin_is_told_only_what_it_declares_to_understand() {
    let configuration = Configuration::parse(&serde_json::from_str(LIST).unwrap()).unwrap();
    let capabilities = json!({"portMappings": [1], "dns": {"servers": []}});
    let previous = json!({"ips": []});
    let input = configuration.input(&configuration.plugins()[0], capabilities.as_object().unwrap(), Some(&previous));
    assert_eq!(
        input,
        json!({
            "type": "bridge", "name": "net", "cniVersion": "1.0.0",
            "runtimeConfig": {"portMappings": [1]}, "prevResult": {"ips": []},
        })
    );
}

#[test]
fn old_versions_are_not_told_their_result_at_the_end() {
    let tells = |version: &str| {
        let list = LIST.replace("1.0.0", version);
        Configuration::parse(&serde_json::from_str(&list).unwrap()).unwrap().tells_result_at_the_end()
    };
    assert_eq!(VERSIONS.map(tells), [false, false, true, true, true]);
}
