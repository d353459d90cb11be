//! Charging a disruption budget for an eviction.

use bytes::Bytes;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use lifecycle::disruption::{self, Refusal};

use super::{TRIES, pause};
use crate::api::Api;
use crate::call::Call;
use crate::identity::{AUTHENTICATED, MASTERS, User};
use crate::kind::Part;
use crate::options::DryRun;
use crate::query::Query;
use crate::status::{Cause, Qualified, Status};
use crate::verbs::{Attempt, Reviewed, Wanted};

/// How long a client waits when a budget is not ready to be asked.
const RETRY_SECONDS: u32 = 10;
/// Who writes the status of budgets here.
const SERVER: &str = "system:apiserver";

impl Api {
    /// Takes one disruption from the budget; again from its newest version when someone else was quicker.
    pub(super) async fn spend(&self, call: &Call, budget: &PodDisruptionBudget, dry_run: DryRun) -> Result<(), Status> {
        let name = budget.metadata.name.as_deref().unwrap_or_default();
        let call_on_budget = self.on_budget(call, name)?;
        let mut attempt = Attempt::new(self, call_on_budget.kind, call_on_budget.place());
        for _ in 0..TRIES {
            let Some(current) = attempt.current().await? else {
                return Err(Status::not_found(call_on_budget.kind.facts().named_resource(), name));
            };
            let mut object = current.object.boxed_clone();
            let budget = object.downcast_mut::<PodDisruptionBudget>().ok_or_else(Status::method_not_allowed)?;
            let spent = disruption::spend(budget, call.name(), (self.clock)());
            budget.status = Some(spent.map_err(|refusal| refused(&refusal))?);
            if dry_run == DryRun::All {
                return Ok(());
            }
            let wanted = Wanted { object, warnings: Vec::new(), reviewed: Reviewed::NotYet };
            let part = Some(Part::Status);
            if self.replace(&call_on_budget, part, &mut attempt, current, wanted, DryRun::No).await?.is_some() {
                return Ok(());
            }
            pause().await;
        }
        let why = format!("couldn't update PodDisruptionBudget {name:?} due to conflicts");
        Err(Status::timeout(&why, RETRY_SECONDS))
    }

    /// The request that this server sends itself.
    fn on_budget(&self, call: &Call, name: &str) -> Result<Call, Status> {
        let kind = self.kinds.find("policy", "v1", "poddisruptionbudgets").ok_or_else(Status::unknown_path)?;
        let groups = vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()];
        Ok(Call {
            kind,
            name: Some(name.to_owned()),
            user: User { name: SERVER.to_owned(), groups, ..User::default() },
            query: Query::default(),
            content_type: String::new(),
            body: Bytes::new(),
            ..call.clone()
        })
    }
}

/// How the refusal of a budget is told.
pub(super) fn refused(refusal: &Refusal) -> Status {
    let violated = "Cannot evict pod as it would violate the pod's disruption budget.";
    let forbidden =
        |budget: &str| Status::forbidden(Qualified::new("policy", "poddisruptionbudget"), budget, &refusal.to_string());
    let mut status = match refusal {
        Refusal::Unobserved { .. } => Status::too_many_requests(violated, RETRY_SECONDS),
        Refusal::Exhausted { .. } => Status::too_many_requests(violated, 0),
        Refusal::Negative { budget } | Refusal::Unconfirmed { budget } => forbidden(budget),
    };
    let cause = Cause { reason: Some("DisruptionBudget"), message: refusal.cause(), field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}
