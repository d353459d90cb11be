//! Which signal stops a container, and where it comes from: the pod's spec, the image, or the default.

use model::gates::{FeatureGates, Gate};
use model::signal::Signal;
use serde::{Deserialize, Serialize};

/// Who chose a stop signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalOrigin {
    Spec,
    Image,
    Default,
}

impl SignalOrigin {
    pub const fn name(self) -> &'static str {
        match self {
            SignalOrigin::Spec => "spec",
            SignalOrigin::Image => "image",
            SignalOrigin::Default => "default",
        }
    }
}

/// The signal a container is stopped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopSignal {
    pub signal: Signal,
    pub origin: SignalOrigin,
}

/// The signal in effect: the spec's while its gate is on, else the image's, else SIGTERM.
///
/// `image` is the text of the image's `STOPSIGNAL`; one that cannot be read counts as absent.
pub fn effective(spec: Option<Signal>, image: Option<&str>, gates: FeatureGates) -> StopSignal {
    let spec = spec.filter(|_| gates.enabled(Gate::ContainerStopSignals));
    match (spec, image.and_then(Signal::from_image)) {
        (Some(signal), _) => StopSignal { signal, origin: SignalOrigin::Spec },
        (None, Some(signal)) => StopSignal { signal, origin: SignalOrigin::Image },
        (None, None) => StopSignal { signal: Signal::TERM, origin: SignalOrigin::Default },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(spec: Option<&str>, image: Option<&str>, gates: FeatureGates) -> (&'static str, SignalOrigin) {
        let stop = effective(spec.and_then(Signal::named), image, gates);
        (stop.signal.name(), stop.origin)
    }

    /// 3.12.3, I3
    #[test]
    fn the_spec_beats_the_image_and_the_image_beats_the_default() {
        let on = FeatureGates::ALL_ON;
        assert_eq!(outcome(Some("SIGUSR1"), Some("SIGQUIT"), on), ("SIGUSR1", SignalOrigin::Spec));
        assert_eq!(outcome(None, Some("SIGQUIT"), on), ("SIGQUIT", SignalOrigin::Image));
        assert_eq!(outcome(None, None, on), ("SIGTERM", SignalOrigin::Default));
        assert_eq!(outcome(None, Some("nonsense"), on), ("SIGTERM", SignalOrigin::Default));
    }

    /// 3.12.1: with the gate off in the agent the field is not passed on.
    #[test]
    fn with_the_gate_off_the_specs_signal_is_not_used() {
        let off = FeatureGates::ALL_ON.without(Gate::ContainerStopSignals);
        assert_eq!(outcome(Some("SIGUSR1"), Some("SIGQUIT"), off), ("SIGQUIT", SignalOrigin::Image));
        assert_eq!(outcome(Some("SIGUSR1"), None, off), ("SIGTERM", SignalOrigin::Default));
        assert_eq!(
            outcome(Some("SIGUSR1"), None, off.with(Gate::ContainerStopSignals)),
            ("SIGUSR1", SignalOrigin::Spec)
        );
    }
}
