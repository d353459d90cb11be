//! The network of a sandbox: its namespaces, its addresses, and the ports it is reached by.
