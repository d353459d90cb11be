//! Filters of system calls.

use libcontainer::oci_spec::runtime::Spec;

#[derive(Clone)]
pub struct Filters;

impl Filters {
    pub fn of(_spec: &Spec) -> Result<Filters, std::io::Error> {
        Ok(Filters)
    }

    pub fn install(&self) -> Result<(), std::io::Error> {
        Ok(())
    }
}
