//! Every rule of a pod's life and death, pure.
