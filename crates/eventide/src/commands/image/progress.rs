//! How far a pull or a load is, on standard error: lines that are redrawn on a terminal, one plain line per layer
//! elsewhere. What is finished stays as a line of its own, so that only what is under way is redrawn.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use runtime::images::Transfer;
use runtime::images::digest::Digest;

/// More often nobody sees it.
const REDRAW_EVERY: Duration = Duration::from_millis(80);
const NAME_COLUMNS: usize = 12;
const BAR_COLUMNS: usize = 24;
/// Where the terminal does not say how wide it is.
const DEFAULT_COLUMNS: usize = 80;
/// Up one line; from the cursor to the end of the screen.
const UP: &str = "\x1b[1A";
const CLEAR_BELOW: &str = "\r\x1b[J";

/// Shows what it is told.
pub struct Progress {
    drawing: Mutex<Drawing>,
}

/// One thing that comes piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    name: String,
    done: u64,
    /// Unknown for a stream.
    total: Option<u64>,
}

/// What is on the screen. Says what to write; writes nothing itself.
struct Drawing {
    /// How wide the terminal is, if it is one.
    columns: Option<usize>,
    under_way: Vec<Item>,
    finished: HashSet<String>,
    drawn_lines: usize,
    drawn_at: Option<Instant>,
}

impl Progress {
    pub fn on_standard_error() -> Progress {
        let stderr = io::stderr();
        let columns = stderr.is_terminal().then(|| {
            terminal_size::terminal_size_of(&stderr).map_or(DEFAULT_COLUMNS, |(width, _)| usize::from(width.0))
        });
        Progress { drawing: Mutex::new(Drawing::new(columns)) }
    }

    /// Leaves only what is finished.
    pub fn end(&self) {
        show(&self.drawing().cleared());
    }

    fn update(&self, item: Item) {
        show(&self.drawing().update(item, Instant::now()));
    }

    fn drawing(&self) -> MutexGuard<'_, Drawing> {
        self.drawing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl runtime::images::Progress for Progress {
    fn transferred(&self, transfer: Transfer) {
        self.update(Item { name: short(&transfer.layer), done: transfer.done, total: Some(transfer.total) });
    }
}

/// Nobody who looks away keeps a pull from its work.
fn show(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn short(digest: &Digest) -> String {
    digest.hex().chars().take(NAME_COLUMNS).collect()
}

impl Drawing {
    fn new(columns: Option<usize>) -> Drawing {
        let (under_way, finished) = (Vec::new(), HashSet::new());
        Drawing { columns, under_way, finished, drawn_lines: 0, drawn_at: None }
    }

    fn update(&mut self, item: Item, now: Instant) -> String {
        if self.finished.contains(&item.name) {
            return String::new();
        }
        let is_done = item.total == Some(item.done);
        self.under_way.retain(|other| !is_done || other.name != item.name);
        if is_done {
            self.finished.insert(item.name.clone());
            let mut text = self.cleared();
            let _ = writeln!(text, "{:NAME_COLUMNS$}  {:>10}  done", item.name, bytes(item.done));
            return text + &self.drawn(now);
        }
        match self.under_way.iter_mut().find(|other| other.name == item.name) {
            Some(known) => *known = item,
            None => self.under_way.push(item),
        }
        match self.drawn_at {
            Some(at) if now.saturating_duration_since(at) < REDRAW_EVERY => String::new(),
            Some(_) | None => self.cleared() + &self.drawn(now),
        }
    }

    /// Takes away what would be redrawn.
    fn cleared(&mut self) -> String {
        match std::mem::take(&mut self.drawn_lines) {
            0 => String::new(),
            lines => UP.repeat(lines) + CLEAR_BELOW,
        }
    }

    fn drawn(&mut self, now: Instant) -> String {
        let Some(columns) = self.columns else { return String::new() };
        (self.drawn_lines, self.drawn_at) = (self.under_way.len(), Some(now));
        self.under_way.iter().map(|item| line(item, columns) + "\n").collect()
    }
}

/// A line that fits: one that was wrapped could not be taken away again.
fn line(item: &Item, columns: usize) -> String {
    let mut text = format!("{:NAME_COLUMNS$}  {:>10}", item.name, bytes(item.done));
    if let Some(total) = item.total.filter(|total| *total > 0) {
        let full = usize::try_from(u128::from(item.done.min(total)) * BAR_COLUMNS as u128 / u128::from(total));
        let full = "=".repeat(full.unwrap_or_default());
        let _ = write!(text, " of {:>10}  [{full:BAR_COLUMNS$}]", bytes(total));
    }
    text.chars().take(columns.saturating_sub(1)).collect()
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Tells how much of an archive was read.
pub struct Counted<'a, R> {
    archive: R,
    item: Item,
    progress: &'a Progress,
}

impl<'a, R> Counted<'a, R> {
    pub fn new(archive: R, total: Option<u64>, progress: &'a Progress) -> Counted<'a, R> {
        Counted { archive, item: Item { name: "archive".to_owned(), done: 0, total }, progress }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.archive.read(buffer)?;
        self.item.done += count as u64;
        self.progress.update(self.item.clone());
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, done: u64) -> Item {
        Item { name: name.to_owned(), done, total: Some(4096) }
    }

    #[test]
    fn elsewhere_only_what_is_finished_is_told_and_once() {
        let mut drawing = Drawing::new(None);
        let now = Instant::now();
        assert_eq!(drawing.update(item("a", 1), now), "");
        assert_eq!(drawing.update(item("a", 4096), now), "a                4.0 KiB  done\n");
        assert_eq!(drawing.update(item("a", 4096), now), "");
        assert_eq!(drawing.cleared(), "");
    }

    #[test]
    fn on_a_terminal_lines_are_redrawn_in_place() {
        let mut drawing = Drawing::new(Some(100));
        let now = Instant::now();
        let first = drawing.update(item("a", 2048), now);
        assert_eq!(first, "a                2.0 KiB of    4.0 KiB  [============            ]\n");
        assert_eq!(drawing.update(item("b", 0), now), "", "too soon");
        let both = drawing.update(item("b", 1024), now + REDRAW_EVERY);
        assert!(both.starts_with("\x1b[1A\r\x1b[J") && both.lines().count() == 2, "{both:?}");
        let done = drawing.update(item("a", 4096), now + REDRAW_EVERY);
        assert!(done.starts_with("\x1b[1A\x1b[1A\r\x1b[Ja                4.0 KiB  done\nb "), "{done:?}");
        assert_eq!(drawing.cleared(), "\x1b[1A\r\x1b[J");
    }

    #[test]
    fn a_line_fits_and_a_stream_has_no_bar() {
        assert_eq!(line(&item("a", 5000), 20).chars().count(), 19);
        let stream = Item { total: None, ..item("archive", 7) };
        assert_eq!(line(&stream, 100), "archive              7 B");
        assert!(line(&Item { total: Some(0), ..item("a", 0) }, 100).ends_with("0 B"));
    }

    #[test]
    fn bytes_are_shown_in_the_unit_that_fits() {
        let rows = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ];
        for (count, shown) in rows {
            assert_eq!(bytes(count), shown);
        }
    }
}
