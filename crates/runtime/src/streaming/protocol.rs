//! The protocols of exec, attach and port-forward: their names, and what a session's end looks like in each.

use serde_json::json;

use super::backend::End;

/// The protocol of port-forward over SPDY.
pub const PORT_FORWARD: &str = "portforward.k8s.io";
/// The same inside WebSocket messages.
pub const TUNNELLED_PORT_FORWARD: &str = "SPDY/3.1+portforward.k8s.io";

/// A version of the exec protocol; each has what the one before has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Its clients never end their input, over either transport: a process that waits for that waits for their end.
    V1,
    V2,
    /// Terminals have sizes.
    V3,
    /// The end is told as JSON, with the exit code.
    V4,
    /// A client can end its input alone (WebSocket only; SPDY always could).
    V5,
}

impl Version {
    /// What is spoken over SPDY, best first.
    pub const OVER_SPDY: [Version; 4] = [Version::V4, Version::V3, Version::V2, Version::V1];

    pub fn name(self) -> &'static str {
        match self {
            Version::V1 => "channel.k8s.io",
            Version::V2 => "v2.channel.k8s.io",
            Version::V3 => "v3.channel.k8s.io",
            Version::V4 => "v4.channel.k8s.io",
            Version::V5 => "v5.channel.k8s.io",
        }
    }

    /// What the error channel carries when a session is over; nothing for a success in the old versions.
    pub fn last_words(self, outcome: &Outcome) -> Vec<u8> {
        match (outcome, self >= Version::V4) {
            (Outcome::Success, true) => json!({ "metadata": {}, "status": "Success" }).to_string().into_bytes(),
            (Outcome::Success, false) => Vec::new(),
            (failure, false) => failure.message().into_bytes(),
            (failure @ Outcome::NonZero(code), true) => json!({
                "metadata": {},
                "status": "Failure",
                "message": failure.message(),
                "reason": "NonZeroExitCode",
                "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
            })
            .to_string()
            .into_bytes(),
            (failure @ Outcome::Broken(_), true) => json!({
                "metadata": {},
                "status": "Failure",
                "message": failure.message(),
                "reason": "InternalError",
                "details": { "causes": [{ "message": failure.message() }] },
                "code": 500,
            })
            .to_string()
            .into_bytes(),
        }
    }
}

/// How messages on a WebSocket are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A byte for the channel, then its bytes.
    Binary,
    /// A digit for the channel, then its bytes as base64, all of it text.
    Base64,
    /// There is one channel, and no word of it.
    Raw,
}

/// A WebSocket protocol of exec and attach by its name.
pub fn channels_named(name: &str) -> Option<(Version, Framing)> {
    let all = [Version::V1, Version::V2, Version::V3, Version::V4, Version::V5];
    all.into_iter().find_map(|version| {
        let plain = version.name();
        let encoded = plain.replace("channel.", "base64.channel.");
        match name {
            _ if name == plain => Some((version, Framing::Binary)),
            _ if name == encoded => Some((version, Framing::Base64)),
            _ => None,
        }
    })
}

/// A WebSocket protocol of port-forward by its name.
pub fn ports_named(name: &str) -> Option<Framing> {
    match name {
        TUNNELLED_PORT_FORWARD => Some(Framing::Raw),
        "v4.channel.k8s.io" | PORT_FORWARD => Some(Framing::Binary),
        "v4.base64.channel.k8s.io" => Some(Framing::Base64),
        _ => None,
    }
}

/// What became of a session, as the client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    NonZero(i32),
    Broken(String),
}

impl Outcome {
    pub fn of_exec(end: End) -> Outcome {
        match end {
            End::Exited(0) => Outcome::Success,
            End::Exited(code) => Outcome::NonZero(code),
            End::Failed(reason) => Outcome::exec_broke(&reason),
        }
    }

    /// An attached client is not told how the container ended: that is in its status.
    pub fn of_attach(end: End) -> Outcome {
        match end {
            End::Exited(_) => Outcome::Success,
            End::Failed(reason) => Outcome::attach_broke(&reason),
        }
    }

    pub fn exec_broke(reason: &str) -> Outcome {
        Outcome::Broken(format!("error executing command in container: {reason}"))
    }

    pub fn attach_broke(reason: &str) -> Outcome {
        Outcome::Broken(format!("error attaching to container: {reason}"))
    }

    fn message(&self) -> String {
        match self {
            Outcome::Success => String::new(),
            Outcome::NonZero(code) => format!("command terminated with non-zero exit code: {code}"),
            Outcome::Broken(reason) => format!("Internal error occurred: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_known_by_their_names() {
        assert_eq!(channels_named("v5.channel.k8s.io"), Some((Version::V5, Framing::Binary)));
        assert_eq!(channels_named("channel.k8s.io"), Some((Version::V1, Framing::Binary)));
        assert_eq!(channels_named("base64.channel.k8s.io"), Some((Version::V1, Framing::Base64)));
        assert_eq!(channels_named("v4.base64.channel.k8s.io"), Some((Version::V4, Framing::Base64)));
        assert_eq!(channels_named("v6.channel.k8s.io"), None);
        assert_eq!(ports_named("SPDY/3.1+portforward.k8s.io"), Some(Framing::Raw));
        assert_eq!(ports_named("v5.channel.k8s.io"), None);
    }

    #[test]
    fn an_exit_code_is_a_cause_from_version_four_on_and_text_before() {
        let words = Version::V4.last_words(&Outcome::NonZero(3));
        let status: serde_json::Value = serde_json::from_slice(&words).unwrap();
        assert_eq!(status["reason"], "NonZeroExitCode");
        assert_eq!(status["details"]["causes"][0], json!({ "reason": "ExitCode", "message": "3" }));
        let text = Version::V3.last_words(&Outcome::NonZero(3));
        assert_eq!(text, b"command terminated with non-zero exit code: 3");
    }

    #[test]
    fn a_success_is_silent_before_version_four() {
        assert_eq!(Version::V1.last_words(&Outcome::Success), b"");
        assert_eq!(Version::V5.last_words(&Outcome::Success), br#"{"metadata":{},"status":"Success"}"#);
    }
}
