//! `eventide image` as people use it: archives, a real registry, and a runtime that has the images open. Needs root,
//! as unpacking does.

#[path = "../../../crates/runtime/tests/images/registry.rs"]
mod registry;
mod runtime_endpoint;
mod scene;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use runtime::images::{HostImage, Images};
use tests::{binary, eventide, eventide_reading};

use scene::{Scene, archive, push};

#[test]
fn an_archive_is_loaded_listed_and_removed() {
    let scene = Scene::new();
    let file = scene.file("app.tar", &archive(&["localhost/app:1", "localhost/other:1"]));
    let loaded = scene.image(&["load", &file]);
    assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    let lines: Vec<&str> = loaded.stdout.lines().collect();
    assert!(lines[0].starts_with("sha256:") && lines[0].ends_with(" localhost/app:1"), "{lines:?}");
    assert!(!loaded.stderr.contains('\x1b'), "no terminal, no drawing: {:?}", loaded.stderr);

    let listed = scene.image(&["ls", "-o", "json"]).json();
    let images = listed["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    assert!(images.iter().all(|image| image["size"].as_u64() > Some(0) && image["pinned"] == false), "{listed}");
    let table = scene.image(&["ls"]).stdout;
    assert!(table.starts_with("NAME ") && table.contains("localhost/other:1 "), "{table}");

    let id = lines[0].split(' ').next().unwrap();
    assert_eq!(scene.image(&["rm", "localhost/other:1", id]).code, 0);
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn an_archive_comes_from_standard_input_and_gets_a_name() {
    let scene = Scene::new();
    let data_dir = scene.data_dir();
    let tagged = archive(&["v1"]);
    let nameless = eventide_reading(&tagged, &["image", "load", "-", "--data-dir", &data_dir]);
    assert!(nameless.code == 0 && nameless.stdout.contains("--name"), "{} {}", nameless.stdout, nameless.stderr);
    let arguments = ["image", "load", "-", "--name", "registry.example/app", "--data-dir", &data_dir];
    let loaded = eventide_reading(&tagged, &arguments);
    assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    assert_eq!(scene.names(), ["registry.example/app:v1"]);
}

#[test]
fn what_cannot_be_loaded_is_named_and_leaves_nothing() {
    let scene = Scene::new();
    let whole = archive(&["localhost/app:1"]);
    let rows = [("half.tar", &whole[..whole.len() / 2]), ("text.tar", &b"no archive"[..]), ("empty.tar", &b""[..])];
    for (name, content) in rows {
        let file = scene.file(name, content);
        let refused = scene.image(&["load", &file]);
        assert!(refused.code == 1 && refused.stderr.contains(&file), "{name}: {}", refused.stderr);
    }
    let missing = scene.image(&["load", "/nowhere/app.tar"]);
    assert!(missing.code == 1 && missing.stderr.contains("/nowhere/app.tar"), "{}", missing.stderr);
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn an_image_is_pulled_from_a_registry_and_from_its_mirror() {
    let (scene, registry) = (Scene::new(), registry::Registry::start());
    push(&registry, "team/app", "1", &archive(&["localhost/app:1"]));
    let name = registry.name("team/app:1");
    let pulled = scene.image(&["pull", &name]);
    assert_eq!(pulled.code, 0, "{}", pulled.stderr);
    assert!(pulled.stdout.starts_with("sha256:") && pulled.stdout.ends_with(&format!(" {name}\n")));
    assert!(pulled.stderr.contains(" done\n") && !pulled.stderr.contains('\x1b'), "{:?}", pulled.stderr);
    let mirror = format!("registry.invalid=http://{}", registry.address);
    let pulled = scene.image(&["pull", "registry.invalid/team/app:1", "--mirror", &mirror]);
    assert_eq!(pulled.code, 0, "{}", pulled.stderr);
    assert_eq!(scene.names(), [name.as_str(), "registry.invalid/team/app:1"]);
    let missing = scene.image(&["pull", &registry.name("team/none:1")]);
    assert!(missing.code == 1 && missing.stderr.contains("not found"), "{}", missing.stderr);
    assert_eq!(scene.image(&["pull", "No/Name"]).code, 2);
}

#[test]
fn a_password_comes_from_standard_input_and_is_never_shown() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("{}/app:1", listener.local_addr().unwrap());
    // It asks who is there, and refuses whatever the answer is.
    let heads = std::thread::spawn(move || {
        [(); 2].map(|()| {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let length = client.read(&mut head).unwrap();
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\
                          Connection: close\r\n\r\n";
            client.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&head[..length]).into_owned()
        })
    });
    let data_dir = scene.data_dir();
    let arguments = [
        "image",
        "pull",
        &name,
        "--username",
        "me",
        "--password-stdin",
        "--data-dir",
        &data_dir,
        "--log-level",
        "trace",
    ];
    let refused = eventide_reading(b"secret\n", &arguments);
    let [first, second] = heads.join().unwrap();
    assert!(!first.contains("bWU6c2VjcmV0") && second.contains("Basic bWU6c2VjcmV0"), "{first} {second}");
    assert!(refused.code == 1 && refused.stderr.contains("refuses"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("secret") && !refused.stderr.contains("bWU6c2VjcmV0"), "{}", refused.stderr);
    let empty = eventide_reading(b"", &arguments);
    assert!(empty.code == 2 && empty.stderr.contains("--password-stdin"), "{}", empty.stderr);
}

#[test]
fn an_image_that_is_missing_or_in_use_is_not_removed() {
    let scene = Scene::new();
    scene.image(&["load", &scene.file("app.tar", &archive(&["localhost/app:1"]))]);
    let images = Images::open(&scene.images(), HostImage::Refused).unwrap();
    images.snapshot("localhost/app:1", "container-1").unwrap();
    drop(images);
    let kept = scene.image(&["rm", "localhost/none:1", "localhost/app:1"]);
    assert_eq!(kept.code, 1);
    assert!(kept.stderr.contains("\"localhost/none:1\" is not here"), "{}", kept.stderr);
    assert!(kept.stderr.contains("\"localhost/app:1\" is in use") && kept.stderr.contains("container-1"));
    assert_eq!(scene.names(), ["localhost/app:1"]);
}

#[test]
fn on_a_terminal_progress_is_drawn() {
    let scene = Scene::new();
    let file = scene.file("app.tar", &archive(&["localhost/app:1"]));
    let command = format!("{} image load {file} --data-dir {}", binary().display(), scene.data_dir());
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output().expect("script runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("\x1b[1A")
            && shown.contains(" of ")
            && shown.contains(" done")
            && shown.contains("localhost/app:1"),
        "{shown:?}"
    );
}

#[test]
fn every_verb_has_help_with_an_example() {
    for verb in [&["image"][..], &["image", "load"], &["image", "pull"], &["image", "ls"], &["image", "rm"]] {
        let help = eventide(&[verb, &["--help"]].concat());
        assert!(help.code == 0 && help.stdout.contains("Example"), "{verb:?}: {}", help.stdout);
    }
}
