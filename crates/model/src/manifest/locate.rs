//! Where a field stands in a document's text: walked only after something was found wrong with it.
//!
//! The typed and untyped objects carry no places, so that reading a good manifest does not pay for them. JSON is walked
//! by the YAML parser too: every JSON text that was accepted is also YAML.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Parser};

/// One step from an object to one of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The path in upstream's notation.
pub(super) fn render(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.extend([".", key]),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// Line and column, from 1, of the key or the element at the end of the path; of the last one that is written out,
/// where the rest comes from an alias or is missing.
pub(super) fn find(text: &str, path: &[Step]) -> (usize, usize) {
    find_all(text, &[path])[0]
}

/// The same for many paths in one walk through the text.
pub(super) fn find_all(text: &str, paths: &[&[Step]]) -> Vec<(usize, usize)> {
    let mut walk = Walk { events: Parser::new_from_str(text), paths, found: vec![(1, 1); paths.len()] };
    while let Some((event, line, column)) = walk.next() {
        if !matches!(event, Event::StreamStart | Event::DocumentStart(..)) {
            let all = (0..paths.len()).collect();
            walk.descend(&event, Goals { at: (line, column), depth: 0, paths: all });
            break;
        }
    }
    walk.found
}

struct Walk<'a, 'p> {
    events: Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>,
    paths: &'p [&'p [Step]],
    found: Vec<(usize, usize)>,
}

fn is_data(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Alias(..)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd
    )
}

/// The paths that lead through one value.
struct Goals {
    at: (usize, usize),
    /// Steps taken so far.
    depth: usize,
    paths: Vec<usize>,
}

impl<'a> Walk<'a, '_> {
    /// The next event that is part of a value. Whether comments are events depends on how the parser was built.
    fn next(&mut self) -> Option<(Event<'a>, usize, usize)> {
        loop {
            let (event, span) = self.events.next()?.ok()?;
            if is_data(&event) {
                return Some((event, span.start.line(), span.start.col() + 1));
            }
        }
    }

    /// Reads the value that `event` opened to its end and notes what is found in it; nothing once the text ends early.
    fn descend(&mut self, event: &Event<'a>, goals: Goals) -> Option<()> {
        for path in &goals.paths {
            self.found[*path] = goals.at;
        }
        let mut next: HashMap<&Step, Vec<usize>> = HashMap::new();
        for path in goals.paths {
            if let Some(step) = self.paths[path].get(goals.depth) {
                next.entry(step).or_default().push(path);
            }
        }
        match event {
            _ if next.is_empty() => self.skip(event),
            Event::MappingStart(..) => self.entries(next, goals.depth + 1),
            Event::SequenceStart(..) => self.elements(next, goals.depth + 1),
            _ => Some(()),
        }
    }

    fn entries(&mut self, mut next: HashMap<&Step, Vec<usize>>, depth: usize) -> Option<()> {
        loop {
            let (key, line, column) = self.next()?;
            let step = match &key {
                Event::MappingEnd => return Some(()),
                Event::Scalar(text, ..) => Some(Step::Key(text.to_string())),
                _ => None,
            };
            self.skip(&key)?;
            let (value, ..) = self.next()?;
            match step.and_then(|step| next.remove(&step)) {
                Some(paths) => self.descend(&value, Goals { at: (line, column), depth, paths })?,
                None => self.skip(&value)?,
            }
        }
    }

    fn elements(&mut self, mut next: HashMap<&Step, Vec<usize>>, depth: usize) -> Option<()> {
        for index in 0.. {
            let (value, line, column) = self.next()?;
            if matches!(value, Event::SequenceEnd) {
                break;
            }
            match next.remove(&Step::Index(index)) {
                Some(paths) => self.descend(&value, Goals { at: (line, column), depth, paths })?,
                None => self.skip(&value)?,
            }
        }
        Some(())
    }

    /// Reads past the rest of the value that `event` opened.
    fn skip(&mut self, event: &Event<'a>) -> Option<()> {
        let mut depth = nesting(event);
        while depth > 0 {
            depth += nesting(&self.next()?.0);
        }
        Some(())
    }
}

const fn nesting(event: &Event<'_>) -> isize {
    match event {
        Event::MappingStart(..) | Event::SequenceStart(..) => 1,
        Event::MappingEnd | Event::SequenceEnd => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    #[test]
    fn a_path_is_found_where_it_is_written() {
        let text = "# c\nspec:\n  skipped: [{a: 1}]\n  containers:\n  - name: a\n  - name: b\n    comand: [x]\n";
        let path = [key("spec"), key("containers"), Step::Index(1), key("comand")];
        assert_eq!(find(text, &path), (7, 5));
        assert_eq!(find(text, &path[..3]), (6, 5));
        assert_eq!(find(text, &[]), (2, 1));
        assert_eq!(render(&path), "spec.containers[1].comand");
    }

    #[test]
    fn json_is_found_as_well() {
        let text = "{\n\t\"spec\": {\n\t\t\"a\": [0, 1],\n\t\t\"b\": 2}}";
        assert_eq!(find(text, &[key("spec"), key("a"), Step::Index(1)]), (3, 12));
        assert_eq!(find(text, &[key("spec"), key("b")]), (4, 3));
    }

    #[test]
    fn many_paths_are_found_in_one_walk() {
        let text = "a: [{x: 1}, {y: 2}]\nb:\n  c: 1\n  d: 2\n";
        let paths = [
            vec![key("b"), key("d")],
            vec![key("a"), Step::Index(1), key("y")],
            vec![key("a"), Step::Index(1)],
            vec![key("b"), key("c")],
        ];
        let paths: Vec<&[Step]> = paths.iter().map(Vec::as_slice).collect();
        assert_eq!(find_all(text, &paths), [(4, 3), (1, 14), (1, 13), (3, 3)]);
    }

    #[test]
    fn the_last_written_step_stands_for_what_is_not_written() {
        assert_eq!(find("spec:\n  a: *x\n", &[key("spec"), key("missing")]), (1, 1));
    }
}
