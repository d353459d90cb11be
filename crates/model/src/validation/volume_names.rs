//! The volumes of a pod as its containers see them: a name, and what kind of source is behind it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Volume;

/// What containers need to know about a volume's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumeKind {
    /// A persistent volume claim, named or made for the pod: it can be a block device.
    Claim,
    Other,
}

impl VolumeKind {
    pub(crate) fn of(volume: &Volume) -> VolumeKind {
        if volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some() {
            VolumeKind::Claim
        } else {
            VolumeKind::Other
        }
    }
}

/// The volumes that containers may mount: those whose own names are valid and not repeated.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeNames(BTreeMap<String, VolumeKind>);

impl VolumeNames {
    /// Adds a volume under its name.
    pub(crate) fn insert(&mut self, volume: &Volume) {
        self.0.insert(volume.name.clone(), VolumeKind::of(volume));
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn kind(&self, name: &str) -> Option<VolumeKind> {
        self.0.get(name).copied()
    }
}
