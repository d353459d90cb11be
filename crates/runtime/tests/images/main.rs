//! Images against a real registry: Debian's `docker-registry` on loopback, with faults put in between. They need
//! root, as unpacking and mounting do, and run in mount namespaces of their own where they mount.

mod authorization;
mod faults;
mod fixture;
mod full_disk;
mod killing;
mod loading;
mod private;
mod proxy;
mod pulling;
mod registry;
mod secure;
mod service;
mod snapshots;
