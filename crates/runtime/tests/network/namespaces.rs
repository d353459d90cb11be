//! Namespaces outlive the thread that made them, and go without a trace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use runtime::namespaces::{self, Kind, NamespaceError, SysctlError, Wanted};

use super::host::on_a_host;

fn all(sysctls: &[(&str, &str)]) -> Wanted {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Wanted {
        kinds: Kind::ALL.to_vec(),
        hostname: Some("web-0".to_owned()),
        sysctls: sysctls.iter().map(pair).collect::<BTreeMap<_, _>>(),
    }
}

/// Reads a file as seen from inside pinned namespaces.
fn read_inside(directory: &Path, path: &str) -> String {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for (kind, type_) in [
                (Kind::Network, LinkNameSpaceType::Network),
                (Kind::Ipc, LinkNameSpaceType::InterProcessCommunication),
                (Kind::Uts, LinkNameSpaceType::HostNameAndNISDomainName),
            ] {
                let pin = File::open(kind.pin_in(directory)).unwrap();
                move_into_link_name_space(pin.as_fd(), Some(type_)).unwrap();
            }
            fs::read_to_string(path).unwrap().trim().to_owned()
        });
        reader.join().unwrap()
    })
}

#[test]
fn pinned_namespaces_have_what_was_wanted_and_the_host_does_not() {
    on_a_host(async |host| {
        let pins = host.pins("full");
        let before = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let sysctls =
            [("net.ipv4.ip_unprivileged_port_start", "7"), ("kernel.msgmax", "4321"), ("fs/mqueue/msg_max", "7")];
        namespaces::pin(&pins, &all(&sysctls)).unwrap();
        for (path, value) in [
            ("/proc/sys/kernel/hostname", "web-0"),
            ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "7"),
            ("/proc/sys/kernel/msgmax", "4321"),
            ("/proc/sys/fs/mqueue/msg_max", "7"),
        ] {
            assert_eq!(read_inside(&pins, path), value, "{path}");
            assert_ne!(fs::read_to_string(path).unwrap().trim(), value, "{path} of the host");
        }
        assert_eq!(fs::read_to_string("/proc/sys/kernel/hostname").unwrap(), before);
        assert!(Kind::ALL.iter().all(|kind| namespaces::is_pinned(&kind.pin_in(&pins))));
    });
}

#[test]
fn loopback_works_in_a_new_namespace() {
    on_a_host(async |host| {
        let netns = host.sandbox("loop").netns;
        let listener = namespaces::enter(&netns, || TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        namespaces::enter(&netns, || std::net::TcpStream::connect(address)).unwrap().unwrap();
        std::net::TcpStream::connect(address).expect_err("the host's loopback is another");
    });
}

#[test]
fn unpinning_is_complete_and_can_be_repeated() {
    on_a_host(async |host| {
        let pins = host.pins("gone");
        namespaces::pin(&pins, &all(&[])).unwrap();
        let again = namespaces::pin(&pins, &all(&[])).unwrap_err();
        assert!(matches!(again, NamespaceError::Exists(_)), "{again:?}");
        assert!(namespaces::is_pinned(&Kind::Uts.pin_in(&pins)), "the first are not harmed");
        rustix::mount::mount_bind("/proc/thread-self/ns/uts", Kind::Uts.pin_in(&pins)).unwrap();
        namespaces::unpin(&pins).unwrap();
        assert!(!pins.exists());
        assert!(!fs::read_to_string("/proc/thread-self/mountinfo").unwrap().contains("/pins/gone"));
        namespaces::unpin(&pins).unwrap();
    });
}

#[test]
fn half_made_pins_are_removed_too() {
    on_a_host(async |host| {
        let pins = host.pins("half");
        fs::create_dir_all(&pins).unwrap();
        File::create(Kind::Ipc.pin_in(&pins)).unwrap();
        assert!(!namespaces::is_pinned(&Kind::Ipc.pin_in(&pins)), "a file is no namespace");
        fs::write(pins.join("notes"), "someone else's").unwrap();
        namespaces::unpin(&pins).unwrap();
        assert!(!Kind::Ipc.pin_in(&pins).exists());
        assert!(pins.join("notes").exists(), "what is not a pin stays");
    });
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_stays() {
    on_a_host(async |host| {
        let pins = host.pins("refused");
        let unknown = namespaces::pin(&pins, &all(&[("net.no.such", "1")])).unwrap_err();
        assert!(matches!(unknown, NamespaceError::Sysctl(SysctlError::Write { .. })), "{unknown:?}");
        let of_the_host = namespaces::pin(&pins, &all(&[("kernel.panic", "1")])).unwrap_err();
        assert!(of_the_host.to_string().contains("would change the host"), "{of_the_host}");
        let wanted = Wanted { kinds: vec![Kind::Network], ..all(&[]) };
        let hostname = namespaces::pin(&pins, &wanted).unwrap_err();
        assert!(hostname.to_string().contains("host's UTS namespace"), "{hostname}");
        let long = Wanted { hostname: Some("x".repeat(65)), ..all(&[]) };
        assert!(matches!(namespaces::pin(&pins, &long), Err(NamespaceError::Hostname { .. })));
        assert!(!pins.exists());
    });
}

#[test]
fn a_directory_is_made_private_once() {
    on_a_host(async |host| {
        let directory = host.directory.join("pins");
        let mounts = || {
            let all = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
            all.lines().filter(|line| line.contains(directory.to_str().unwrap())).map(str::to_owned).collect::<Vec<_>>()
        };
        let before = mounts();
        assert_eq!(before.len(), 1, "{before:?}");
        namespaces::make_private(&directory).unwrap();
        assert_eq!(mounts(), before);
        assert!(!before[0].contains("shared:"), "{before:?}");
    });
}

#[test]
fn only_network_namespaces_are_entered() {
    on_a_host(async |host| {
        let pins = host.pins("kinds");
        namespaces::pin(&pins, &all(&[])).unwrap();
        for path in [Kind::Uts.pin_in(&pins), host.directory.clone(), host.directory.join("nothing")] {
            let refused = namespaces::enter(&path, || ()).unwrap_err();
            assert!(matches!(refused, NamespaceError::Enter { .. }), "{refused:?}");
        }
    });
}
