//! Options of the reading verbs: get, list, watch.

use model::field::{Errors, Path, go_quoted};

use super::{OptionsError, go_number_error, integer, verdict};
use crate::query::Query;

const KIND: &str = "ListOptions";

/// The state of the store that a reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersion {
    /// Nothing was said: the newest.
    Newest,
    /// `0`: whatever is at hand.
    Any,
    At(u64),
}

/// How the version given relates to the version read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    Exact,
    NotOlderThan,
}

impl VersionMatch {
    const fn as_str(self) -> &'static str {
        match self {
            VersionMatch::Exact => "Exact",
            VersionMatch::NotOlderThan => "NotOlderThan",
        }
    }
}

/// Which objects are meant: both selectors as sent, empty for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub labels: String,
    pub fields: String,
}

/// How to get one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetOptions {
    pub version: ResourceVersion,
}

/// How to list a collection, or which part of it to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    pub selection: Selection,
    pub version: ResourceVersion,
    pub version_match: Option<VersionMatch>,
    /// How many objects at most.
    pub limit: Option<u64>,
    /// The token of the page before.
    pub continue_token: Option<String>,
    pub timeout_seconds: Option<i64>,
}

/// Whether a watch begins with what exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialEvents {
    /// Only what changes after the version given.
    Skip,
    /// First an event for each object, then a bookmark if bookmarks are wanted.
    Send,
}

/// How to watch a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    pub selection: Selection,
    pub version: ResourceVersion,
    pub initial_events: InitialEvents,
    pub bookmarks: Bookmarks,
    pub timeout_seconds: Option<i64>,
}

/// Whether a watcher wants to be told versions at which nothing happened to its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bookmarks {
    Unwanted,
    Wanted,
}

pub fn parse_get(query: &Query) -> Result<GetOptions, OptionsError> {
    Ok(GetOptions { version: resource_version(query)? })
}

/// The options of `list` and `deletecollection`.
pub fn parse_list(query: &Query) -> Result<ListOptions, OptionsError> {
    let timeout_seconds = integer(query, "timeoutSeconds")?;
    let limit = integer(query, "limit")?.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0);
    let continue_token = non_empty(query, "continue");
    check_list(query)?;
    // A token knows its version.
    if continue_token.is_some() && !matches!(query.first("resourceVersion"), None | Some("" | "0")) {
        let why = "specifying resource version is not allowed when using continue";
        return Err(OptionsError::Malformed(why.to_owned()));
    }
    Ok(ListOptions {
        selection: selection(query),
        version: resource_version(query)?,
        version_match: version_match(query),
        limit,
        continue_token: continue_token.map(str::to_owned),
        timeout_seconds,
    })
}

/// The options of `watch`. A watch from nowhere in particular begins with what exists.
pub fn parse_watch(query: &Query) -> Result<WatchOptions, OptionsError> {
    let timeout_seconds = integer(query, "timeoutSeconds")?;
    // Means nothing to a watch and must still be a number.
    integer(query, "limit")?;
    check_watch(query)?;
    let version = resource_version(query)?;
    let from_nowhere = !matches!(version, ResourceVersion::At(_));
    let initial_events = match query.switch("sendInitialEvents") {
        Some(true) => InitialEvents::Send,
        Some(false) => InitialEvents::Skip,
        None if from_nowhere => InitialEvents::Send,
        None => InitialEvents::Skip,
    };
    let bookmarks = match query.switch("allowWatchBookmarks") {
        Some(true) => Bookmarks::Wanted,
        Some(false) | None => Bookmarks::Unwanted,
    };
    Ok(WatchOptions { selection: selection(query), version, initial_events, bookmarks, timeout_seconds })
}

fn check_list(query: &Query) -> Result<(), OptionsError> {
    let root = Path::root();
    let path = root.child("resourceVersionMatch");
    let mut errors = Errors::new();
    if let Some(sent) = non_empty(query, "resourceVersionMatch") {
        let version = non_empty(query, "resourceVersion");
        if version.is_none() {
            errors.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if non_empty(query, "continue").is_some() {
            errors.forbidden(path, "resourceVersionMatch is forbidden when continue is provided");
        }
        match version_match(query) {
            None => errors.not_supported(path, sent, &["Exact", "NotOlderThan", ""]),
            Some(VersionMatch::Exact) if version == Some("0") => {
                errors.forbidden(path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
            }
            Some(VersionMatch::Exact | VersionMatch::NotOlderThan) => {}
        }
    }
    if query.first("sendInitialEvents").is_some() {
        errors.forbidden(root.child("sendInitialEvents"), "sendInitialEvents is forbidden for list");
    }
    verdict(KIND, errors)
}

fn check_watch(query: &Query) -> Result<(), OptionsError> {
    let root = Path::root();
    let path = root.child("resourceVersionMatch");
    let mut errors = Errors::new();
    let initial_events = query.first("sendInitialEvents").is_some();
    let not_older = version_match(query) == Some(VersionMatch::NotOlderThan);
    if initial_events && !not_older {
        errors.forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if let Some(sent) = non_empty(query, "resourceVersionMatch") {
        if !initial_events {
            errors.forbidden(path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        }
        if !not_older {
            errors.not_supported(path, sent, &[VersionMatch::NotOlderThan.as_str()]);
        }
        if non_empty(query, "continue").is_some() {
            errors.forbidden(path, "resourceVersionMatch is forbidden when continue is provided");
        }
    }
    verdict(KIND, errors)
}

fn selection(query: &Query) -> Selection {
    let text = |name| query.first(name).unwrap_or_default().to_owned();
    Selection { labels: text("labelSelector"), fields: text("fieldSelector") }
}

fn version_match(query: &Query) -> Option<VersionMatch> {
    let sent = query.first("resourceVersionMatch")?;
    [VersionMatch::Exact, VersionMatch::NotOlderThan].into_iter().find(|known| known.as_str() == sent)
}

/// Go's parser takes digits only, without a sign.
fn resource_version(query: &Query) -> Result<ResourceVersion, OptionsError> {
    let text = match query.first("resourceVersion") {
        None | Some("") => return Ok(ResourceVersion::Newest),
        Some(text) => text,
    };
    let unsigned = if text.starts_with('+') { "+" } else { text };
    match unsigned.parse() {
        Ok(0) => Ok(ResourceVersion::Any),
        Ok(version) => Ok(ResourceVersion::At(version)),
        Err(error) => Err(OptionsError::Malformed(format!(
            "invalid resource version: resourceVersion: Invalid value: {}: {}",
            go_quoted(text),
            go_number_error("ParseUint", text, &error)
        ))),
    }
}

fn non_empty<'a>(query: &'a Query, name: &str) -> Option<&'a str> {
    query.first(name).filter(|value| !value.is_empty())
}
