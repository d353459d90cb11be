//! Who a container's process is: what the pod asks for, else what the image says, with the groups of both.

use cri::v1::{Int64Value, LinuxContainerUser, SupplementalGroupsPolicy};

use super::security::Security;
use super::{Request, SpecError};

/// A user with all its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
    /// The primary one first, then those of the image, then those of the pod.
    pub groups: Vec<u32>,
    pub home: String,
}

impl Identity {
    pub fn to_cri(&self) -> LinuxContainerUser {
        LinuxContainerUser {
            uid: i64::from(self.uid),
            gid: i64::from(self.gid),
            supplemental_groups: self.groups.iter().copied().map(i64::from).collect(),
        }
    }
}

pub fn identity(request: &Request<'_>, security: &Security) -> Result<Identity, SpecError> {
    let context = &security.context;
    let asked = asked(security)?;
    let wanted = asked.unwrap_or_else(|| request.image.user.clone());
    let found = request.users.find(&wanted)?;
    let policy = SupplementalGroupsPolicy::try_from(context.supplemental_groups_policy).map_err(|_| {
        let number = context.supplemental_groups_policy;
        SpecError::invalid("supplemental_groups_policy", number, "is neither Merge (0) nor Strict (1)")
    })?;
    let memberships = match (policy, wanted.split_once(':')) {
        (SupplementalGroupsPolicy::Strict, _) => Vec::new(),
        (SupplementalGroupsPolicy::Merge, None) => found.groups,
        // The image's groups of the user count even if another primary one is given.
        (SupplementalGroupsPolicy::Merge, Some((name, _))) => request.users.find(name)?.groups,
    };
    let mut groups = vec![found.gid];
    let asked_groups = context.supplemental_groups.iter().map(|group| number("supplemental_groups", *group));
    for group in memberships.into_iter().map(Ok).chain(asked_groups) {
        let group = group?;
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    Ok(Identity { uid: found.uid, gid: found.gid, groups, home: found.home })
}

/// `user[:group]` as the pod asks for it, if it does.
fn asked(security: &Security) -> Result<Option<String>, SpecError> {
    let context = &security.context;
    let value = |field, value: &Option<Int64Value>| value.map(|given| number(field, given.value)).transpose();
    let (uid, gid) = (value("run_as_user", &context.run_as_user)?, value("run_as_group", &context.run_as_group)?);
    let name = &context.run_as_username;
    if name.contains(':') {
        return Err(SpecError::invalid("run_as_username", name, "contains a colon"));
    }
    let user = if name.is_empty() { uid.map(|uid| uid.to_string()) } else { Some(name.clone()) };
    match (user, gid) {
        (Some(user), Some(gid)) => Ok(Some(format!("{user}:{gid}"))),
        (Some(user), None) => Ok(Some(user)),
        (None, Some(gid)) => Err(SpecError::GroupWithoutUser(i64::from(gid))),
        (None, None) => Ok(None),
    }
}

/// The highest number means "nobody in particular" to the system.
fn number(field: &'static str, value: i64) -> Result<u32, SpecError> {
    let number = u32::try_from(value).ok().filter(|number| *number != u32::MAX);
    number.ok_or_else(|| SpecError::invalid(field, value, "is not a number from 0 to 4294967294"))
}
