//! The streaming server with real clients on loopback: a WebSocket library, and SPDY spoken frame by frame. Entering a
//! network namespace needs root.

mod backend;
mod dialing;
mod refusals;
mod spdy;
mod spdy_client;
mod spdy_limits;
mod tunnel;
mod websocket;
mod websocket_client;
