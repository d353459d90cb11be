//! Plugins of the test's own: one that records what it was told, and some that do not behave.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::host::Host;

impl Host {
    /// Makes a plugin of a shell script.
    pub fn plugin(&self, name: &str, script: &str) {
        let directory = self.directory.join("plugins");
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A plugin that writes down every call and answers with an address that ends with the number of its calls.
    pub fn recording_plugin(&self, name: &str) {
        let calls = self.calls_file();
        self.plugin(
            name,
            &format!(
                r#"input=$(cat)
echo "{name} $CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME ${{CNI_NETNS:-none}} $CNI_ARGS $input" >> {calls}
[ "$CNI_COMMAND" = DEL ] && exit 0
echo '{{"cniVersion": "1.0.0", "ips": [{{"address": "10.9.9.9/24"}}], "by": "{name}"}}'"#,
                calls = calls.display()
            ),
        );
    }

    pub fn calls_file(&self) -> std::path::PathBuf {
        self.directory.join("calls")
    }

    /// What recording plugins were told, a line a call.
    pub fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.calls_file()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn configure(&self, file: &str, configuration: &serde_json::Value) {
        let directory = self.directory.join("net.d");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(file), configuration.to_string()).unwrap();
    }

    pub fn configure_chain(&self, network: &str, plugins: &[&str]) {
        let plugins: Vec<_> = plugins.iter().map(|name| serde_json::json!({ "type": name })).collect();
        let list = serde_json::json!({ "cniVersion": "1.0.0", "name": network, "plugins": plugins });
        self.configure("10.conflist", &list);
    }
}
