//! What is fixed about a kind: its names, its scope, and how the verbs treat its objects.

use lifecycle::deletion::Propagation;
pub use model::validation::{NameRule, Scope};

use crate::status::Qualified;

/// What is fixed about a kind. [`Facts::namespaced`] and [`Facts::cluster`] give the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    /// The plural under which the objects are served.
    pub resource: &'static str,
    pub singular: &'static str,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub scope: Scope,
    pub names: NameRule,
    pub subresources: &'static [Subresource],
    /// What a delete without a policy does to dependents; none leaves them to the collector, in the background.
    pub propagation: Option<Propagation>,
    pub delete_answer: DeleteAnswer,
    pub update: UpdateRule,
}

/// What a successful delete answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteAnswer {
    /// The object as it was last.
    Object,
    /// A `Status` that names it.
    Status,
}

/// Which updates are taken besides the ordinary one: of an object that exists, at the version that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRule {
    /// Creates the object if there is none.
    pub may_create: bool,
    /// Takes an update without a resource version over whatever is stored.
    pub may_skip_version: bool,
}

/// A part of an object with a URL of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// A part that is read and updated as the whole object is.
    Part(Part),
    Scale,
    Binding,
    Eviction,
    Token,
    Log,
    Exec,
    Attach,
    PortForward,
    Proxy,
}

/// A part that is updated by sending the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Status,
    Finalize,
    EphemeralContainers,
}

impl Part {
    pub const fn name(self) -> &'static str {
        match self {
            Part::Status => "status",
            Part::Finalize => "finalize",
            Part::EphemeralContainers => "ephemeralcontainers",
        }
    }
}

impl Subresource {
    pub const STATUS: Subresource = Subresource::Part(Part::Status);

    /// The last segment of its path.
    pub const fn name(self) -> &'static str {
        match self {
            Subresource::Part(part) => part.name(),
            Subresource::Scale => "scale",
            Subresource::Binding => "binding",
            Subresource::Eviction => "eviction",
            Subresource::Token => "token",
            Subresource::Log => "log",
            Subresource::Exec => "exec",
            Subresource::Attach => "attach",
            Subresource::PortForward => "portforward",
            Subresource::Proxy => "proxy",
        }
    }
}

impl Facts {
    /// A kind whose objects live in namespaces.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        resource: &'static str,
        singular: &'static str,
    ) -> Facts {
        Facts {
            group,
            version,
            kind,
            resource,
            singular,
            short_names: &[],
            categories: &[],
            scope: Scope::Namespaced,
            names: NameRule::DnsSubdomain,
            subresources: &[],
            propagation: None,
            delete_answer: DeleteAnswer::Status,
            update: UpdateRule { may_create: false, may_skip_version: true },
        }
    }

    /// A kind whose objects live outside of namespaces.
    pub const fn cluster(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        resource: &'static str,
        singular: &'static str,
    ) -> Facts {
        Facts { scope: Scope::Cluster, ..Facts::namespaced(group, version, kind, resource, singular) }
    }

    /// `v1`, or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// What tells the kind from all others that are stored: its group and resource.
    pub const fn resource_id(&self) -> (&'static str, &'static str) {
        (self.group, self.resource)
    }

    /// The resource as messages name it.
    pub const fn named_resource(&self) -> Qualified<'static> {
        Qualified::new(self.group, self.resource)
    }

    /// The kind as messages name it.
    pub const fn named_kind(&self) -> Qualified<'static> {
        Qualified::new(self.group, self.kind)
    }

    /// The subresource of this name, if the kind has it.
    pub fn subresource(&self, name: &str) -> Option<Subresource> {
        self.subresources.iter().copied().find(|subresource| subresource.name() == name)
    }
}
