//! Command, environment, working directory, stop signal, exec.

use cri::v1::{KeyValue, LinuxContainerResources};

use super::*;

fn variable(key: &str, value: &[u8]) -> KeyValue {
    KeyValue { key: key.to_owned(), value: value.to_vec() }
}

#[test]
fn the_command_replaces_the_images_as_kubernetes_says() {
    let rows: [(&[&str], &[&str], &[&str]); 4] = [
        (&[], &[], &["/entry", "cmd"]),
        (&[], &["arg"], &["/entry", "arg"]),
        (&["/own"], &[], &["/own"]),
        (&["/own"], &["arg"], &["/own", "arg"]),
    ];
    for (command, args, expected) in rows {
        let mut draft = Draft::new();
        draft.image.entrypoint = texts(&["/entry"]);
        draft.image.cmd = texts(&["cmd"]);
        (draft.config.command, draft.config.args) = (texts(command), texts(args));
        assert_eq!(process(&draft.build()).args().clone().unwrap(), expected);
    }
    let mut draft = Draft::new();
    draft.config.command.clear();
    assert!(draft.refusal().1.contains("no command"));
}

#[test]
fn the_pods_variables_win_over_the_images() {
    let mut draft = Draft::new();
    draft.config.tty = true;
    draft.image.env = texts(&["A=image", "B=image", "PATH=/opt", "broken", "=x"]);
    draft.config.envs = vec![variable("A", b"pod"), variable("C", b"1=2"), variable("C", b"last"), variable("E", b"")];
    let expected = ["PATH=/opt", "HOSTNAME=pod-1", "TERM=xterm", "A=pod", "B=image", "C=last", "E=", "HOME=/root"]
        .map(str::to_owned);
    let built = draft.build();
    assert_eq!(process(&built).env().clone().unwrap(), expected);
    assert_eq!(process(&built).terminal(), Some(true));
    let plain = Draft::new().build();
    let plain = process(&plain).env().clone().unwrap();
    assert!(plain[0].starts_with("PATH=/usr/local/sbin:") && !plain.iter().any(|pair| pair.starts_with("TERM=")));
}

#[test]
fn variables_that_no_process_can_have_are_refused() {
    let rows = [
        (variable("", b"x"), "\"\""),
        (variable("A=B", b"x"), "A=B"),
        (variable("A", b"\0"), "zero"),
        (variable("A", b"\xff"), "UTF-8"),
    ];
    for (pair, reason) in rows {
        let mut draft = Draft::new();
        draft.config.envs = vec![pair];
        let (kind, text) = draft.refusal();
        assert!(kind == ErrorKind::Invalid && text.starts_with("envs") && text.contains(reason), "{text}");
    }
}

#[test]
fn the_working_directory_is_the_pods_or_the_images() {
    for (pod, image, expected) in [("", "", "/"), ("", "/srv", "/srv"), ("", "srv", "/srv"), ("/own", "/srv", "/own")] {
        let mut draft = Draft::new();
        draft.config.working_dir = pod.to_owned();
        draft.image.working_dir = image.to_owned();
        assert_eq!(process(&draft.build()).cwd(), Path::new(expected));
    }
    let mut draft = Draft::new();
    draft.config.working_dir = "relative".to_owned();
    assert!(draft.refusal().1.contains("relative"));
}

#[test]
fn the_stop_signal_is_the_pods_the_images_or_sigterm() {
    use lifecycle::stop::SignalOrigin;
    let usr1 = cri::StopSignal::named("SIGUSR1").unwrap().to_cri();
    let rows = [
        (0, "", "SIGTERM", SignalOrigin::Default, 0),
        (0, "SIGRTMIN+3", "SIGRTMIN+3", SignalOrigin::Image, 0),
        (0, "SIGFOO", "SIGTERM", SignalOrigin::Default, 1),
        (usr1, "SIGQUIT", "SIGUSR1", SignalOrigin::Spec, 0),
    ];
    for (number, image, expected, origin, notes) in rows {
        let mut draft = Draft::new();
        draft.config.stop_signal = number;
        draft.image.stop_signal = image.to_owned();
        let built = draft.build();
        assert_eq!((built.stop_signal.signal.name(), built.stop_signal.origin), (expected, origin));
        assert_eq!(built.notes.len(), notes, "{:?}", built.notes);
    }
    let mut draft = Draft::new();
    draft.config.stop_signal = 999;
    let (kind, text) = draft.refusal();
    assert!(kind == ErrorKind::Invalid && text.contains("999"), "{text}");
}

#[test]
fn an_oom_score_that_may_not_be_set_is_raised() {
    for (own, asked, expected, notes) in
        [(OomScore::Free, -997, -997, 0), (OomScore::AtLeast(0), -997, 0, 1), (OomScore::AtLeast(-5), 3, 3, 0)]
    {
        let mut draft = Draft::new();
        draft.machine.oom_score = own;
        draft.linux().resources = Some(LinuxContainerResources { oom_score_adj: asked, ..Default::default() });
        let built = draft.build();
        assert_eq!(process(&built).oom_score_adj(), Some(expected));
        assert_eq!(built.notes.len(), notes, "{:?}", built.notes);
    }
    let mut draft = Draft::new();
    draft.linux().resources = Some(LinuxContainerResources { oom_score_adj: 1001, ..Default::default() });
    assert!(draft.refusal().1.contains("1001"));
}

#[test]
fn one_more_process_is_like_the_first() {
    let mut draft = Draft::new();
    draft.config.working_dir = "/srv".to_owned();
    draft.security().no_new_privs = true;
    draft.security().run_as_username = "web".to_owned();
    let built = draft.build();
    let exec = exec_process(&built.spec, &texts(&["sh", "-c", "true"]), Terminal::Attached).unwrap();
    let first = process(&built);
    assert_eq!(exec.args().clone().unwrap(), ["sh", "-c", "true"]);
    assert_eq!((exec.user(), exec.cwd(), exec.capabilities()), (first.user(), first.cwd(), first.capabilities()));
    assert_eq!((exec.no_new_privileges(), exec.terminal(), exec.oom_score_adj()), (Some(true), Some(true), None));
    assert!(exec.env().clone().unwrap().contains(&"TERM=xterm".to_owned()));
    let plain = exec_process(&built.spec, &texts(&["ls"]), Terminal::None).unwrap();
    assert_eq!((plain.env(), plain.terminal()), (first.env(), Some(false)));
    assert!(matches!(exec_process(&built.spec, &[], Terminal::None), Err(SpecError::NoCommand)));
}
