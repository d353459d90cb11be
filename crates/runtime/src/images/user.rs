//! Who a container's process is: the image's or the pod's `user[:group]`, looked up in the root file system's own
//! `/etc/passwd` and `/etc/group`. Both are read inside that root only, whatever links lie on the way, and bounded.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use thiserror::Error;

const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const GROUPS_MAX: usize = 65_536;

/// Why a user cannot be found.
#[derive(Debug, Error)]
pub enum UserError {
    #[error("user {user:?}: no {what} named {name:?} in the image's {file}")]
    Unknown { user: String, what: &'static str, name: String, file: &'static str },
    #[error("user {user:?} is not of the form user[:group]")]
    Form { user: String },
    #[error("the image's {file} is no regular file of at most {FILE_BYTES_MAX} bytes")]
    File { file: &'static str },
    #[error("cannot read the image's {file}: {source}")]
    Read { file: &'static str, source: io::Error },
}

/// Who runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    /// Supplementary groups, in order, without the primary one.
    pub groups: Vec<u32>,
    /// Where the user is at home; the root if nobody says.
    pub home: String,
}

const PASSWD: &str = "etc/passwd";
const GROUP: &str = "etc/group";

/// Finds a user in the root file system that a directory is the root of. Nothing given means root.
pub fn find(root: impl AsFd, user: &str) -> Result<User, UserError> {
    let passwd = read(root.as_fd(), PASSWD)?;
    let group = read(root.as_fd(), GROUP)?;
    resolve(user, &passwd, &group)
}

/// The same on the texts of the two files.
pub fn resolve(user: &str, passwd: &str, group: &str) -> Result<User, UserError> {
    let (name, group_name) = user.split_once(':').map_or((user, None), |(name, group)| (name, Some(group)));
    let form = || UserError::Form { user: user.to_owned() };
    if group_name.is_some_and(|group| group.is_empty() || group.contains(':')) {
        return Err(form());
    }
    let name = if name.is_empty() { "0" } else { name };
    let line = account(passwd, name);
    let number = number(name);
    let uid = match (&line, number) {
        (Some(line), _) => line.uid,
        (None, Some(number)) => number,
        (None, None) => return Err(unknown(user, "user", name, "/etc/passwd")),
    };
    let gid = match group_name {
        None => line.as_ref().map_or(0, |line| line.gid),
        Some(wanted) => match (group_id(group, wanted), self::number(wanted)) {
            (Some(gid), _) | (None, Some(gid)) => gid,
            (None, None) => return Err(unknown(user, "group", wanted, "/etc/group")),
        },
    };
    // With a group given, the user is in that one alone.
    let groups = match (&line, group_name) {
        (Some(line), None) => memberships(group, &line.name).into_iter().filter(|member| *member != gid).collect(),
        (_, Some(_)) | (None, None) => Vec::new(),
    };
    let home = line.map(|line| line.home).filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".to_owned());
    Ok(User { uid, gid, groups, home })
}

fn unknown(user: &str, what: &'static str, name: &str, file: &'static str) -> UserError {
    UserError::Unknown { user: user.to_owned(), what, name: name.to_owned(), file }
}

struct Account {
    name: String,
    uid: u32,
    gid: u32,
    home: String,
}

/// The first line of that name; for a number, else, the first line of that number.
fn account(passwd: &str, wanted: &str) -> Option<Account> {
    let accounts = || {
        passwd.lines().filter_map(|line| {
            let fields: Vec<&str> = line.trim().split(':').collect();
            let (uid, gid) = (number(fields.get(2)?)?, number(fields.get(3)?)?);
            let home = fields.get(5).unwrap_or(&"").to_string();
            Some(Account { name: fields[0].to_owned(), uid, gid, home }).filter(|account| !account.name.is_empty())
        })
    };
    let by_number = || accounts().find(|account| Some(account.uid) == number(wanted));
    accounts().find(|account| account.name == wanted).or_else(by_number)
}

/// Name, number and members of every group.
fn groups(group: &str) -> impl Iterator<Item = (&str, u32, &str)> {
    group.lines().filter_map(|line| {
        let mut fields = line.trim().split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let gid = number(fields.nth(1)?)?;
        Some((name, gid, fields.next().unwrap_or_default()))
    })
}

fn group_id(group: &str, wanted: &str) -> Option<u32> {
    groups(group).find(|(name, _, _)| *name == wanted).map(|(_, gid, _)| gid)
}

fn memberships(group: &str, name: &str) -> Vec<u32> {
    let member = |(_, gid, members): (&str, u32, &str)| members.split(',').any(|member| member == name).then_some(gid);
    let mut found: Vec<u32> = groups(group).filter_map(member).take(GROUPS_MAX).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The highest number means "nobody in particular" to the system.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number != u32::MAX)
}

/// A file inside the root; a missing one is empty.
fn read(root: impl AsFd, file: &'static str) -> Result<String, UserError> {
    // Without waiting: a pipe in its place would otherwise never open.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = match openat2(root, file, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS) {
        Ok(opened) => File::from(opened),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(String::new()),
        Err(error) => return Err(UserError::Read { file, source: error.into() }),
    };
    let failed = |source| UserError::Read { file, source };
    let facts = opened.metadata().map_err(failed)?;
    if !facts.is_file() || facts.len() > FILE_BYTES_MAX {
        return Err(UserError::File { file });
    }
    let mut bytes = Vec::new();
    opened.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
