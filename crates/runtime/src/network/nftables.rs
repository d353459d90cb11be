//! nf_tables, over netlink: a table of our own is replaced as a whole, in one transaction.
//!
//! Replacing needs no handles, heals what others changed, and is the same after a crash as ever: before and after it
//! the kernel has one complete table. What the rules say is `rules`'s business.

mod expression;

use std::io;

use rustix::io::Errno;

use super::netlink::{APPEND, CREATE, Family, Message, Socket, attributes};

pub use expression::{Comparison, Expression, Verdict};

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const DELETE_TABLE: u16 = (SUBSYSTEM << 8) | 2;
const NEW_CHAIN: u16 = (SUBSYSTEM << 8) | 3;
const NEW_RULE: u16 = (SUBSYSTEM << 8) | 6;
const GET_RULE: u16 = (SUBSYSTEM << 8) | 7;
const DELETE_RULE: u16 = (SUBSYSTEM << 8) | 8;

/// IPv4 and IPv6 in one table.
const FAMILY_INET: u8 = 1;
const HEADER: usize = 4;

const TABLE_NAME: u16 = 1;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const RULE_USERDATA: u16 = 7;
/// How `nft` marks a comment in the data that the kernel keeps for its users.
const USERDATA_COMMENT: u8 = 0;
/// `nft` shows no longer ones.
const MAX_COMMENT: usize = 127;

/// Where the kernel asks a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Before routing, and before connections are tracked.
    RawPrerouting,
    NatPrerouting,
    NatOutput,
    NatPostrouting,
}

/// Rules in their order; without a hook they are only jumped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub name: &'static str,
    pub hook: Option<Hook>,
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// For the people who list the rules.
    pub comment: String,
    pub expressions: Vec<Expression>,
}

/// A rule that the kernel has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub chain: String,
    pub comment: String,
    /// The kinds of its expressions, in order.
    pub expressions: Vec<String>,
}

/// The tables of one network namespace.
#[derive(Debug)]
pub struct Tables {
    socket: Socket,
}

impl Hook {
    fn kind(self) -> &'static str {
        match self {
            Self::RawPrerouting => "filter",
            Self::NatPrerouting | Self::NatOutput | Self::NatPostrouting => "nat",
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::RawPrerouting | Self::NatPrerouting => 0,
            Self::NatOutput => 3,
            Self::NatPostrouting => 4,
        }
    }

    fn priority(self) -> i32 {
        match self {
            Self::RawPrerouting => -300,
            Self::NatPrerouting | Self::NatOutput => -100,
            Self::NatPostrouting => 100,
        }
    }
}

impl Tables {
    /// Those of the calling thread's namespace, for as long as the value lives.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::open(Family::Netfilter)? })
    }

    /// Makes a table have exactly these chains' rules. Chains must be named before those that jump to them.
    pub fn replace(&mut self, table: &str, chains: &[Chain]) -> io::Result<()> {
        let mut messages = vec![message(NEW_TABLE, CREATE).text(TABLE_NAME, table)];
        messages.extend(chains.iter().map(|chain| new_chain(table, chain)));
        for chain in chains {
            messages.push(message(DELETE_RULE, 0).text(RULE_TABLE, table).text(RULE_CHAIN, chain.name));
        }
        for chain in chains {
            messages.extend(chain.rules.iter().map(|rule| new_rule(table, chain.name, rule)));
        }
        self.socket.batch(batch(BATCH_BEGIN), messages, batch(BATCH_END))
    }

    /// Removes a table; one that is not there is no error.
    pub fn remove(&mut self, table: &str) -> io::Result<()> {
        let delete = message(DELETE_TABLE, 0).text(TABLE_NAME, table);
        match self.socket.batch(batch(BATCH_BEGIN), vec![delete], batch(BATCH_END)) {
            Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => Ok(()),
            other => other,
        }
    }

    /// The rules of a table as the kernel has them.
    pub fn rules(&mut self, table: &str) -> io::Result<Vec<Installed>> {
        let answers = self.socket.dump(message(GET_RULE, 0))?;
        Ok(answers.iter().filter_map(|answer| installed(table, answer.payload.get(HEADER..)?)).collect())
    }
}

fn message(kind: u16, flags: u16) -> Message {
    Message::new(kind, flags).fixed(&[FAMILY_INET, 0, 0, 0])
}

fn batch(kind: u16) -> Message {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    Message::new(kind, 0).fixed(&[0, 0, high, low])
}

fn new_chain(table: &str, chain: &Chain) -> Message {
    let message = message(NEW_CHAIN, CREATE).text(CHAIN_TABLE, table).text(CHAIN_NAME, chain.name);
    let Some(hook) = chain.hook else { return message };
    let place = |inside: Message| {
        inside
            .attribute(HOOK_NUMBER, &hook.number().to_be_bytes())
            .attribute(HOOK_PRIORITY, &hook.priority().to_be_bytes())
    };
    message.nested(CHAIN_HOOK, place).text(CHAIN_TYPE, hook.kind())
}

fn new_rule(table: &str, chain: &str, rule: &Rule) -> Message {
    let expressions = |list: Message| rule.expressions.iter().fold(list, |list, expression| expression.write(list));
    message(NEW_RULE, CREATE | APPEND)
        .text(RULE_TABLE, table)
        .text(RULE_CHAIN, chain)
        .nested(RULE_EXPRESSIONS, expressions)
        .attribute(RULE_USERDATA, &userdata(&rule.comment))
}

/// A kind, a length, and text with its NUL.
fn userdata(comment: &str) -> Vec<u8> {
    let comment = &comment.as_bytes()[..comment.floor_char_boundary(MAX_COMMENT)];
    let length = u8::try_from(comment.len() + 1).expect("comments are short");
    [&[USERDATA_COMMENT, length], comment, &[0]].concat()
}

fn installed(table: &str, payload: &[u8]) -> Option<Installed> {
    let find = |kind: u16| attributes(payload).find(|attribute| attribute.kind == kind);
    if find(RULE_TABLE)?.text() != table {
        return None;
    }
    let comment = find(RULE_USERDATA).and_then(|data| match data.value {
        [USERDATA_COMMENT, _, text @ ..] => {
            let text = text.strip_suffix(&[0]).unwrap_or(text);
            Some(String::from_utf8_lossy(text).into_owned())
        }
        _ => None,
    });
    let expressions = find(RULE_EXPRESSIONS).map(expression::kinds).unwrap_or_default();
    Some(Installed { chain: find(RULE_CHAIN)?.text(), comment: comment.unwrap_or_default(), expressions })
}
