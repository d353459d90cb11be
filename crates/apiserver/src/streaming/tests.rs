//! A real client, a real server and a node that does what a test wants, on loopback.

mod failures;
mod logs;
mod node;
mod reviews;
mod scene;
mod streams;
mod targets;
