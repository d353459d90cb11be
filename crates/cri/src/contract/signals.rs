//! Every signal of the interface, delivered as itself.

use futures_util::stream::{self, StreamExt as _};

use super::Difference;
use super::scene::{HANDLED, Pod, Scene, TELLS_SIGNAL};
use crate::StopSignal;

/// How many containers of the table are under way at once.
const AT_ONCE: usize = 4;
/// A handler answers long before.
const GRACE_SECONDS: i64 = 60;

pub async fn every_signal_arrives_as_itself(scene: Scene) {
    let pod = scene.pod().await;
    let can_be_handled = |signal: &StopSignal| !["SIGKILL", "SIGSTOP"].contains(&signal.name());
    // Where all become SIGTERM, a few show it.
    let step = if scene.differs(Difference::StopSignalIgnored) { 16 } else { 1 };
    let wrong: Vec<String> = stream::iter(StopSignal::all().filter(can_be_handled).step_by(step))
        .map(|signal| wrongly_delivered(&pod, signal))
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(wrong.is_empty(), "{}", wrong.join("; "));
}

async fn wrongly_delivered(pod: &Pod, signal: StopSignal) -> Option<String> {
    let mut config = pod.shell(&format!("signal{}", signal.to_cri()), TELLS_SIGNAL);
    config.stop_signal = signal.to_cri();
    let container = pod.ready(config).await;
    container.stop(GRACE_SECONDS).await.unwrap();
    let ended = (container.exited().await.exit_code, container.signals());
    container.remove().await.unwrap();
    let ignored = pod.scene.differs(Difference::StopSignalIgnored);
    let promised = (HANDLED, vec![if ignored { 15 } else { signal.linux_number() }]);
    (ended != promised).then(|| format!("{signal} ended with {ended:?}, not {promised:?}"))
}
