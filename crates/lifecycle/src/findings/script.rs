//! Takes a shell script apart into its commands, as far as questions about signals need it.
//!
//! This is no shell: quotes, comments, substitutions and operators are understood, here-documents and functions are
//! read as if they were commands. One pass over the text; any text is accepted.

/// A script's commands, each a list of words, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    commands: Vec<Vec<String>>,
    /// Whether something runs in the background or in a shell of its own.
    branches: bool,
    /// Whether text for a command's input stands between the commands.
    here_document: bool,
}

/// Words that begin or join compound commands; the command proper follows them.
const OPENERS: [&str; 12] = ["then", "else", "elif", "do", "{", "!", "if", "while", "until", "time", "for", "case"];

/// Words that end compound commands.
const CLOSERS: [&str; 4] = ["fi", "done", "}", "esac"];

/// Commands that a shell carries out itself and at once.
const BUILTINS: [&str; 8] = ["echo", "printf", "true", "false", ":", "exit", "cd", "export"];

impl Script {
    pub(super) fn read(text: &str) -> Script {
        let mut reader = Reader { rest: text.chars().peekable(), script: Script::default(), words: vec![], word: None };
        reader.run();
        reader.script
    }

    /// The words of a script that is one command and nothing else.
    pub(super) fn one_command(&self) -> Option<&[String]> {
        let [words] = self.commands.as_slice() else { return None };
        let compound = words.first().is_some_and(|word| is_one_of(word, &OPENERS) || is_one_of(word, &CLOSERS));
        (!self.branches && !compound).then(|| without_assignments(words))
    }

    /// Whether the shell is replaced by the last command.
    pub(super) fn ends_with_exec(&self) -> bool {
        let is_exec = |words: &Vec<String>| proper(words).first().is_some_and(|word| word == "exec");
        if self.here_document {
            return self.commands.iter().any(is_exec);
        }
        let closes = |words: &&Vec<String>| words.first().is_some_and(|word| is_one_of(word, &CLOSERS));
        self.commands.iter().rev().find(|words| !closes(words)).is_some_and(is_exec)
    }

    pub(super) fn handles_signals(&self) -> bool {
        self.commands.iter().any(|words| proper(words).first().is_some_and(|word| word == "trap"))
    }

    /// Whether nothing in it lasts: only what the shell does itself.
    pub(super) fn ends_at_once(&self) -> bool {
        self.commands.iter().all(|words| proper(words).first().is_none_or(|word| is_one_of(word, &BUILTINS)))
    }
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

/// The command without the words of a compound command and without assignments before it.
fn proper(words: &[String]) -> &[String] {
    let openers = words.iter().take_while(|word| is_one_of(word, &OPENERS)).count();
    without_assignments(&words[openers..])
}

fn without_assignments(words: &[String]) -> &[String] {
    let is_assignment = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    &words[words.iter().take_while(is_assignment).count()..]
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    script: Script,
    words: Vec<String>,
    /// The word under construction; quotes make even an empty one.
    word: Option<String>,
}

impl Reader<'_> {
    fn run(&mut self) {
        let mut before = ' ';
        while let Some(c) = self.rest.next() {
            self.take(c, before);
            before = c;
        }
        self.end_command();
    }

    fn take(&mut self, c: char, before: char) {
        let next = self.rest.peek().copied();
        match c {
            '\'' => self.quoted(|c| c == '\''),
            '"' => self.double_quoted(),
            '\\' => self.escaped(),
            '`' => self.quoted(|c| c == '`'),
            '$' if next == Some('(') => self.substitution(),
            '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
            '&' if matches!(before, '>' | '<') || next == Some('>') => self.push(c),
            '&' if next == Some('&') => {
                self.rest.next();
                self.end_command();
            }
            '&' | '(' | ')' => {
                self.script.branches = true;
                self.end_command();
            }
            ';' | '|' | '\n' => self.end_command(),
            '<' if before == '<' => {
                self.script.here_document = true;
                self.push(c);
            }
            c if c.is_whitespace() => self.end_word(),
            c => self.push(c),
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn escaped(&mut self) {
        match self.rest.next() {
            Some('\n') | None => {}
            Some(c) => self.push(c),
        }
    }

    fn quoted(&mut self, is_end: impl Fn(char) -> bool) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next_if(|c| !is_end(*c)) {
            self.push(c);
        }
        self.rest.next();
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => self.escaped(),
                c => self.push(c),
            }
        }
    }

    /// `$(…)`, kept in the word as it stands.
    fn substitution(&mut self) {
        self.push('$');
        let mut depth = 0_usize;
        while let Some(c) = self.rest.next() {
            self.push(c);
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.script.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        Script::read(text).commands.iter().map(|words| words.join("_")).collect()
    }

    #[test]
    fn operators_end_commands_and_quotes_hide_them() {
        assert_eq!(commands("a 1 && b; c | d\ne || f"), ["a_1", "b", "c", "d", "e", "f"]);
        assert_eq!(commands("a 'x; y' \"u && v\" w\\;z"), ["a_x; y_u && v_w;z"]);
        assert_eq!(commands("a > log 2>&1 # and; so on\nb &> x"), ["a_>_log_2>&1", "b_&>_x"]);
        assert_eq!(commands("a $(b; c (d)) e"), ["a_$(b; c (d))_e"]);
        assert_eq!(commands(" \n;;# nothing\n"), Vec::<String>::new());
    }

    #[test]
    fn one_command_is_one_without_company() {
        for text in ["app --port 80", "  app 2>&1 ", "X=1 app", "exec app", "app 'a; b'", "\napp\n"] {
            assert!(Script::read(text).one_command().is_some(), "{text}");
        }
        for text in ["a; b", "a &", "(a)", "while x", "", "a | b", "{ a"] {
            assert!(Script::read(text).one_command().is_none(), "{text}");
        }
    }

    #[test]
    fn the_last_command_counts_even_inside_a_compound_one() {
        for text in ["a; exec b", "if x; then exec a; else exec b; fi", "X=1 exec b", "a && { exec b; }"] {
            assert!(Script::read(text).ends_with_exec(), "{text}");
        }
        for text in ["exec > log; b", "a", "", "while :; do b; done", "echo exec"] {
            assert!(!Script::read(text).ends_with_exec(), "{text}");
        }
        assert!(Script::read("exec cat <<EOF\nx\nEOF\n").ends_with_exec());
    }

    #[test]
    fn broken_scripts_are_read_to_their_end() {
        for text in ["'", "\"", "\\", "`", "$(", "$((", "\"\\", "&", "<<", "a 'b", "$()", "))", "\u{1f600}$(\u{0}"] {
            let _ = Script::read(text);
        }
    }
}
