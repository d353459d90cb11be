//! What a registry wants to see before it answers: the `WWW-Authenticate` header.

/// A way to prove who one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// The best way that the header values offer: a token rather than the password itself.
    pub fn choose<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
        let offered: Vec<Challenge> = headers.flat_map(read).collect();
        let token = offered.iter().find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
        token.or(offered.first()).cloned()
    }
}

/// All ways of one header that we know; a header may hold several.
fn read(header: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut rest = header.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let (scheme, after) = rest.split_once(' ').unwrap_or((rest.trim_end_matches(','), ""));
        let (parameters, after) = parameters(after);
        let value = |key: &str| {
            let named = parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
            named.map(|(_, value)| value.clone())
        };
        if scheme.eq_ignore_ascii_case("basic") {
            found.push(Challenge::Basic);
        } else if let (true, Some(realm)) = (scheme.eq_ignore_ascii_case("bearer"), value("realm")) {
            found.push(Challenge::Bearer { realm, service: value("service"), scope: value("scope") });
        }
        rest = after.trim_start_matches([' ', ',']);
    }
    found
}

/// `key=value` pairs up to the next scheme, and the rest.
fn parameters(mut rest: &str) -> (Vec<(String, String)>, &str) {
    let mut parameters = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        let end = rest.find([' ', ',', '=', '"']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        // A word without a value is the next scheme.
        let Some(after) = after.strip_prefix('=').filter(|_| !key.is_empty()) else { return (parameters, rest) };
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = after.find([' ', ',']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        parameters.push((key.to_owned(), value));
        rest = after;
    }
}

fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Option<Challenge> {
        let (service, scope) = (service.map(ToOwned::to_owned), scope.map(ToOwned::to_owned));
        Some(Challenge::Bearer { realm: realm.to_owned(), service, scope })
    }

    #[test]
    fn challenges_of_real_registries_are_read() {
        let rows = [
            (
                r#"Bearer realm="https://a.example/token",service="s",scope="repository:x/y:pull,push""#,
                bearer("https://a.example/token", Some("s"), Some("repository:x/y:pull,push")),
            ),
            (
                r#"bearer  realm=https://a.example , service="with \"quotes\"""#,
                bearer("https://a.example", Some("with \"quotes\""), None),
            ),
            (r#"Basic realm="Registry""#, Some(Challenge::Basic)),
            ("Basic", Some(Challenge::Basic)),
            (r#"Basic realm="x", Bearer realm="https://b.example""#, bearer("https://b.example", None, None)),
            (r#"Negotiate, Basic realm="x""#, Some(Challenge::Basic)),
            (r#"Bearer service="no realm""#, None),
            ("", None),
            (r#"Digest a="b"#, None),
            ("=,=,\"", None),
        ];
        for (header, expected) in rows {
            assert_eq!(Challenge::choose([header].into_iter()), expected, "{header}");
        }
    }

    #[test]
    fn a_token_is_preferred_over_several_headers() {
        let headers = [r#"Basic realm="x""#, r#"Bearer realm="https://b.example""#];
        assert_eq!(Challenge::choose(headers.into_iter()), bearer("https://b.example", None, None));
    }
}
