//! What filters do to real calls.
