//! Listing objects: from the cache where it shows the version that is wanted, else from the store's history.

use std::sync::Arc;

use bytes::Bytes;
use store::{RangeRequest, Revision, Store, StoreError};

use super::attempt;
use super::page::Continue;
use super::selection::Selected;
use super::shape;
use crate::answer::{Answer, List, Payload};
use crate::api::{Api, store_failure, stored};
use crate::cache::{Happened, Item};
use crate::call::Call;
use crate::keys;
use crate::negotiate::{Layout, MetaVersion, Shape};
use crate::options::{ListOptions, ResourceVersion, VersionMatch, parse_include_object, parse_list};
use crate::status::Status;
use crate::table::{Table, TableMeta, partial_object_metadata};

/// One page of a list.
pub struct Found {
    pub items: Vec<Arc<Item>>,
    /// The version that the page shows.
    pub version: Revision,
    pub continue_token: Option<String>,
    pub remaining: Option<u64>,
}

impl Api {
    /// Lists the objects that a request means.
    pub async fn list(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_list(&call.query)?;
        let found = self.find(call, &options).await?;
        self.show(call, found)
    }

    /// Finds the objects that a list means, one page of them.
    pub(super) async fn find(&self, call: &Call, options: &ListOptions) -> Result<Found, Status> {
        let selected = Selected::read(call, &options.selection)?;
        let limit = options.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let wanted = match &options.continue_token {
            Some(token) => Wanted::on(&Continue::decode(token)?),
            None => Wanted::from(options),
        };
        let last = wanted.last.as_deref();
        match wanted.version {
            Version::Newest => self.catch_up().await.map(drop)?,
            Version::Any => self.fresh().map(drop)?,
            Version::AtLeast(version) => self.not_older_than(version).await.map(drop)?,
            Version::Exactly(version) => return self.find_at(call, &selected, version, last, limit).await,
        }
        let version = self.fresh()?;
        let shelf = self.cache.shelf(stored(call.kind));
        if let Some(place) = selected.place(call) {
            let item = shelf.get(&place).filter(|item| selected.matches(item));
            let version = item.as_ref().map_or(version, |item| version.max(item.revision));
            return Ok(Found { items: item.into_iter().collect(), version, continue_token: None, remaining: None });
        }
        let listed = shelf.list(&call.below(), last);
        Ok(cut(listed.items, &selected, limit, version.max(listed.changed)))
    }

    /// A version that may be long gone from the cache.
    async fn find_at(
        &self,
        call: &Call,
        selected: &Selected,
        version: u64,
        last: Option<&str>,
        limit: usize,
    ) -> Result<Found, Status> {
        let Some(revision) = Revision::new(version) else { return Err(expired()) };
        self.not_older_than(version).await?;
        let listed = self.cache.shelf(stored(call.kind)).list(&call.below(), last);
        if listed.changed <= revision {
            return Ok(cut(listed.items, selected, limit, revision));
        }
        let facts = stored(call.kind);
        let bad = |error: store::KeyError| Status::bad_request(error.to_string());
        let start_after = last.map(|last| keys::key(facts, last)).transpose().map_err(bad)?;
        let prefix = keys::prefix(facts, &call.below()).map_err(bad)?;
        let mut request =
            Some(RangeRequest { at: Some(revision), start_after, limit: limit.min(PAGE), ..RangeRequest::of(prefix) });
        let (mut items, mut remaining) = (Vec::new(), 0);
        while let Some(asked) = request {
            let page = self.store.range(asked.clone()).await.map_err(|error| history_failure(&error))?;
            request = asked.following(&page);
            remaining = page.remaining;
            let entries = page.entries.iter().filter_map(|entry| {
                let (_, _, place) = keys::split(&entry.key)?;
                Some(Arc::new(Item::new(place, Happened::Added, &entry.value, entry.modified)))
            });
            items.extend(entries.filter(|item| selected.matches(item)));
            if items.len() >= limit {
                break;
            }
        }
        let beyond = items.len().saturating_sub(limit) as u64;
        let mut found = cut(items, selected, limit, revision);
        if remaining + beyond > 0 {
            found.continue_token = found.items.last().map(|item| Continue::after(&item.key, version).encode());
            found.remaining = selected.is_everything().then_some(remaining + beyond);
        }
        Ok(found)
    }

    fn show(&self, call: &Call, found: Found) -> Result<Answer, Status> {
        let facts = call.kind.facts();
        let meta = TableMeta {
            resource_version: Some(found.version.to_string()),
            continue_token: found.continue_token,
            remaining_item_count: found.remaining,
        };
        match call.output.shape {
            Shape::Table(version) => Ok(Answer::json(200, self.table(call, &found.items, meta, version)?)),
            Shape::PartialObjectMetadataList(version) | Shape::PartialObjectMetadata(version) => {
                let items = decoded(call, &found.items)?
                    .map(|object| object.map(|object| partial_object_metadata(object.meta(), version)));
                let items = items.collect::<Result<Vec<_>, Status>>()?;
                let list = serde_json::json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": version.api_version(), "metadata": meta, "items": items,
                });
                Ok(Answer::json(200, shape::to_json(&list)))
            }
            Shape::Whole | Shape::AggregatedDiscovery => {
                let opening = opening(&format!("{}List", facts.kind), &facts.api_version(), &meta);
                let list = List { opening, items: served(call, found.items)? };
                if call.output.layout == Layout::Pretty {
                    let whole: Bytes = list.joined().into();
                    return Ok(Answer::json(200, shape::laid_out(&call.output, whole)));
                }
                Ok(Answer::new(200, Payload::List(list)))
            }
        }
    }

    fn table(&self, call: &Call, items: &[Arc<Item>], meta: TableMeta, version: MetaVersion) -> Result<Bytes, Status> {
        let (include, now) = (parse_include_object(&call.query)?, (self.clock)());
        let rows = decoded(call, items)?.map(|object| Ok(shape::row(call.kind, &*object?, include, version, now)));
        let mut table = Table::new(version, call.kind.columns(), meta);
        table.rows = rows.collect::<Result<Vec<_>, Status>>()?;
        Ok(shape::to_json(&table))
    }
}

/// Entries that are read from the store at a time.
const PAGE: usize = 500;

/// Which version a list shows.
enum Version {
    Newest,
    Any,
    AtLeast(u64),
    Exactly(u64),
}

struct Wanted {
    version: Version,
    last: Option<String>,
}

impl Wanted {
    fn on(token: &Continue) -> Wanted {
        let version = if token.version() == 0 { Version::Newest } else { Version::Exactly(token.version()) };
        Wanted { version, last: Some(token.last().to_owned()) }
    }

    fn from(options: &ListOptions) -> Wanted {
        let version = match (options.version, options.version_match) {
            (ResourceVersion::Newest, _) => Version::Newest,
            (ResourceVersion::Any, _) => Version::Any,
            (ResourceVersion::At(version), Some(VersionMatch::Exact)) => Version::Exactly(version),
            // A limit without a match asks for that very version.
            (ResourceVersion::At(version), None) if options.limit.is_some() => Version::Exactly(version),
            (ResourceVersion::At(version), None | Some(VersionMatch::NotOlderThan)) => Version::AtLeast(version),
        };
        Wanted { version, last: None }
    }
}

/// What is selected, up to the limit.
fn cut(items: Vec<Arc<Item>>, selected: &Selected, limit: usize, version: Revision) -> Found {
    let mut items: Vec<Arc<Item>> = if selected.is_everything() {
        items
    } else {
        items.into_iter().filter(|item| selected.matches(item)).collect()
    };
    let beyond = items.len().saturating_sub(limit);
    if beyond == 0 {
        return Found { items, version, continue_token: None, remaining: None };
    }
    items.truncate(limit);
    let continue_token = items.last().map(|last| Continue::after(&last.key, version.get()).encode());
    let remaining = selected.is_everything().then_some(beyond as u64);
    Found { items, version, continue_token, remaining }
}

/// The items as this kind shows them, which is not always as they are stored.
fn served(call: &Call, items: Vec<Arc<Item>>) -> Result<Vec<Arc<Item>>, Status> {
    if call.kind.stored_as().is_none() {
        return Ok(items);
    }
    let converted = items.iter().map(|item| {
        let mut current = attempt::decode(call.kind, item)?;
        let bytes = crate::encoded::to_store(&mut *current.object);
        Ok(Arc::new(Item::new(&item.key, Happened::Added, &bytes, item.revision)))
    });
    converted.collect()
}

type Decoded<'a> = Box<dyn Iterator<Item = Result<Box<dyn crate::kind::AnyObject>, Status>> + 'a>;

fn decoded<'a>(call: &'a Call, items: &'a [Arc<Item>]) -> Result<Decoded<'a>, Status> {
    Ok(Box::new(items.iter().map(|item| Ok(attempt::decode(call.kind, item)?.object))))
}

/// The beginning of a list, up to its items.
fn opening(kind: &str, api_version: &str, meta: &TableMeta) -> Vec<u8> {
    let meta = serde_json::to_string(meta).unwrap_or_default();
    format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{meta},"items":["#).into_bytes()
}

fn history_failure(error: &StoreError) -> Status {
    match error {
        StoreError::Compacted { .. } => expired(),
        other => store_failure(other),
    }
}

fn expired() -> Status {
    Status::expired(
        "The provided continue parameter is too old to display a consistent list result. Start a new list without the continue parameter.",
    )
}
