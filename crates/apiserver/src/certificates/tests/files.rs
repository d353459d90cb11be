//! What is kept on disk, how privately, and what is never made anew by itself.

use std::fs;
use std::path::Path;

use super::*;
use crate::certificates::{
    ClientSubject, Kubeconfig, TlsFiles, load_or_create_signing_key, load_or_issue, server_config,
};

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn a_restart_keeps_the_authority_and_the_signing_key() {
    let directory = directory();
    let first = authority(directory.path()).certificate_pem().to_owned();
    assert_eq!(authority(directory.path()).certificate_pem(), first);
    let key = load_or_create_signing_key(directory.path()).expect("a key");
    let again = load_or_create_signing_key(directory.path()).expect("the key");
    assert_eq!(key.verifying_key(), again.verifying_key());
}

#[cfg(unix)]
#[test]
fn everything_kept_is_private_and_nothing_half_written_stays() {
    use std::os::unix::fs::PermissionsExt;
    let parent = directory();
    let path = parent.path().join("pki");
    fs::create_dir(&path).expect("a directory");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("open to all");
    let authority = authority(&path);
    load_or_create_signing_key(&path).expect("a key");
    load_or_issue(&authority, &path, &names(&[]), now()).expect("a certificate");
    let kubeconfig = path.join("admin.conf");
    Kubeconfig::admin(&authority, "https://127.0.0.1:6443", now())
        .expect("issued")
        .write(&kubeconfig)
        .expect("written");
    assert_eq!(mode(&path), 0o700);
    let mut kept: Vec<String> = Vec::new();
    for entry in fs::read_dir(&path).expect("a listing") {
        let entry = entry.expect("an entry");
        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
        kept.push(entry.file_name().into_string().expect("a name"));
    }
    kept.sort();
    assert_eq!(kept, ["admin.conf", "ca.crt", "ca.key", "service-account.key", "serving.pem"]);
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    authority(directory.path());
    let key = directory.path().join("ca.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("changed");
    let error = refusal(directory.path(), now()).to_string();
    assert!(error.contains("ca.key") && error.contains("640") && error.contains("chmod 600"), "{error}");
}

#[test]
fn an_interrupted_creation_is_finished_with_its_key() {
    let directory = directory();
    let first = authority(directory.path());
    let serving = load_or_issue(&first, directory.path(), &names(&[]), now()).expect("a certificate");
    fs::remove_file(directory.path().join("ca.crt")).expect("removed");
    let second = authority(directory.path());
    let kept = load_or_issue(&second, directory.path(), &names(&[]), now()).expect("a certificate");
    assert_eq!(serving.certificate_pem, kept.certificate_pem, "the same key signed it");
}

#[test]
fn a_lost_or_damaged_or_foreign_authority_is_an_error_that_names_the_file_and_is_never_replaced() {
    type Harm = fn(&Path);
    let harms: [(&str, &str, Harm); 4] = [
        ("ca.key", "is missing", |path| fs::remove_file(path.join("ca.key")).expect("removed")),
        ("ca.crt", "is damaged", |path| fs::write(path.join("ca.crt"), "nonsense").expect("written")),
        ("ca.key", "is damaged", |path| fs::write(path.join("ca.key"), [0xff, 0]).expect("written")),
        ("ca.crt", "do not belong together", |path| {
            let other = directory();
            let pem = authority(other.path()).certificate_pem().to_owned();
            fs::write(path.join("ca.crt"), pem).expect("written");
        }),
    ];
    for (file, complaint, harm) in harms {
        let directory = directory();
        authority(directory.path());
        harm(directory.path());
        let before = fs::read(directory.path().join("ca.crt")).expect("a file");
        let error = refusal(directory.path(), now()).to_string();
        assert!(error.contains(file) && error.contains(complaint), "{error}");
        assert!(error.contains("restore it from a backup"), "{error}");
        assert_eq!(fs::read(directory.path().join("ca.crt")).expect("a file"), before);
    }
}

#[test]
fn a_certificate_that_is_no_authority_is_refused_as_one() {
    let directory = directory();
    let authority = authority(directory.path());
    let client = authority.issue_client(ClientSubject { user: "eve", group: None }, now()).expect("issued");
    fs::write(directory.path().join("ca.crt"), client.certificate_pem).expect("written");
    fs::write(directory.path().join("ca.key"), client.key_pem.expose()).expect("written");
    let error = refusal(directory.path(), now()).to_string();
    assert!(error.contains("not one of an authority"), "{error}");
}

#[test]
fn an_authority_out_of_its_time_is_an_error() {
    let directory = directory();
    authority(directory.path());
    for at in [now() + days(11 * 365), now() - days(1)] {
        let error = refusal(directory.path(), at);
        assert!(matches!(error, CertificateError::NotValidNow { .. }), "{error}");
    }
}

#[test]
fn a_file_too_large_for_a_certificate_is_not_read() {
    let directory = directory();
    authority(directory.path());
    let huge = vec![b'x'; usize::try_from(crate::certificates::MAX_FILE_BYTES).expect("fits") + 1];
    fs::write(directory.path().join("ca.crt"), huge).expect("written");
    assert!(matches!(refusal(directory.path(), now()), CertificateError::TooLarge { .. }));
}

#[test]
fn a_serving_certificate_is_kept_until_it_expires_or_its_names_or_authority_change() {
    let directory = directory();
    let ca = authority(directory.path());
    let issue = |ca: &Authority, others: &[&str], at| {
        load_or_issue(ca, directory.path(), &names(others), at).expect("a certificate").certificate_pem
    };
    let first = issue(&ca, &["node-1"], now());
    assert_eq!(issue(&ca, &["node-1"], now() + days(300)), first, "still good");
    let renewed = issue(&ca, &["node-1"], now() + days(340));
    assert_ne!(renewed, first, "about to expire");
    let renamed = issue(&ca, &["node-1", "192.0.2.7"], now() + days(340));
    assert_ne!(renamed, renewed, "one more address");
    let elsewhere = super::directory();
    let other = authority(elsewhere.path());
    assert_ne!(issue(&other, &["node-1", "192.0.2.7"], now() + days(340)), renamed, "another authority");
}

#[test]
fn a_damaged_serving_file_says_that_it_can_be_removed() {
    let directory = directory();
    let ca = authority(directory.path());
    load_or_issue(&ca, directory.path(), &names(&[]), now()).expect("a certificate");
    let path = directory.path().join("serving.pem");
    let whole = fs::read_to_string(&path).expect("a file");
    for damaged in [&whole[..whole.len() / 2], ""] {
        fs::write(&path, damaged).expect("written");
        let error = load_or_issue(&ca, directory.path(), &names(&[]), now()).expect_err("a refusal").to_string();
        assert!(error.contains("serving.pem") && error.contains("remove it"), "{error}");
    }
}

#[test]
fn a_name_that_is_no_name_is_refused() {
    let error = ServingNames::new(None, &["no name"]).expect_err("a refusal").to_string();
    assert!(error.contains("\"no name\""), "{error}");
}

#[test]
fn files_of_the_operator_come_in_pairs_and_must_exist_and_fit() {
    let directory = directory();
    let at = |name: &str| Some(directory.path().join(name));
    let half = TlsFiles { certificate: at("a"), ..TlsFiles::default() };
    assert!(matches!(half.serving(), Err(CertificateError::HalfAPair)));
    let missing = TlsFiles { certificate: at("a"), private_key: at("b"), ..TlsFiles::default() };
    assert!(missing.serving().expect_err("a refusal").to_string().contains("cannot open"));
    assert!(TlsFiles::default().serving().expect("nothing").is_none());

    let ca = authority(directory.path());
    let issue = |user| ca.issue_client(ClientSubject { user, group: None }, now()).expect("issued");
    fs::write(directory.path().join("a"), issue("a").certificate_pem).expect("written");
    fs::write(directory.path().join("b"), issue("b").key_pem.expose()).expect("written");
    let serving = missing.serving().expect("readable").expect("given");
    let error = server_config(&serving, ca.certificate_pem()).expect_err("certificate and key differ");
    assert!(error.to_string().contains("the serving certificate and key"), "{error}");

    fs::write(directory.path().join("c"), "no certificates here").expect("written");
    let clients = TlsFiles { client_authorities: at("c"), ..TlsFiles::default() };
    assert!(clients.client_authorities().expect_err("a refusal").to_string().contains("no certificate in it"));
}

#[test]
fn keys_do_not_show_in_debug_output() {
    let directory = directory();
    let ca = authority(directory.path());
    let kubeconfig = Kubeconfig::admin(&ca, "https://127.0.0.1:6443", now()).expect("issued");
    let key = load_or_create_signing_key(directory.path()).expect("a key");
    for shown in [format!("{ca:?}"), format!("{kubeconfig:?}"), format!("{:?}", kubeconfig.text()), format!("{key:?}")]
    {
        assert!(!shown.contains("PRIVATE KEY") && !shown.contains("client-key-data"), "{shown}");
    }
}
