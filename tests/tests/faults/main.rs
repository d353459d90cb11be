//! What happens to servers, and that nothing is lost, nothing is invented, and everybody is told.

mod clock;
mod crowds;
mod edges;
mod full_disk;
mod killing;
mod ledger;
mod starting;
mod two_servers;
