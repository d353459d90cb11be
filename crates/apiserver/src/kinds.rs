//! The kinds that are served, one file each.
//!
//! Adding one: write its file, add its line to [`ALL`].

mod config_map;

use crate::kind::{Of, Served};

/// Every kind, in the order of discovery.
pub const ALL: &[&dyn Served] = &[&Of::<config_map::ConfigMaps>::NEW];
