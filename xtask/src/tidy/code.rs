//! Rust text with code and comments told apart, so that a word in a string or a comment is not taken for code.
//!
//! Line numbers are kept: what is left out of either text is replaced by blanks.

/// The two texts.
#[derive(Debug)]
pub struct Code {
    /// Without comments, strings and character literals.
    pub code: String,
    /// Comments alone.
    pub comments: String,
}

impl Code {
    pub fn of(text: &str) -> Code {
        let mut split = Code { code: String::new(), comments: String::new() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (length, kind) = piece(rest, first, split.code.chars().next_back());
            let (taken, after) = rest.split_at(length);
            split.put(taken, kind);
            rest = after;
        }
        split
    }

    fn put(&mut self, text: &str, kind: Kind) {
        let blank: String = text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        self.code.push_str(if kind == Kind::Code { text } else { &blank });
        self.comments.push_str(if kind == Kind::Comment { text } else { &blank });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The length and kind of what the text starts with.
fn piece(text: &str, first: char, before: Option<char>) -> (usize, Kind) {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match first {
        '/' if text.starts_with("//") => (text.find('\n').unwrap_or(text.len()), Kind::Comment),
        '/' if text.starts_with("/*") => (block_comment(text), Kind::Comment),
        '"' => (1 + quoted(&text[1..], '"'), Kind::Literal),
        'r' | 'b' | 'c' if !in_word => match raw_string(text) {
            Some(length) => (length, Kind::Literal),
            None => (1, Kind::Code),
        },
        '\'' => match character(text) {
            Some(length) => (length, Kind::Literal),
            None => (1, Kind::Code),
        },
        other => (other.len_utf8(), Kind::Code),
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length up to and with the closing mark.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// `r"…"`, `br#"…"#` and the like.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let hashes = text[prefix.len()..].chars().take_while(|c| *c == '#').count();
    let start = prefix.len() + hashes;
    let body = text[start..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(start + 1 + end)
}

/// A character literal; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let body = &text[1..];
    let first = body.chars().next()?;
    let closed = body[first.len_utf8()..].starts_with('\'');
    (first == '\\' || closed).then(|| 1 + quoted(body, '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_blank_in_the_code() {
        let rows = [
            ("a // b\nc", "a     \nc"),
            ("x(\"// no\\\" \", 'y')", "x(          ,    )"),
            ("f::<'a>('\\'', '\"')", "f::<'a>(    ,    )"),
            ("r#\"a \" b\"# + br\"c\"", "           +      "),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("let r = 1; for", "let r = 1; for"),
        ];
        for (text, code) in rows {
            assert_eq!(Code::of(text).code.trim_end(), code.trim_end(), "{text}");
        }
    }

    #[test]
    fn comments_are_kept_on_their_lines() {
        let split = Code::of("a\nb // c\n\"// d\"");
        assert_eq!(split.comments.lines().map(str::trim).collect::<Vec<_>>(), ["", "// c", ""]);
    }
}
