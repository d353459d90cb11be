//! Every rule of a pod's life and death, and nothing else.
//!
//! Plain synchronous functions over values: time is an argument, work is returned as effects. The agent drives these
//! rules with real events, the simulator with invented ones, `explain` with assumed ones; nothing outside this crate
//! decides how or when something ends.
//!
//! | module | decides |
//! | --- | --- |
//! | [`deletion`] | what a delete request does to a stored pod |
//! | [`disruption`] | whether the API may evict a pod: disruption budgets |
//! | [`grace`] | how long a pod or a container may take |
//! | [`exit_order`] | who ends before whom: ranks, reserve, native sidecars |
//! | [`eviction`] | what an eviction by policy gives a pod, and what it says |
//! | [`hook`] | what a lifecycle hook is, and which hooks can only fail |
//! | [`stop`] | how one process is stopped: signal, wait, kill, and whose signal it is |
//! | [`termination`] | how a whole pod ends, step by step |
//! | [`forecast`] | how a pod will end under given assumptions |
//! | [`findings`] | what in a pod's spec will make it end badly |
//! | [`restart`] | whether and when a container starts again |
//! | [`phase`] | what phase and conditions a pod shows |

pub mod deletion;
pub mod disruption;
pub mod eviction;
pub mod exit_order;
pub mod findings;
pub mod forecast;
pub mod grace;
pub mod hook;
pub mod moment;
pub mod mutation;
pub mod phase;
pub mod restart;
pub mod stop;
pub mod termination;
