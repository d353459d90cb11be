//! The messages, clients and server traits of the interface, made from `proto/` when building.

use std::fmt;

/// Package `runtime.v1`.
pub mod v1 {
    // Made by a program for all cases; not ours to tidy.
    #![allow(clippy::all, clippy::pedantic, unused_qualifications)]

    tonic::include_proto!("runtime.v1");
}

impl fmt::Debug for v1::AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AuthConfig");
        shown.field("username", &self.username).field("server_address", &self.server_address).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::v1::{AuthConfig, ContainerConfig, ContainerStatus, Signal};
    use prost::Message as _;

    #[test]
    fn the_stop_signal_has_the_field_numbers_of_the_interface() {
        let config = ContainerConfig { stop_signal: Signal::Sigusr1.into(), ..Default::default() };
        // Field 18 and field 19, as varints; SIGUSR1 is 29.
        assert_eq!(config.encode_to_vec(), [0x90, 0x01, 29]);
        let status = ContainerStatus { stop_signal: Signal::Sigterm.into(), ..Default::default() };
        assert_eq!(status.encode_to_vec(), [0x98, 0x01, 23]);
    }

    #[test]
    fn secrets_are_not_in_debug_output() {
        let auth = AuthConfig {
            username: "mary".into(),
            password: "hidden-1".into(),
            auth: "hidden-2".into(),
            server_address: "registry.example".into(),
            identity_token: "hidden-3".into(),
            registry_token: "hidden-4".into(),
        };
        let shown = format!("{auth:?}");
        assert!(shown.contains("mary") && shown.contains("registry.example") && !shown.contains("hidden"), "{shown}");
    }
}
