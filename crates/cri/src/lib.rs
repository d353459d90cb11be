//! The container runtime interface, version 1: its messages, a client, what a server needs, and the contract suite.
