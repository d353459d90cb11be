//! When a pod is valid, with the field paths and messages of upstream.
