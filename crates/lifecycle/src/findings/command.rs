//! What an argument list tells: the shell in it, how long it lasts, whether it is a list at all.

use std::time::Duration;

use super::script::Script;

/// How long a command lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(Duration),
    /// It limits itself.
    AtMost(Duration),
    /// It never ends by itself.
    Endless,
    Unknown,
}

impl Length {
    /// Whether it certainly takes at least `span`.
    pub(super) fn is_at_least(self, span: Duration) -> bool {
        match self {
            Length::Known(length) => length >= span,
            Length::Endless => true,
            Length::AtMost(_) | Length::Unknown => false,
        }
    }
}

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];

/// What only a shell understands, as an argument of its own.
const OPERATORS: [&str; 10] = ["&&", "||", "|", ";", ">", ">>", "<", "&", "2>", "2>&1"];

/// Words at which a shell begins to work, but which are no programs.
const SHELL_WORDS: [&str; 11] = ["source", ".", "exec", "eval", "trap", "export", "unset", "set", "if", "while", "for"];

/// Programs for which a lone operator is an ordinary argument.
const TAKE_OPERATORS: [&str; 4] = ["find", "test", "[", "expr"];

/// A program's name without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rfind('/').map_or(program, |slash| &program[slash + 1..])
}

/// The shell that runs as the first process, and its arguments.
pub(super) fn shell<S: AsRef<str>>(arguments: &[S]) -> Option<(&str, &[S])> {
    let (program, rest) = arguments.split_first()?;
    match base_name(program.as_ref()) {
        "env" | "busybox" => {
            let (program, rest) = rest.split_first()?;
            Some(base_name(program.as_ref())).filter(|name| SHELLS.contains(name)).map(|name| (name, rest))
        }
        name => SHELLS.contains(&name).then_some((name, rest)),
    }
}

/// The text a shell was given with `-c`.
pub(super) fn shell_script<S: AsRef<str>>(arguments: &[S]) -> Option<&str> {
    let (_, options) = shell(arguments)?;
    let mut from_text = false;
    let mut options = options.iter().map(AsRef::as_ref);
    while let Some(option) = options.next() {
        if !option.starts_with(['-', '+']) {
            return from_text.then_some(option);
        }
        if !option.starts_with("--") {
            from_text |= option.starts_with('-') && option.contains('c');
            if option.contains('o') {
                options.next();
            }
        }
    }
    None
}

/// How long the command lasts, where its words tell.
pub(super) fn length(arguments: &[String]) -> Length {
    if is_shell_line(arguments) {
        return Length::Known(Duration::ZERO);
    }
    match shell_script(arguments) {
        Some(text) => Script::read(text).one_command().map_or(Length::Unknown, simple_length),
        None => simple_length(arguments),
    }
}

fn simple_length(words: &[String]) -> Length {
    let words = match words.split_first() {
        Some((first, rest)) if first == "exec" => rest,
        _ => words,
    };
    match words.split_first() {
        Some((program, times)) if base_name(program) == "sleep" => sleep_length(times),
        Some((program, rest)) if base_name(program) == "timeout" => timeout_length(rest),
        _ => Length::Unknown,
    }
}

/// Several times are added up, as GNU sleep does.
fn sleep_length(times: &[String]) -> Length {
    if times.is_empty() {
        return Length::Unknown;
    }
    let mut sum = Duration::ZERO;
    for time in times {
        match parse_time(time) {
            Length::Known(span) => sum = sum.saturating_add(span),
            other @ (Length::Endless | Length::AtMost(_) | Length::Unknown) => return other,
        }
    }
    Length::Known(sum)
}

/// `timeout [-s SIGNAL] [-k TIME] TIME COMMAND`; a time of zero is no limit.
fn timeout_length(words: &[String]) -> Length {
    let mut words = words.iter().map(String::as_str);
    let mut more = Duration::ZERO;
    while let Some(word) = words.next() {
        match word {
            "-s" | "--signal" => drop(words.next()),
            "-k" | "--kill-after" => match words.next().map(parse_time) {
                Some(Length::Known(span)) => more = span,
                _ => return Length::Unknown,
            },
            option if option.starts_with('-') => {}
            time => {
                return match parse_time(time) {
                    Length::Known(span) if !span.is_zero() => Length::AtMost(span.saturating_add(more)),
                    Length::Known(_) | Length::AtMost(_) | Length::Endless | Length::Unknown => Length::Unknown,
                };
            }
        }
    }
    Length::Unknown
}

/// `10`, `10s`, `0.5m`, `1h`, `1d`, `infinity`.
fn parse_time(text: &str) -> Length {
    if matches!(text, "infinity" | "inf") {
        return Length::Endless;
    }
    let units = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0)];
    let unit = units.into_iter().find_map(|(unit, seconds)| text.strip_suffix(unit).map(|number| (number, seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Length::Unknown;
    }
    match number.parse::<f64>() {
        Ok(value) => Duration::try_from_secs_f64(value * seconds).map_or(Length::Endless, Length::Known),
        Err(_) => Length::Unknown,
    }
}

/// Whether the list is a line meant for a shell, which no program of that name will understand.
pub(super) fn is_shell_line(arguments: &[String]) -> bool {
    let Some((program, rest)) = arguments.split_first() else { return false };
    if program.contains(char::is_whitespace) || SHELL_WORDS.contains(&program.as_str()) {
        return true;
    }
    if TAKE_OPERATORS.contains(&base_name(program)) {
        return false;
    }
    let before_shell = rest.iter().take_while(|word| !SHELLS.contains(&base_name(word)));
    let for_shell =
        |word: &String| OPERATORS.contains(&word.as_str()) || word.starts_with("$(") || word.starts_with('`');
    !SHELLS.contains(&base_name(program)) && before_shell.into_iter().any(for_shell)
}

/// Whether a line is only words, so that a list of them means the same.
pub(super) fn is_plain_line(line: &str) -> bool {
    let words_only = !line.contains(|c: char| "|&;<>()$`\\\"'*?[#~{}!\n".contains(c));
    words_only && line.split_whitespace().next().is_some_and(|first| !SHELL_WORDS.contains(&first))
}

/// The list as it is written in a manifest, if it is short enough to read.
pub(super) fn quoted(arguments: &[String]) -> Option<String> {
    const READABLE_BYTES: usize = 160;
    if arguments.iter().map(String::len).sum::<usize>() > READABLE_BYTES {
        return None;
    }
    Some(arguments.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    fn seconds(list: &[&str]) -> Option<f64> {
        match length(&words(list)) {
            Length::Known(span) => Some(span.as_secs_f64()),
            Length::AtMost(_) | Length::Endless | Length::Unknown => None,
        }
    }

    #[test]
    fn a_sleep_is_recognised_with_and_without_a_shell() {
        let rows: [(&[&str], f64); 8] = [
            (&["sleep", "10"], 10.0),
            (&["/bin/sleep", "10s"], 10.0),
            (&["/bin/sh", "-c", "sleep 10"], 10.0),
            (&["bash", "-ec", "exec sleep 1m"], 60.0),
            (&["sh", "-euo", "pipefail", "-c", " sleep 0.5 "], 0.5),
            (&["busybox", "sh", "-c", "/bin/sleep 1h"], 3600.0),
            (&["sleep", "1m", "30"], 90.0),
            (&["sleep", "1d"], 86_400.0),
        ];
        for (list, expected) in rows {
            assert_eq!(seconds(list), Some(expected), "{list:?}");
        }
        assert_eq!(length(&words(&["sleep", "infinity"])), Length::Endless);
        assert_eq!(length(&words(&["sleep", &"9".repeat(400)])), Length::Endless);
        for list in [&["sleep"][..], &["sleep", "-1"], &["sleep", "x"], &["sh", "-c", "sleep 1; a"], &["sh", "sleep 1"]]
        {
            assert_eq!(length(&words(list)), Length::Unknown, "{list:?}");
        }
    }

    #[test]
    fn a_timeout_limits_what_it_runs() {
        let at_most = |seconds| Length::AtMost(Duration::from_secs(seconds));
        assert_eq!(length(&words(&["timeout", "20", "drain"])), at_most(20));
        assert_eq!(length(&words(&["timeout", "-s", "INT", "-k", "5", "1m", "drain"])), at_most(65));
        assert_eq!(length(&words(&["sh", "-c", "timeout 3 drain"])), at_most(3));
        for list in [&["timeout", "0", "drain"][..], &["timeout"], &["timeout", "-k"], &["timeout", "drain"]] {
            assert_eq!(length(&words(list)), Length::Unknown, "{list:?}");
        }
    }

    #[test]
    fn lines_for_a_shell_are_told_from_lists() {
        let lines: [&[&str]; 7] = [
            &["sleep 5"],
            &["sleep", "5", "&&", "nginx", "-s", "quit"],
            &["kill", "$(cat", "/run/pid)"],
            &["echo", "x", ">", "/tmp/x"],
            &["kill", "`cat /run/pid`"],
            &["source", "/env"],
            &["nginx -s", "quit"],
        ];
        assert!(lines.iter().all(|list| is_shell_line(&words(list))));
        let lists: [&[&str]; 7] = [
            &["sh", "-c", "a && b"],
            &["sh", "-c", "$(x)"],
            &["find", "/tmp", "-exec", "rm", "{}", ";"],
            &["tini", "--", "sh", "-c", "a", "&&"],
            &["nginx", "-s", "quit"],
            &["echo", "a && b"],
            &[],
        ];
        assert!(!lists.iter().any(|list| is_shell_line(&words(list))));
    }

    #[test]
    fn the_script_is_what_follows_the_options() {
        let rows: [(&[&str], Option<&str>); 9] = [
            (&["sh", "-c", "x"], Some("x")),
            (&["/bin/bash", "-lc", "x"], Some("x")),
            (&["env", "bash", "-c", "x"], Some("x")),
            (&["sh", "-c", "-e", "x"], Some("x")),
            (&["sh", "-e", "/run.sh"], None),
            (&["bash", "--norc", "-c", "x"], Some("x")),
            (&["sh", "-c"], None),
            (&["app", "-c", "x"], None),
            (&[], None),
        ];
        for (list, script) in rows {
            assert_eq!(shell_script(&words(list)), script, "{list:?}");
        }
    }
}
