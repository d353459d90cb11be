//! Stop signals that do not stop, that leave no choice, or that are not the one the program would like.

use model::gates::Gate;
use model::signal::{DefaultAction, Signal};

use super::Severity;
use super::facts::{ContainerFacts, Draft, in_seconds};
use super::image::Image;
use crate::exit_order::stages::Role;
use crate::stop;

const STOP: Signal = Signal::known("SIGSTOP");
const WINCH: Signal = Signal::known("SIGWINCH");

const FIELD: &str = "lifecycle.stopSignal";

pub(super) fn not_used(container: &ContainerFacts<'_>) -> Option<Draft> {
    let gates = container.pod.subject.gates;
    let signal = container.written_signal().filter(|_| !gates.enabled(Gate::ContainerStopSignals))?;
    let used = stop::effective(Some(signal), None, gates).signal;
    let message = format!(
        "The stop signal {signal} of {} is not used, because the feature gate ContainerStopSignals is off: the image's \
         own is sent, or {used}.",
        container.name()
    );
    let remedy = format!(
        "Turn the gate on (ContainerStopSignals=true), write STOPSIGNAL {signal} into the image, or drop the field."
    );
    Some(container.draft(Severity::Warning, FIELD, message, remedy))
}

pub(super) fn does_not_end(container: &ContainerFacts<'_>) -> Option<Draft> {
    let signal = container.spec_signal()?;
    let name = container.name();
    let grace = in_seconds(container.pod.grace.effective());
    let (severity, what) = match signal.default_action() {
        DefaultAction::Terminate => return None,
        DefaultAction::Suspend if signal == STOP => {
            let text = format!("suspends {name} and cannot be handled: it stays suspended until SIGKILL after {grace}");
            (Severity::Error, text)
        }
        DefaultAction::Ignore if signal == WINCH && container.image().looks_like_apache() => {
            let text =
                format!("tells Apache to finish its requests and end; any other first process in {name} ignores it");
            (Severity::Info, text)
        }
        DefaultAction::Suspend => {
            let text = format!("does not end {name} unless its program handles it: SIGKILL follows after {grace}");
            (Severity::Warning, text)
        }
        DefaultAction::Ignore | DefaultAction::Continue => {
            let text = format!("is ignored by {name} unless its program handles it: SIGKILL follows after {grace}");
            (Severity::Warning, text)
        }
    };
    let message = format!("The stop signal {signal} {what}.{}", who_waits(container));
    let remedy = match severity {
        Severity::Info => "Keep it if Apache itself is the first process (exec it from any start script).".to_owned(),
        Severity::Warning | Severity::Error => {
            "Write stopSignal: SIGTERM, or the signal at which the program ends.".to_owned()
        }
    };
    Some(container.draft(severity, FIELD, message, remedy))
}

/// Whom a process that does not end holds up.
fn who_waits(container: &ContainerFacts<'_>) -> String {
    let pod = container.pod;
    let (rank, later) = (pod.ranks.of(container.name()), container.later_ranks());
    if later == 0 || container.role != Role::Regular {
        return String::new();
    }
    let share = pod.subject.reserve.share(pod.grace.effective(), pod.rank_values.len());
    let kept = share.saturating_mul(u32::try_from(later).unwrap_or(u32::MAX));
    format!(
        " It has rank {rank} (rank 0 exits first): the later ranks wait for it until {} before the deadline.",
        in_seconds(kept)
    )
}

pub(super) fn kills(container: &ContainerFacts<'_>) -> Option<Draft> {
    container.spec_signal().filter(|signal| *signal == Signal::KILL)?;
    let message = format!(
        "The stop signal of {} is SIGKILL: the process ends on the spot and can neither finish requests nor save \
         anything.",
        container.name()
    );
    let remedy = "Write stopSignal: SIGTERM, unless the program is made to be killed at any moment.";
    Some(container.draft(Severity::Warning, FIELD, message, remedy.to_owned()))
}

/// A program that ends better with another signal than SIGTERM.
struct Preference {
    images: &'static [&'static str],
    /// What the image's tag must hold.
    tag: &'static str,
    signal: Signal,
    /// What SIGTERM does and what the other one does.
    why: &'static str,
}

const PREFERENCES: [Preference; 6] = [
    Preference {
        images: &["nginx", "openresty"],
        tag: "",
        signal: Signal::known("SIGQUIT"),
        why: "drops open requests on SIGTERM and finishes them on SIGQUIT",
    },
    Preference {
        images: &["httpd"],
        tag: "",
        signal: WINCH,
        why: "drops open requests on SIGTERM and finishes them on SIGWINCH",
    },
    Preference {
        images: &["php-fpm"],
        tag: "",
        signal: Signal::known("SIGQUIT"),
        why: "drops open requests on SIGTERM and finishes them on SIGQUIT",
    },
    Preference {
        images: &["php"],
        tag: "fpm",
        signal: Signal::known("SIGQUIT"),
        why: "drops open requests on SIGTERM and finishes them on SIGQUIT",
    },
    Preference {
        images: &["haproxy"],
        tag: "",
        signal: Signal::known("SIGUSR1"),
        why: "drops open connections on SIGTERM and finishes them on SIGUSR1",
    },
    Preference {
        images: &["postgres", "postgresql", "postgis"],
        tag: "",
        signal: Signal::known("SIGINT"),
        why: "waits on SIGTERM until every client has gone; on SIGINT it disconnects them and ends cleanly",
    },
];

fn preference(image: Image<'_>) -> Option<&'static Preference> {
    PREFERENCES.iter().find(|preference| preference.images.contains(&image.name) && image.tag.contains(preference.tag))
}

pub(super) fn image_prefers_other(container: &ContainerFacts<'_>) -> Option<Draft> {
    let Preference { signal, why, .. } = preference(container.image())?;
    if container.written_signal().is_some() || container.has_pre_stop() || container.pod.is_windows() {
        return None;
    }
    let message = format!(
        "{} looks like {}, which {why}. Official images ask for {signal} themselves (STOPSIGNAL); \
         others may not.",
        container.name(),
        container.image().name
    );
    let remedy = if container.pod.subject.gates.enabled(Gate::ContainerStopSignals) {
        format!("To be sure, write lifecycle: {{stopSignal: {signal}}}, with spec.os.name: linux.")
    } else {
        format!("To be sure, write STOPSIGNAL {signal} into the image.")
    };
    Some(container.draft(Severity::Info, FIELD, message, remedy))
}
