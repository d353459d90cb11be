//! Writers that keep books: what was acknowledged, what is in doubt, and what a watch must have told in the end.
//!
//! Every writer has objects of its own, so it knows what each of them must be. A write without an answer is in doubt
//! until the object is read: then it has happened as a whole, or not at all.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{Answer, CONFIG_MAPS, Client, Credentials, Event, NoAnswer, PATIENCE, version};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Between looks at a server that is not well.
const AGAIN: Duration = Duration::from_millis(20);

const OBJECTS: usize = 4;
/// Every so many writes of an object, it is deleted.
const DELETE_EVERY: u64 = 5;

/// What a writer knows to have happened to its objects.
#[derive(Default)]
pub struct Books {
    /// What was written, by its version.
    pub written: BTreeMap<u64, (String, u64)>,
    /// How often each object was deleted.
    pub deleted: HashMap<String, usize>,
    /// Answers that were neither success nor refusal.
    pub failures: Vec<(u16, bool)>,
}

/// What one object is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Absent,
    Holds { value: u64, version: u64 },
}

pub struct Writer {
    credentials: Credentials,
    /// Changes when the server has been started again.
    runs: watch::Receiver<u64>,
    acknowledged: mpsc::Sender<()>,
    name: String,
    client: Option<Client>,
    states: [State; OBJECTS],
    books: Books,
}

impl Writer {
    pub fn new(name: String, credentials: Credentials, runs: watch::Receiver<u64>, told: mpsc::Sender<()>) -> Writer {
        let states = [State::Absent; OBJECTS];
        Writer { credentials, runs, acknowledged: told, name, client: None, states, books: Books::default() }
    }

    /// Writes until nobody listens any more; the books at the end have nothing in doubt.
    pub async fn work(mut self) -> Books {
        for count in 1.. {
            let object = count as usize % OBJECTS;
            let deletes = (count / OBJECTS as u64).is_multiple_of(DELETE_EVERY);
            self.write(object, count, deletes).await;
            if self.acknowledged.send(()).await.is_err() {
                break;
            }
        }
        self.books
    }

    fn path(&self, object: usize) -> String {
        format!("{CONFIG_MAPS}/{}-{object}", self.name)
    }

    async fn write(&mut self, object: usize, value: u64, deletes: bool) {
        let (name, path) = (format!("{}-{object}", self.name), self.path(object));
        let before = self.states[object];
        let text = value.to_string();
        let map = json!({"metadata": {"name": name}, "data": {"first": text, "second": text}});
        let Ok(client) = self.client().await else { return };
        let answer = match (before, deletes) {
            (State::Absent, _) => client.post(CONFIG_MAPS, &map).await,
            (State::Holds { .. }, false) => client.put(&path, &map).await,
            (State::Holds { .. }, true) => client.delete(&path).await,
        };
        let gone = deletes && before != State::Absent;
        let after = match answer {
            Ok(answer) if answer.code.is_success() && gone => State::Absent,
            Ok(answer) if answer.code.is_success() => holds(&answer.json()),
            Ok(answer) => {
                self.failed(&answer);
                self.settle(object).await
            }
            Err(NoAnswer(_)) => {
                self.client = None;
                self.settle(object).await
            }
        };
        let wanted = if gone { State::Absent } else { State::Holds { value, version: 0 } };
        assert!(after == before || without_version(after) == wanted, "{name}: {before:?}, then {after:?}");
        self.note(&name, before, after);
        self.states[object] = after;
    }

    /// What a write that is in doubt has come to.
    async fn settle(&mut self, object: usize) -> State {
        let settled = async {
            let mut again = tokio::time::interval(AGAIN);
            loop {
                let Ok(client) = self.client().await else { continue };
                match client.get(&self.path(object)).await {
                    Ok(answer) if answer.code == 404 => return State::Absent,
                    Ok(answer) if answer.code == 200 => return holds(&answer.json()),
                    Ok(answer) => {
                        self.failed(&answer);
                        again.tick().await;
                    }
                    Err(NoAnswer(_)) => self.client = None,
                }
            }
        };
        timeout(PATIENCE, settled).await.expect("the server answers again")
    }

    /// A failure must say so and must not claim that the client was wrong.
    fn failed(&mut self, answer: &Answer) {
        let status = answer.refusal();
        assert!(answer.code.is_server_error(), "{status}");
        self.books.failures.push((answer.code.as_u16(), answer.headers.contains_key("retry-after")));
    }

    /// A connection: the one there is, or a new one once the server has been started again.
    async fn client(&mut self) -> Result<Client, NoAnswer> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let seen = *self.runs.borrow_and_update();
        match Client::http2(&self.credentials).await {
            Ok(client) => Ok(self.client.insert(client).clone()),
            Err(error) => {
                // It may have been started between the attempt and now; whoever started it is gone at the end.
                let _ = timeout(PATIENCE, self.runs.wait_for(|runs| *runs != seen)).await;
                Err(error)
            }
        }
    }

    fn note(&mut self, name: &str, before: State, after: State) {
        match after {
            _ if after == before => {}
            State::Holds { value, version } => {
                assert!(self.books.written.insert(version, (name.to_owned(), value)).is_none(), "{version} twice");
            }
            State::Absent => *self.books.deleted.entry(name.to_owned()).or_default() += 1,
        }
    }
}

fn without_version(state: State) -> State {
    match state {
        State::Absent => State::Absent,
        State::Holds { value, .. } => State::Holds { value, version: 0 },
    }
}

fn holds(object: &Value) -> State {
    assert_eq!(object["data"]["first"], object["data"]["second"], "half of a write in {object}");
    State::Holds { value: value_of(object), version: version(object) }
}

fn value_of(object: &Value) -> u64 {
    object["data"]["first"].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{object}"))
}

/// Watches config maps from a version on, and reads on where it stopped when the connection ends, until `last` is there.
pub async fn follow(credentials: Credentials, mut runs: watch::Receiver<u64>, from: u64, last: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut seen = from;
    let mut again = tokio::time::interval(AGAIN);
    loop {
        let run = *runs.borrow_and_update();
        let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={seen}");
        let watch = match Client::http2(&credentials).await {
            Ok(client) => client.send(tests::client::request(http::Method::GET, &path, "")).await,
            Err(error) => Err(error),
        };
        match watch {
            Ok(response) if response.status() == 200 => {
                let mut watch = tests::client::Watch::new(response);
                while let Ok(Some(event)) = watch.next().await {
                    assert_ne!(event.kind(), "ERROR", "after {seen}: {event:?}");
                    seen = event.version();
                    let ended = event.name() == last;
                    events.push(event);
                    if ended {
                        return events;
                    }
                }
            }
            Ok(response) => {
                assert!(response.status().is_server_error(), "a watch from {seen}: {}", response.status());
                again.tick().await;
            }
            Err(NoAnswer(_)) => {
                timeout(PATIENCE, runs.wait_for(|now| *now != run)).await.expect("it comes back").expect("a test");
            }
        }
    }
}

/// What was told is what happened: every write once, in order, as it was, and nothing else.
pub fn check(books: &[Books], events: &[Event]) {
    let versions: Vec<u64> = events.iter().map(Event::version).collect();
    assert!(versions.is_sorted_by(|one, next| one < next), "events are not in order, or repeated");
    let mut told: BTreeMap<u64, &Event> = events.iter().map(|event| (event.version(), event)).collect();
    for (version, (name, value)) in books.iter().flat_map(|books| &books.written) {
        let event = told.remove(version).unwrap_or_else(|| panic!("{name} at {version} was not told"));
        assert!(matches!(event.kind(), "ADDED" | "MODIFIED"), "{event:?}");
        assert_eq!((event.name(), value_of(&event.0["object"])), (name.as_str(), *value));
    }
    let mut deleted: HashMap<String, usize> = HashMap::new();
    for event in told.values() {
        assert_eq!(event.kind(), "DELETED", "nobody wrote {event:?}");
        *deleted.entry(event.name().to_owned()).or_default() += 1;
    }
    let expected: HashMap<String, usize> = books.iter().flat_map(|books| books.deleted.clone()).collect();
    assert_eq!(deleted, expected);
}
