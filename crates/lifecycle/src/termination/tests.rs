//! The machine, rule by rule: each test is one documented statement.

mod closing;
mod driver;
mod order;
mod recovery;
mod requests;
mod single;
mod steps;
mod stopping;
