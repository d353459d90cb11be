//! Requests to stored changes.
//!
//! What is here so far is pure: text of a request in, typed values or a [`status::Status`] out. No sockets, no clock,
//! no storage; the server calls these modules.
//!
//! | module | decides |
//! | --- | --- |
//! | [`status`] | how success and every failure are told |

pub mod status;
