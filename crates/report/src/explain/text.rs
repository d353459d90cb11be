//! The plan for a terminal: a bar per container, a table, and the findings.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use lifecycle::findings::{Finding, Severity};
use lifecycle::forecast::Line;

use super::{Explanation, hook, place, signal, waits_for};
use crate::clip::clipped;
use crate::scale::Scale;
use crate::spans::words;

/// How many columns there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(usize);

impl Width {
    const NARROWEST: usize = 60;
    const WIDEST: usize = 140;

    /// What is too narrow to draw in is widened, what is too wide to read across is not used.
    pub fn columns(columns: usize) -> Width {
        Width(columns.clamp(Width::NARROWEST, Width::WIDEST))
    }
}

/// The longest container name that is shown whole beside its bar.
const LONGEST_LABEL: usize = 24;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const WAITING: Style = Style::new().dimmed();
const HOOK: Style = AnsiColor::Cyan.on_default();
const STOPPING: Style = AnsiColor::Yellow.on_default();
const KILLED: Style = AnsiColor::Red.on_default().bold();
const GONE: Style = AnsiColor::Green.on_default();

/// The plan with styles; a terminal that has none drops them.
pub fn to_text(explanation: &Explanation, width: Width) -> String {
    let mut out = String::new();
    heading(&mut out, explanation);
    chart(&mut out, explanation, width);
    table(&mut out, explanation);
    findings(&mut out, &explanation.findings, width);
    out
}

fn heading(out: &mut String, explanation: &Explanation) {
    let grace = words(i64::try_from(explanation.forecast.grace_seconds).unwrap_or(i64::MAX).saturating_mul(1000));
    let title = explanation.title();
    let (assumption, outcome) = (explanation.assumption(), explanation.outcome());
    let _ = writeln!(out, "{BOLD}{title}{BOLD:#}  grace {grace}");
    let _ = writeln!(out, "{DIM}{assumption}: {outcome}{DIM:#}\n");
}

fn chart(out: &mut String, explanation: &Explanation, width: Width) {
    let forecast = &explanation.forecast;
    if forecast.containers.is_empty() {
        return;
    }
    let longest = forecast.containers.iter().map(|line| line.container.name.chars().count()).max().unwrap_or(0);
    let label = longest.min(LONGEST_LABEL);
    let columns = width.0 - label - 4;
    let end = forecast.end_millis.max(forecast.deadline_millis);
    let scale = Scale::new(end, i64::try_from(columns).unwrap_or(1));
    axis(out, &scale, label, columns);
    for line in &forecast.containers {
        let name = clipped(&line.container.name, label);
        let _ = writeln!(out, "  {name:<label$} {}", bar(line, &scale, columns));
    }
    deadline_mark(out, &scale, label, forecast.deadline_millis);
    let _ = writeln!(
        out,
        "  {WAITING}░{WAITING:#} waits  {HOOK}▒{HOOK:#} hook  {STOPPING}█{STOPPING:#} signal sent  \
         {GONE}●{GONE:#} gone  {KILLED}✖{KILLED:#} SIGKILL\n",
    );
}

fn axis(out: &mut String, scale: &Scale, label: usize, columns: usize) {
    let mut line = vec![' '; columns + 8];
    let mut free_from = 0;
    for mark in scale.marks(10) {
        let at = usize::try_from(scale.place(mark)).unwrap_or(0);
        let text = words(mark);
        if at >= free_from && at + text.chars().count() <= line.len() {
            text.chars().enumerate().for_each(|(n, c)| line[at + n] = c);
            free_from = at + text.chars().count() + 1;
        }
    }
    let line: String = line.into_iter().collect();
    let _ = writeln!(out, "  {:label$} {DIM}{}{DIM:#}", "", line.trim_end());
}

/// One container from the beginning to its end.
fn bar(line: &Line, scale: &Scale, columns: usize) -> String {
    let column = |millis: i64| usize::try_from(scale.place(millis)).unwrap_or(0).min(columns);
    let mut cells: Vec<(Style, char)> = vec![(Style::new(), ' '); columns + 1];
    let mut fill = |from: i64, to: i64, style: Style, symbol: char| {
        let (from, to) = (column(from), column(to));
        cells[from..to.max(from)].fill((style, symbol));
    };
    fill(0, line.stop_millis, WAITING, '░');
    if let Some(hook) = &line.hook {
        fill(hook.start_millis, hook.end_millis, HOOK, '▒');
    }
    fill(line.stop_millis, line.gone_millis, STOPPING, '█');
    let end = column(line.gone_millis);
    cells[end] = if line.killed { (KILLED, '✖') } else { (GONE, '●') };
    styled(&cells[..=end])
}

/// Runs of equal style in one pair of escape codes.
fn styled(cells: &[(Style, char)]) -> String {
    let mut out = String::new();
    for run in cells.chunk_by(|a, b| a.0 == b.0) {
        let (style, text) = (run[0].0, run.iter().map(|(_, symbol)| symbol).collect::<String>());
        let _ = write!(out, "{style}{text}{style:#}");
    }
    out
}

fn deadline_mark(out: &mut String, scale: &Scale, label: usize, deadline: i64) {
    let at = usize::try_from(scale.place(deadline)).unwrap_or(0);
    let text = format!("deadline {}", words(deadline));
    let before = at.saturating_sub(text.chars().count() + 1);
    let _ = writeln!(out, "  {:label$} {DIM}{:before$}{text} ▲{DIM:#}", "", "");
}

fn table(out: &mut String, explanation: &Explanation) {
    const HEAD: [&str; 9] =
        ["CONTAINER", "ORDER", "WAITS FOR", "HOOK", "SIGNAL (FROM)", "SIGNAL AT", "KILL AT", "GONE AT", "LEAST TIME"];
    let forecast = &explanation.forecast;
    let row = |line: &Line| {
        [
            line.container.name.clone(),
            place(line, forecast),
            waits_for(line, forecast),
            clipped(&hook(line), 28),
            signal(line),
            words(line.stop_millis),
            words(line.kill_millis),
            words(line.gone_millis),
            words(line.least_time_millis),
        ]
    };
    let rows: Vec<[String; 9]> = forecast.containers.iter().map(row).collect();
    let mut widths = HEAD.map(|head| head.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let joined = |cells: [&str; 9]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let _ = writeln!(out, "  {DIM}{}{DIM:#}", joined(HEAD));
    for row in &rows {
        let _ = writeln!(out, "  {}", joined(std::array::from_fn(|n| row[n].as_str())));
    }
    let _ = writeln!(
        out,
        "  {DIM}LEAST TIME: what is left between signal and SIGKILL if everything before takes as long as it may{DIM:#}"
    );
}

fn findings(out: &mut String, findings: &[Finding], width: Width) {
    if findings.is_empty() {
        let _ = writeln!(out, "\n  {GONE}no findings{GONE:#}");
        return;
    }
    for finding in findings {
        let style = match finding.severity {
            Severity::Error => KILLED,
            Severity::Warning => AnsiColor::Yellow.on_default().bold(),
            Severity::Info => AnsiColor::Blue.on_default(),
        };
        let severity = finding.severity.name();
        let _ =
            writeln!(out, "\n  {style}{severity}{style:#} {BOLD}{}{BOLD:#} {DIM}{}{DIM:#}", finding.id, finding.field);
        for line in wrapped(&finding.message, width.0 - 4) {
            let _ = writeln!(out, "    {line}");
        }
        for line in wrapped(&format!("→ {}", finding.remedy), width.0 - 4) {
            let _ = writeln!(out, "    {line}");
        }
    }
}

/// Breaks text at blanks.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
