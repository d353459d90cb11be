//! Paths and parameters: every reader of them takes any, and a page's token is read back as it was written.

use apiserver::negotiate::BodyFormat;
use apiserver::options::{WriteVerb, parse_delete, parse_get, parse_list, parse_watch, parse_write};
use apiserver::path;
use apiserver::query::Query;
use apiserver::verbs::Continue;

pub fn request_line(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    drop(path::parse(path));
    let query = Query::parse(query);
    drop(parse_get(&query));
    drop(parse_watch(&query));
    drop(parse_delete(&query, b"", BodyFormat::Json));
    for verb in [WriteVerb::Create, WriteVerb::Update, WriteVerb::Patch] {
        drop(parse_write(&query, verb));
    }
    let Ok(list) = parse_list(&query) else { return };
    assert_ne!(list.limit, Some(0), "no limit is no limit");
    let Some(token) = list.continue_token.and_then(|token| Continue::decode(&token).ok()) else { return };
    assert_eq!(Continue::decode(&token.encode()).ok(), Some(token), "{text:?}");
}
