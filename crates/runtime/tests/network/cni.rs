//! CNI: chains of plugins, Debian's own and hostile ones.

use std::fs;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use runtime::network::{Bandwidth, Network, Protocol, Provider};

use super::host::{HOST, Host, ask_tcp, on_a_host, port, serve_tcp};

fn records(host: &Host) -> usize {
    fs::read_dir(host.directory.join("state/attachments")).unwrap().count()
}

#[test]
fn a_chain_runs_forwards_with_results_and_backwards_after_a_restart() {
    on_a_host(async |host| {
        host.recording_plugin("first");
        host.recording_plugin("second");
        host.configure_chain("chained", &["first", "second"]);
        let network = host.network();
        assert_eq!(network.status().unwrap(), Provider::Cni { network: "chained".to_owned() });
        let attached = network.attach(&host.sandbox("pod")).await.unwrap();
        assert_eq!(attached.addresses[0].to_string(), "10.9.9.9");
        drop(network);
        // The network that the sandbox is in counts, not the one that came later.
        host.configure_chain("later", &["missing"]);
        let network = host.network();
        assert_eq!(network.addresses("pod").unwrap(), attached.addresses);
        network.detach("pod").await.unwrap();
        network.detach("pod").await.unwrap();
        let calls = host.calls();
        let order: Vec<String> =
            calls.iter().map(|call| call.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(order, ["first ADD", "second ADD", "second DEL", "first DEL"]);
        assert!(!calls[0].contains("prevResult"), "{}", calls[0]);
        assert!(calls[1].contains(r#""by":"first""#), "{}", calls[1]);
        assert!(calls[2].contains(r#""by":"second""#), "{}", calls[2]);
        let arguments = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-pod;\
                         K8S_POD_INFRA_CONTAINER_ID=pod;K8S_POD_UID=uid-pod";
        assert!(calls.iter().all(|call| call.contains(arguments) && call.contains(" pod eth0 /")), "{calls:?}");
        assert_eq!(records(host), 0);
    });
}

#[test]
fn only_declared_capabilities_reach_a_plugin() {
    on_a_host(async |host| {
        host.recording_plugin("able");
        host.recording_plugin("unable");
        let able = json!({ "type": "able", "capabilities": { "portMappings": true, "bandwidth": true, "dns": false } });
        let list = json!({ "cniVersion": "0.4.0", "name": "n", "plugins": [able, { "type": "unable" }] });
        host.configure("a.conflist", &list);
        let mut sandbox = host.sandbox("pod");
        sandbox.ports = vec![port(Protocol::Udp, 53, 5353)];
        sandbox.bandwidth = Bandwidth { ingress_bits: Some(1_000_000), egress_bits: None };
        sandbox.dns = Some(Default::default());
        host.network().attach(&sandbox).await.unwrap();
        let calls = host.calls();
        let ports = r#""portMappings":[{"containerPort":5353,"hostIP":"","hostPort":53,"protocol":"udp"}]"#;
        assert!(calls[0].contains(ports), "{}", calls[0]);
        assert!(calls[0].contains(r#""bandwidth":{"ingressBurst":2147483647,"ingressRate":1000000}"#), "{}", calls[0]);
        assert!(!calls[0].contains("capabilities") && !calls[0].contains("\"dns\""), "{}", calls[0]);
        assert!(!calls[1].contains("runtimeConfig"), "{}", calls[1]);
    });
}

#[test]
fn a_plugin_that_does_not_behave_is_a_clear_error_and_is_undone() {
    let huge = "head -c 3000000 /dev/zero";
    for (script, said) in [
        (r#"echo '{"code": 7, "msg": "no room", "details": "all taken"}'; exit 1"#, "no room: all taken"),
        ("echo 'cannot open shared object' >&2; exit 127", "cannot open shared object"),
        ("echo garbage", "garbage"),
        ("true", "no JSON object"),
        ("echo '{}'", "no address"),
        (huge, "more than 1048576 bytes"),
        ("head -c 3000000 /dev/zero >&2; exit 3", "exit status: 3"),
        ("kill -9 $$", "signal: 9"),
    ] {
        on_a_host(async |host| {
            host.recording_plugin("good");
            host.plugin("bad", &format!("[ \"$CNI_COMMAND\" = DEL ] && exit 0\n{script}"));
            host.configure_chain("n", &["good", "bad"]);
            let refused = host.network().attach(&host.sandbox("pod")).await.unwrap_err().to_string();
            assert!(refused.contains(said), "{script}: {refused}");
            assert!(host.calls().last().unwrap().starts_with("good DEL"), "{script}: {:?}", host.calls());
            assert_eq!(records(host), 0, "{script}");
        });
    }
}

#[test]
fn a_missing_plugin_is_named_with_where_it_was_sought() {
    on_a_host(async |host| {
        host.configure_chain("n", &["nowhere"]);
        let refused = host.network().attach(&host.sandbox("pod")).await.unwrap_err().to_string();
        assert!(refused.contains("nowhere") && refused.contains("/usr/lib/cni"), "{refused}");
    });
}

#[test]
fn a_plugin_that_hangs_is_killed_with_its_children() {
    on_a_host(async |host| {
        // The child holds the pipes open, and a lock file shows whether it still lives.
        let held = host.directory.join("held");
        let fifo = host.directory.join("fifo");
        host.plugin(
            "hangs",
            &format!(
                "[ \"$CNI_COMMAND\" = DEL ] && exit 0\nmkfifo {fifo}\n(read line < {fifo}) &\necho $! > {held}\nwait",
                fifo = fifo.display(),
                held = held.display()
            ),
        );
        host.configure_chain("n", &["hangs"]);
        let mut settings = host.settings();
        settings.cni.timeout = Duration::from_millis(500);
        let network = Network::open(settings).unwrap();
        let started = Instant::now();
        let refused = network.attach(&host.sandbox("pod")).await.unwrap_err().to_string();
        assert!(refused.contains("took longer than 500ms"), "{refused}");
        assert!(started.elapsed() < Duration::from_secs(10));
        let child = fs::read_to_string(&held).unwrap().trim().parse().unwrap();
        assert_ends(Pid::from_raw(child).unwrap());
    });
}

/// Waits for the end of a process that someone killed; it may be over already.
fn assert_ends(process: Pid) {
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return };
    let mut event = [PollFd::new(&handle, PollFlags::IN)];
    let bound = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut event, Some(&bound)).unwrap(), 1, "the process {process:?} lives");
}

#[test]
fn what_cannot_be_undone_is_kept_and_tried_again_at_the_next_start() {
    on_a_host(async |host| {
        host.recording_plugin("good");
        let broken = host.directory.join("broken");
        fs::write(&broken, "").unwrap();
        let script = format!(
            "if [ \"$CNI_COMMAND\" = DEL ]; then [ -e {} ] && exit 1; exit 0; fi\n\
             echo '{{\"ips\": [{{\"address\": \"10.9.9.9/24\"}}]}}'",
            broken.display()
        );
        host.plugin("stubborn", &script);
        host.configure_chain("n", &["good", "stubborn"]);
        let network = host.network();
        network.attach(&host.sandbox("pod")).await.unwrap();
        let refused = network.detach("pod").await.unwrap_err().to_string();
        assert!(refused.contains("stubborn") && refused.contains("DEL"), "{refused}");
        assert!(host.calls().last().unwrap().starts_with("good DEL"), "the others are undone");
        assert_eq!(records(host), 1);
        fs::remove_file(broken).unwrap();
        runtime::namespaces::unpin(&host.pins("pod")).unwrap();
        host.network().reconcile(&[]).await.unwrap();
        assert_eq!(records(host), 0);
        assert!(host.calls().last().unwrap().contains(" eth0 none "), "the namespace is gone: {:?}", host.calls());
    });
}

#[test]
fn a_configuration_counts_from_when_it_appears_until_it_goes() {
    on_a_host(async |host| {
        let network = host.network();
        network.attach(&host.sandbox("before")).await.unwrap();
        host.recording_plugin("good");
        host.configure_chain("n", &["good"]);
        network.attach(&host.sandbox("during")).await.unwrap();
        host.configure("10.conflist", &json!({ "name": "bad" }));
        let refused = network.status().unwrap_err().to_string();
        assert!(refused.contains("no type"), "{refused}");
        network.attach(&host.sandbox("refused")).await.unwrap_err();
        fs::remove_file(host.directory.join("net.d/10.conflist")).unwrap();
        assert!(matches!(network.status().unwrap(), Provider::Bridge { .. }));
        for id in ["before", "during"] {
            network.detach(id).await.unwrap();
        }
        network.settle().await.unwrap();
        assert_eq!(host.calls().len(), 2);
        assert_eq!(records(host), 0);
    });
}

/// Debian's plugins, with all that they keep inside the host of the test.
fn debian_bridge(host: &Host) {
    let addresses = json!({
        "type": "host-local",
        "dataDir": host.directory.join("host-local"),
        "ranges": [[{ "subnet": "10.77.0.0/24" }]],
        "routes": [{ "dst": "0.0.0.0/0" }],
    });
    let bridge = json!({ "type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": addresses });
    let portmap = json!({ "type": "portmap", "capabilities": { "portMappings": true } });
    host.configure("10.conflist", &json!({ "cniVersion": "0.4.0", "name": "debian", "plugins": [bridge, portmap] }));
}

#[test]
fn debians_plugins_give_addresses_and_ports_and_take_them_back() {
    on_a_host(async |host| {
        debian_bridge(host);
        let (network, neighbour) = (host.network(), host.neighbour());
        let (mut web, other) = (host.sandbox("web"), host.sandbox("other"));
        web.ports = vec![port(Protocol::Tcp, 8080, 80)];
        let attached = network.attach(&web).await.unwrap();
        network.attach(&other).await.unwrap();
        let address = attached.addresses[0];
        assert!(address.to_string().starts_with("10.77.0."), "{address}");
        serve_tcp(&web.netns, 80, "web");
        assert_eq!(ask_tcp(Some(&other.netns), &format!("{address}:80")).unwrap(), "web");
        assert_eq!(ask_tcp(None, &format!("{address}:80")).unwrap(), "web");
        assert_eq!(ask_tcp(Some(&neighbour), &format!("{HOST}:8080")).unwrap(), "web");

        // One by hand, the other after a restart; no link and no address stays.
        network.detach("web").await.unwrap();
        drop(network);
        host.network().reconcile(&[]).await.unwrap();
        assert_eq!(host.link_names(), ["cni0", "lo", "to-neighbour", "uplink"]);
        let kept: Vec<String> = fs::read_dir(host.directory.join("host-local/debian"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("10."))
            .collect();
        assert_eq!(kept, Vec::<String>::new());
        assert_eq!(records(host), 0);
    });
}
