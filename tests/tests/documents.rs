//! Documents say what the software does.

use tests::{eventide, example, root};

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("a document")
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let readme = document("README.md");
    let shown = readme.split("```console").nth(1).expect("a console block").split("```").next().expect("its end");
    let shown: Vec<&str> = shown.trim().lines().skip(1).collect();
    let printed = eventide(&["explain", "-f", &example("sidecar.yaml")]).stdout;
    let printed: Vec<&str> = printed.lines().take(shown.len()).collect();
    assert!(shown.len() > 5);
    assert_eq!(shown, printed);
}

#[test]
fn every_finding_is_explained_to_operators() {
    let operating = document("docs/operating.md");
    let missing: Vec<&str> =
        lifecycle::findings::ids().filter(|id| !operating.contains(&format!("| `{id}` |"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_example_says_in_a_comment_what_it_shows() {
    for file in std::fs::read_dir(root().join("examples")).expect("examples") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(
            text.starts_with("# ") && text.lines().take(2).all(|line| line.starts_with("# ")),
            "{}",
            path.display()
        );
    }
}

#[test]
fn every_gate_is_in_the_operators_table() {
    let operating = document("docs/operating.md");
    for gate in model::gates::Gate::ALL {
        assert!(operating.contains(&format!("| `{gate}` |")), "{gate}");
    }
}
