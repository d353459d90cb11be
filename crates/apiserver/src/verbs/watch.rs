//! Watching objects: what is there, then every change, from one place in the cache on.
//!
//! A watch is pulled by its connection. Nothing is queued for it, so a client that does not read costs one chunk; when it
//! reads again too late, it is told that its place is gone and the watch ends.

mod events;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prometheus_client::metrics::counter::Counter;
use rand::RngExt as _;
use store::Revision;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::selection::Selected;
use crate::answer::{Answer, Payload};
use crate::api::{Api, stored};
use crate::cache::{Change, Happened, Item, Overtaken};
use crate::call::Call;
use crate::metrics::{Held, RequestLabels};
use crate::options::{Bookmarks, InitialEvents, ResourceVersion, WatchOptions, parse_watch};
use crate::status::Status;
use events::Teller;

/// How many changes are looked at before what is found is sent.
const MAX_CHANGES: usize = 256;
/// A chunk is sent when it has grown to this.
const CHUNK_BYTES: usize = 64 * 1024;
/// How often a watch that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts if it does not say, before some is added at random so that not all end at once.
const DEFAULT_SECONDS: u64 = 1800;

impl Api {
    /// Begins a watch of the objects that a request means.
    pub async fn watch(self: &Arc<Self>, call: &Call) -> Result<Answer, Status> {
        let options = parse_watch(&call.query)?;
        let selected = Selected::read(call, &options.selection)?;
        match options.version {
            ResourceVersion::Newest => self.catch_up().await?,
            ResourceVersion::Any => self.fresh()?,
            ResourceVersion::At(version) => self.not_older_than(version).await?,
        };
        let watching = Watching::begin(self.clone(), call, selected, &options)?;
        Ok(Answer::new(200, Payload::Watch(Box::new(watching))))
    }
}

/// A watch that is under way.
pub struct Watching {
    api: Arc<Api>,
    teller: Teller,
    selected: Selected,
    below: String,
    wake: Receiver<u64>,
    /// What was there at the beginning and has not been told yet; a last piece to tell after it.
    initial: std::vec::IntoIter<Arc<Item>>,
    after_initial: Option<Bytes>,
    /// Everything up to here has been told.
    told: Revision,
    bookmarks: Bookmarks,
    next_bookmark: Instant,
    ends: Instant,
    over: bool,
    /// Counts what is sent.
    events: Counter,
    _held: Held,
}

impl Watching {
    fn begin(api: Arc<Api>, call: &Call, selected: Selected, options: &WatchOptions) -> Result<Watching, Status> {
        let teller = Teller::new(call, api.clock)?;
        let shelf = api.cache.shelf(stored(call.kind));
        let (wake, below) = (shelf.wake(), call.below());
        let mut initial = Vec::new();
        let mut after_initial = None;
        let told = match (options.initial_events, options.version) {
            (InitialEvents::Skip, ResourceVersion::At(version)) => Revision::new(version).unwrap_or(Revision::FIRST),
            (InitialEvents::Skip, ResourceVersion::Newest | ResourceVersion::Any) => api.fresh()?,
            (InitialEvents::Send, _) => {
                let fresh = api.fresh()?;
                let listed = shelf.list(&below, None);
                initial = listed.items;
                initial.retain(|item| selected.matches(item));
                let version = fresh.max(listed.changed);
                if options.bookmarks == Bookmarks::Wanted && call.query.switch("sendInitialEvents") == Some(true) {
                    after_initial = Some(teller.initial_events_end(version));
                }
                version
            }
        };
        let now = Instant::now();
        let seconds = options.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|s| *s > 0);
        let seconds = seconds.unwrap_or_else(|| rand::rng().random_range(DEFAULT_SECONDS..2 * DEFAULT_SECONDS));
        let events = api.metrics.watch_events(call.kind.facts());
        let held = api.metrics.requests.enter_long_running(RequestLabels::of_watch(call));
        Ok(Watching {
            api,
            teller,
            selected,
            below,
            wake,
            initial: initial.into_iter(),
            after_initial,
            told,
            bookmarks: options.bookmarks,
            next_bookmark: now + BOOKMARK_EVERY,
            ends: now + Duration::from_secs(seconds),
            over: false,
            events,
            _held: held,
        })
    }

    /// The next piece to send; none when the watch is over. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if let Some(chunk) = self.initial_chunk() {
            return Some(chunk);
        }
        loop {
            self.wake.borrow_and_update();
            match self.new_changes() {
                Ok(Some(chunk)) => return Some(chunk),
                Ok(None) => {}
                Err(overtaken) => return Some(self.overtaken(overtaken)),
            }
            let wake_at =
                if self.bookmarks == Bookmarks::Wanted { self.next_bookmark.min(self.ends) } else { self.ends };
            tokio::select! {
                changed = self.wake.changed() => if changed.is_err() { return self.end() },
                () = self.api.closing.cancelled() => return self.end(),
                () = sleep_until(wake_at) => {
                    let now = Instant::now();
                    if now >= self.ends {
                        return self.end();
                    }
                    self.next_bookmark = now + BOOKMARK_EVERY;
                    return Some(self.teller.bookmark(self.told));
                }
            }
        }
    }

    fn initial_chunk(&mut self) -> Option<Bytes> {
        let mut chunk = Vec::new();
        for item in self.initial.by_ref() {
            self.teller.tell(Happened::Added, &item, &mut chunk);
            self.events.inc();
            if chunk.len() >= CHUNK_BYTES {
                return Some(chunk.into());
            }
        }
        if let Some(end) = self.after_initial.take() {
            chunk.extend_from_slice(&end);
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }

    /// What there is to tell of the changes since the last call; none if there is nothing for this watch.
    fn new_changes(&mut self) -> Result<Option<Bytes>, Overtaken> {
        loop {
            // Read before the changes: then everything up to it is among them.
            let fresh = self.api.cache.fresh();
            let shelf = self.api.cache.shelf(self.teller.stored());
            let changes = shelf.changes_after(self.told, MAX_CHANGES)?;
            let Some(last) = changes.last() else {
                self.told = self.told.max(fresh.unwrap_or(self.told));
                return Ok(None);
            };
            self.told = last.item.revision;
            if let Some(chunk) = self.chunk(&changes) {
                return Ok(Some(chunk));
            }
        }
    }

    fn chunk(&mut self, changes: &[Arc<Change>]) -> Option<Bytes> {
        let of_ours = |change: &&Arc<Change>| change.item.key.starts_with(&*self.below);
        let mut told = changes.iter().filter(of_ours).filter_map(|change| Told::of(change, &self.selected));
        let first = told.next()?;
        let Some(second) = told.next() else {
            // One event is the rule: it is sent as it lies in the cache.
            self.events.inc();
            return Some(self.teller.single(&first));
        };
        let (mut chunk, mut count) = (Vec::new(), 0);
        for told in [first, second].into_iter().chain(told) {
            self.teller.tell_change(&told, &mut chunk);
            count += 1;
        }
        self.events.inc_by(count);
        Some(chunk.into())
    }

    fn overtaken(&mut self, Overtaken { oldest }: Overtaken) -> Bytes {
        self.over = true;
        let why = format!("too old resource version: {} ({oldest})", self.told);
        events::error(&Status::expired(why))
    }

    fn end(&mut self) -> Option<Bytes> {
        self.over = true;
        (self.bookmarks == Bookmarks::Wanted).then(|| self.teller.bookmark(self.told))
    }
}

/// A change as one watch sees it: what comes into its selection is added, what leaves it is deleted.
pub struct Told {
    happened: Happened,
    item: Arc<Item>,
    /// The revision of the change, if the item is older.
    at: Option<Revision>,
}

impl Told {
    fn of(change: &Change, selected: &Selected) -> Option<Told> {
        let told = |happened, item: &Arc<Item>, at| Some(Told { happened, item: item.clone(), at });
        if selected.is_everything() {
            return told(change.happened, &change.item, None);
        }
        let was = change.previous.as_ref().filter(|item| selected.matches(item));
        let is = match change.happened {
            Happened::Added | Happened::Modified => selected.matches(&change.item),
            Happened::Deleted => false,
        };
        match (was, is, change.happened) {
            (Some(_), true, _) => told(Happened::Modified, &change.item, None),
            (None, true, _) => told(Happened::Added, &change.item, None),
            (Some(_), false, Happened::Deleted) => told(Happened::Deleted, &change.item, None),
            (Some(was), false, Happened::Added | Happened::Modified) => {
                told(Happened::Deleted, was, Some(change.item.revision))
            }
            (None, false, _) => None,
        }
    }
}
