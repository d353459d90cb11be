//! Pulls under way: whoever wants the same image as the same user waits for the one pull there is. It ends early when
//! the last of them has gone away, and a pull that has failed is not given to anybody who comes later.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use super::refusal;
use crate::images::reference::Reference;
use crate::images::registry::{Credentials, Registries};
use crate::images::{ImageId, Images};

type Outcome = BoxFuture<'static, Result<ImageId, Status>>;

#[derive(Default)]
pub struct Pulls {
    /// Those whose last caller has gone away, or that have ended, are dropped when the next one begins.
    under_way: Mutex<Vec<Pull>>,
}

struct Pull {
    reference: Reference,
    /// Nobody gets an image by the credentials of somebody else.
    credentials: Credentials,
    outcome: WeakShared<Outcome>,
}

impl Pulls {
    /// Waits for the pull of an image; it is begun if there is none.
    pub async fn join(
        &self,
        images: &Images,
        registries: &Arc<Registries>,
        reference: Reference,
        credentials: Credentials,
    ) -> Result<ImageId, Status> {
        let (images, registries) = (images.clone(), Arc::clone(registries));
        let begin = |reference: Reference, credentials: Credentials| async move {
            let pulled = images.pull(&reference, &credentials, &registries, Arc::new(())).await;
            pulled.map_err(|error| refusal::of(&error))
        };
        self.outcome(reference, credentials, begin).await
    }

    fn outcome<F>(
        &self,
        reference: Reference,
        credentials: Credentials,
        begin: impl FnOnce(Reference, Credentials) -> F,
    ) -> Shared<Outcome>
    where
        F: Future<Output = Result<ImageId, Status>> + Send + 'static,
    {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|pull| pull.outcome.upgrade().is_some_and(|outcome| outcome.peek().is_none()));
        let same = under_way.iter().find(|pull| pull.reference == reference && pull.credentials == credentials);
        if let Some(outcome) = same.and_then(|pull| pull.outcome.upgrade()) {
            return outcome;
        }
        // A task of its own, so that it does not depend on which of its callers is awake.
        let task = AbortOnDropHandle::new(tokio::spawn(begin(reference.clone(), credentials.clone())));
        let ended = |ended| match ended {
            Ok(pulled) => pulled,
            Err(error) => Err(Status::internal(format!("the pull was cut short: {error}"))),
        };
        let outcome = task.map(ended).boxed().shared();
        under_way.extend(outcome.downgrade().map(|outcome| Pull { reference, credentials, outcome }));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::{Semaphore, oneshot};
    use tonic::Code;

    use super::*;
    use crate::images::digest::Digest;

    /// Begins pulls that wait for their turn, and counts them.
    struct Scene {
        pulls: Pulls,
        begun: Arc<AtomicUsize>,
        turns: Arc<Semaphore>,
    }

    impl Scene {
        fn new() -> Scene {
            Scene { pulls: Pulls::default(), begun: Arc::default(), turns: Arc::new(Semaphore::new(0)) }
        }

        fn pull(&self, credentials: Credentials, result: Result<(), Code>) -> Shared<Outcome> {
            let turns = Arc::clone(&self.turns);
            self.pulls.outcome("registry.example/a".parse().unwrap(), credentials, |_, _| {
                self.begun.fetch_add(1, Ordering::SeqCst);
                async move {
                    turns.acquire().await.unwrap().forget();
                    result.map(|()| id()).map_err(|code| Status::new(code, "no"))
                }
            })
        }

        fn begun(&self) -> usize {
            self.begun.load(Ordering::SeqCst)
        }
    }

    fn id() -> ImageId {
        ImageId::new(Digest::of(b"a"))
    }

    #[tokio::test]
    async fn callers_share_a_pull_and_one_who_leaves_does_not_end_it() {
        let scene = Scene::new();
        let mut first = scene.pull(Credentials::Anonymous, Ok(()));
        assert!((&mut first).now_or_never().is_none());
        let second = scene.pull(Credentials::Anonymous, Ok(()));
        drop(first);
        scene.turns.add_permits(1);
        assert_eq!(second.await.unwrap(), id());
        assert_eq!(scene.begun(), 1);
    }

    #[tokio::test]
    async fn other_credentials_are_another_pull() {
        let scene = Scene::new();
        let basic = Credentials::Basic { username: "me".into(), password: "x".into() };
        let both = (scene.pull(Credentials::Anonymous, Err(Code::Unauthenticated)), scene.pull(basic, Ok(())));
        scene.turns.add_permits(2);
        assert_eq!(both.0.await.unwrap_err().code(), Code::Unauthenticated);
        assert_eq!(both.1.await.unwrap(), id());
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_who_waited_and_to_nobody_later() {
        let scene = Scene::new();
        let waiting = [(); 2].map(|()| scene.pull(Credentials::Anonymous, Err(Code::Unavailable)));
        scene.turns.add_permits(2);
        for caller in &waiting {
            assert_eq!(caller.clone().await.unwrap_err().code(), Code::Unavailable);
        }
        assert_eq!(scene.pull(Credentials::Anonymous, Ok(())).await.unwrap(), id());
        assert_eq!(scene.begun(), 2);
    }

    #[tokio::test]
    async fn a_pull_that_nobody_waits_for_ends() {
        let pulls = Pulls::default();
        let (held, dropped) = oneshot::channel::<()>();
        let outcome = pulls.outcome("a".parse().unwrap(), Credentials::Anonymous, |_, _| async move {
            let _held = held;
            std::future::pending().await
        });
        drop(outcome);
        assert!(dropped.await.is_err());
    }
}
