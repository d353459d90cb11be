//! Reads label selectors from the text of a query string.
//!
//! Blanks separate and mean nothing else; `in` and `notin` are operators only where an operator can stand, so they can
//! also be keys and values. A NUL ends what precedes it, as upstream's reader has it.

use std::collections::BTreeSet;

use super::SelectorError;
use super::labels::{Operator, Requirement, check_key};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    Word(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Token::End => "",
            Token::Open => "(",
            Token::Close => ")",
            Token::Comma => ",",
            Token::Not => "!",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::Greater => ">",
            Token::Less => "<",
            Token::Word(word) => word,
        }
    }

    fn unexpected(self, wanted: &'static str) -> SelectorError {
        SelectorError::Unexpected { found: self.text().to_owned(), wanted }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut reader = Reader { text, next: Token::End };
    reader.advance();
    let mut requirements = Vec::new();
    loop {
        match reader.next {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Not => {}
            other => return Err(other.unexpected(", expected: !, identifier, or 'end of string'")),
        }
        requirements.push(reader.requirement().map_err(|error| SelectorError::Unreadable(Box::new(error)))?);
        match reader.advance() {
            Token::End => return Ok(requirements),
            Token::Comma if matches!(reader.next, Token::Word(_) | Token::Not) => {}
            Token::Comma => return Err(reader.next.unexpected(", expected: identifier after ','")),
            other => return Err(other.unexpected(", expected: ',' or 'end of string'")),
        }
    }
}

struct Reader<'a> {
    /// What follows `next`.
    text: &'a str,
    next: Token<'a>,
}

impl<'a> Reader<'a> {
    /// Takes the next token.
    fn advance(&mut self) -> Token<'a> {
        let (token, rest) = split_token(self.text);
        self.text = rest;
        std::mem::replace(&mut self.next, token)
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut token = self.advance();
        let negated = token == Token::Not;
        if negated {
            token = self.advance();
        }
        let Token::Word(key) = token else { return Err(token.unexpected(", expected: identifier")) };
        if let Some(words) = check_key(key) {
            // Upstream knows no path here and says so.
            return Err(SelectorError::Invalid(format!("<nil>: {words}")));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.next, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?.to_owned()],
        };
        Requirement::new(key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        match self.advance() {
            Token::Word("in") => Ok(Operator::In),
            Token::Word("notin") => Ok(Operator::NotIn),
            Token::Equals => Ok(Operator::Equals),
            Token::DoubleEquals => Ok(Operator::DoubleEquals),
            Token::NotEquals => Ok(Operator::NotEquals),
            Token::Greater => Ok(Operator::GreaterThan),
            Token::Less => Ok(Operator::LessThan),
            other => Err(other.unexpected(", expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn value(&mut self) -> Result<&'a str, SelectorError> {
        if matches!(self.next, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.advance() {
            Token::Word(word) => Ok(word),
            other => Err(other.unexpected(", expected: identifier")),
        }
    }

    /// A list in parentheses. An element may be empty; each is kept once.
    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        let open = self.advance();
        if open != Token::Open {
            return Err(open.unexpected(" expected: '('"));
        }
        let mut values = BTreeSet::new();
        match self.next {
            Token::Close => drop(values.insert("")),
            Token::Word(_) | Token::Comma => self.listed(&mut values)?,
            other => return Err(other.unexpected(", expected: ',', ')' or identifier")),
        }
        self.advance();
        Ok(values.into_iter().map(str::to_owned).collect())
    }

    fn listed(&mut self, values: &mut BTreeSet<&'a str>) -> Result<(), SelectorError> {
        loop {
            match self.advance() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.next {
                        Token::Comma => {}
                        Token::Close => return Ok(()),
                        other => return Err(other.unexpected(", expected: ',' or ')'")),
                    }
                }
                Token::Comma => {
                    if values.is_empty() || matches!(self.next, Token::Close | Token::Comma) {
                        values.insert("");
                    }
                    if self.next == Token::Close {
                        return Ok(());
                    }
                }
                other => return Err(other.unexpected(", expected: ',', or identifier")),
            }
        }
    }
}

fn split_token(text: &str) -> (Token<'_>, &str) {
    let text = text.trim_start_matches(is_blank);
    let symbol = match text.as_bytes() {
        [] | [0, ..] => return (Token::End, ""),
        [b'=', b'=', ..] => Some((Token::DoubleEquals, 2)),
        [b'!', b'=', ..] => Some((Token::NotEquals, 2)),
        [b'=', ..] => Some((Token::Equals, 1)),
        [b'!', ..] => Some((Token::Not, 1)),
        [b'(', ..] => Some((Token::Open, 1)),
        [b')', ..] => Some((Token::Close, 1)),
        [b',', ..] => Some((Token::Comma, 1)),
        [b'>', ..] => Some((Token::Greater, 1)),
        [b'<', ..] => Some((Token::Less, 1)),
        _ => None,
    };
    if let Some((token, length)) = symbol {
        let rest = &text[length..];
        return (token, rest.strip_prefix('\0').unwrap_or(rest));
    }
    let end = text.find(|c| is_blank(c) || is_symbol(c) || c == '\0').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (Token::Word(word), rest.strip_prefix('\0').unwrap_or(rest))
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

const fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
