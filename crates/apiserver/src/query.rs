//! The parameters of a URL, as upstream reads them: a malformed pair is as if it had not been sent.

use std::borrow::Cow;

use crate::percent;

/// Decoded pairs in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the `?`. Pairs with a `;` or a malformed escape are dropped; bytes that are not UTF-8
    /// become replacement characters, which no known value contains.
    pub fn parse(raw: &str) -> Query {
        Query(raw.split('&').filter_map(pair).collect())
    }

    /// Pairs that need no decoding.
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> Query {
        Query(pairs.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The first value of a parameter: where one value is meant, the first counts.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch: absent is `None`; `0` and any spelling of `false` are off; everything else is on, even nothing.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

fn pair(text: &str) -> Option<(String, String)> {
    if text.is_empty() || text.contains(';') {
        return None;
    }
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    Some((component(key)?, component(value)?))
}

/// In a query, `+` is a space.
fn component(text: &str) -> Option<String> {
    let spaced = if text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    let bytes = percent::decode(&spaced)?;
    Some(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_pairs_are_as_if_they_had_not_been_sent() {
        let query = Query::parse("a=1;b=2&limit=3&x=%zz&&flag&sp=a+b%20c%2b&limit=4&bad=%ff");
        assert_eq!(query.first("a"), None);
        assert_eq!(query.first("x"), None);
        assert_eq!(query.first("limit"), Some("3"));
        assert_eq!(query.all("limit").collect::<Vec<_>>(), ["3", "4"]);
        assert_eq!(query.first("flag"), Some(""));
        assert_eq!(query.first("sp"), Some("a b c+"));
        assert_eq!(query.first("bad"), Some("\u{fffd}"));
        assert_eq!(Query::parse(""), Query::default());
    }

    #[test]
    fn a_switch_is_on_unless_it_says_no() {
        let query = Query::parse("a=0&b=False&c=&d=true&e=no");
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|name| query.switch(name)),
            [Some(false), Some(false), Some(true), Some(true), Some(true), None]
        );
    }
}
