//! Images as CRI describes them.

use std::collections::{BTreeMap, HashMap};

use cri::v1::{Image as ImageMessage, Int64Value};
use serde_json::json;

use crate::images::Image;

pub fn image(image: &Image) -> ImageMessage {
    let process = &image.config.process;
    ImageMessage {
        id: image.id.to_string(),
        repo_tags: image.repo_tags.clone(),
        repo_digests: image.repo_digests.clone(),
        size: image.size,
        uid: process.uid().map(|value| Int64Value { value }),
        username: process.username().unwrap_or_default().to_owned(),
        spec: None,
        pinned: image.pinned,
    }
}

/// What there is to know besides: the config, in the form of an OCI image.
pub fn info(image: &Image) -> HashMap<String, String> {
    let (config, process) = (&image.config, &image.config.process);
    let volumes: BTreeMap<&String, _> = process.volumes.iter().map(|path| (path, json!({}))).collect();
    let document = json!({
        "created": config.created,
        "os": config.os,
        "architecture": config.architecture,
        "variant": config.variant,
        "config": {
            "User": process.user,
            "Entrypoint": process.entrypoint,
            "Cmd": process.cmd,
            "Env": process.env,
            "WorkingDir": process.working_dir,
            "StopSignal": process.stop_signal,
            "Labels": process.labels,
            "Volumes": volumes,
        },
        "rootfs": { "type": "layers", "diff_ids": config.diff_ids },
    });
    HashMap::from([("info".to_owned(), json!({ "imageSpec": document }).to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::config::Config;
    use crate::images::host;

    fn with_user(user: &str) -> Image {
        let mut image = host::image();
        let mut config = Config::clone(&image.config);
        config.process.user = user.to_owned();
        config.process.volumes = vec!["/data".to_owned()];
        image.config = config.into();
        image
    }

    #[test]
    fn a_user_is_a_number_or_a_name() {
        for (user, uid, username) in [("", Some(0), ""), ("7:8", Some(7), ""), ("mary:users", None, "mary")] {
            let told = image(&with_user(user));
            assert_eq!((told.uid.map(|uid| uid.value), told.username.as_str()), (uid, username), "{user:?}");
        }
    }

    #[test]
    fn the_info_can_be_read_as_a_config_again() {
        let image = with_user("mary");
        let told = info(&image);
        let told: serde_json::Value = serde_json::from_str(&told["info"]).unwrap();
        let read = Config::read(told["imageSpec"].to_string().as_bytes()).unwrap();
        assert_eq!(read, *image.config);
    }
}
