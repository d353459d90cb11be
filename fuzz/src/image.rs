//! Documents of images: what is accepted is bounded, and says the same when it is written out and read again.
//!
//! The same bytes are tried as a manifest, as a config, as a name, and as a user with both files of accounts, with zero
//! bytes between the three.

use runtime::images::config::Config;
use runtime::images::manifest::{LAYERS_MAX, Manifest, Platform};
use runtime::images::reference::Reference;
use runtime::images::user;
use serde_json::json;

pub fn image(data: &[u8]) {
    manifest(data);
    config(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    reference(text);
    account(text);
}

fn manifest(data: &[u8]) {
    let Ok(read) = Manifest::read(data) else { return };
    let written = match &read {
        Manifest::Image(image) => {
            assert!(image.layers.len() <= LAYERS_MAX);
            json!(image)
        }
        Manifest::Index(offered) => {
            if let Ok(chosen) = Platform::here().choose(offered) {
                assert!(Platform::here().suits(chosen), "{chosen:?}");
            }
            json!({ "schemaVersion": 2, "manifests": offered })
        }
    };
    let again = Manifest::read(written.to_string().as_bytes());
    assert_eq!(again.ok().as_ref(), Some(&read), "{written}");
}

fn config(data: &[u8]) {
    let Ok(read) = Config::read(data) else { return };
    assert!(read.diff_ids.len() <= LAYERS_MAX);
    assert_eq!(read.chain_ids().len(), read.diff_ids.len());
    assert_ne!(read.process.uid().is_some(), read.process.username().is_some(), "{:?}", read.process.user);
}

fn reference(text: &str) {
    let Ok(read) = text.parse::<Reference>() else { return };
    let written = read.to_string();
    assert_eq!(written.parse::<Reference>().as_ref(), Ok(&read), "{text:?} {written:?}");
    // The parts become paths and addresses.
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    assert!(read.repository().split('/').all(is_plain), "{text:?}");
    assert!(!read.registry().contains(['/', '@', ' ', '?', '#']), "{text:?}");
}

fn account(text: &str) {
    let mut parts = text.splitn(3, '\0');
    let (Some(user), Some(passwd), Some(group)) = (parts.next(), parts.next(), parts.next()) else { return };
    let Ok(found) = user::resolve(user, passwd, group) else { return };
    assert!(found.uid != u32::MAX && found.gid != u32::MAX, "{found:?}");
    assert!(found.home.starts_with('/'), "{found:?}");
    assert!(found.groups.is_sorted() && !found.groups.contains(&found.gid), "{found:?}");
}
