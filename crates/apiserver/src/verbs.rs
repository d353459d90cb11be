//! What requests do to objects, one file per verb, the same for every kind.

mod attempt;
mod collection;
mod create;
mod delete;
mod get;
mod list;
mod page;
mod patch;
mod selection;
mod shape;
mod update;
pub mod watch;

pub(crate) use attempt::{Attempt, Doubt, Outcome, decode, encode};
pub(crate) use create::random_letters;
pub use create::system_clock;
pub(crate) use delete::Reviewed;
pub use delete::{Deleted, Fate};
pub use page::Continue;
pub(crate) use patch::Patch;
pub use shape::to_json;
pub(crate) use update::Wanted;
