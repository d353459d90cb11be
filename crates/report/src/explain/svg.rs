//! The plan as a picture for a document: one file, no scripts, no fonts of its own, readable in light and dark.

use std::fmt::Write;

use lifecycle::findings::Severity;
use lifecycle::forecast::Line;

use super::{Explanation, hook, place, signal, waits_for};
use crate::clip::clipped;
use crate::scale::Scale;
use crate::spans::words;

const WIDTH: i64 = 1040;
const MARGIN: i64 = 28;
const LABELS: i64 = 300;
const ROW: i64 = 46;
const HEAD: i64 = 96;
const LEGEND: i64 = 44;
const FINDING: i64 = 22;
const GAP: i64 = 24;

/// Characters of a finding that fit on its line.
const FINDING_CHARACTERS: usize = 140;

/// What does not depend on light and dark.
const SHAPES: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:14px}\
.title{font-size:20px;font-weight:600}.soft{font-size:12.5px}.name{font-weight:600}\
.mid{text-anchor:middle}.deadline{stroke-dasharray:4 4}";

/// Selector, property, light, dark. Plain rules, no variables: not every program that shows pictures knows those.
const COLOURS: [(&str, &str, &str, &str); 13] = [
    (".bg", "fill", "#ffffff", "#161a22"),
    ("text", "fill", "#1f2430", "#e8ebf2"),
    (".soft", "fill", "#5c6475", "#9aa3b5"),
    (".grid", "stroke", "#d9dde5", "#333a48"),
    (".deadline", "stroke", "#cf3b3b", "#ef6461"),
    (".wait", "fill", "#e4e7ee", "#2a303c"),
    (".hook", "fill", "#3aa0b8", "#46b3cc"),
    (".stop", "fill", "#e0a32e", "#e6b04a"),
    (".kill", "fill", "#cf3b3b", "#ef6461"),
    (".gone", "fill", "#2f9e5b", "#4cc27d"),
    (".error", "fill", "#cf3b3b", "#ef6461"),
    (".warning", "fill", "#e0a32e", "#e6b04a"),
    (".info", "fill", "#3aa0b8", "#46b3cc"),
];

fn style() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for (selector, property, by_day, by_night) in COLOURS {
        let _ = write!(light, "{selector}{{{property}:{by_day}}}");
        let _ = write!(dark, "{selector}{{{property}:{by_night}}}");
    }
    format!("{SHAPES}{light}@media(prefers-color-scheme:dark){{{dark}}}")
}

/// All plans below each other in one picture.
pub fn to_svg(explanations: &[Explanation]) -> String {
    let height: i64 = explanations.iter().map(|explanation| height(explanation) + GAP).sum::<i64>() + MARGIN;
    let mut out = String::new();
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">"#
    );
    let titles: Vec<String> = explanations.iter().map(Explanation::title).collect();
    let _ = writeln!(out, "<title>How {} ends</title>", escaped(&titles.join(", ")));
    let _ = writeln!(out, "<style>{}</style>", style());
    let _ = writeln!(out, r#"<rect class="bg" width="{WIDTH}" height="{height}" rx="10"/>"#);
    let mut top = MARGIN;
    for explanation in explanations {
        plan(&mut out, explanation, top);
        top += self::height(explanation) + GAP;
    }
    out.push_str("</svg>\n");
    out
}

fn height(explanation: &Explanation) -> i64 {
    let count = |n: usize| i64::try_from(n).unwrap_or(0);
    HEAD + count(explanation.forecast.containers.len()) * ROW + LEGEND + count(explanation.findings.len()) * FINDING
}

fn plan(out: &mut String, explanation: &Explanation, top: i64) {
    let forecast = &explanation.forecast;
    let grace = i64::try_from(forecast.grace_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
    text(out, MARGIN, top + 18, "title", &explanation.title());
    let subtitle = format!("grace {} · {}: {}", words(grace), explanation.assumption(), explanation.outcome());
    text(out, MARGIN, top + 40, "soft", &subtitle);
    let scale = Scale::new(forecast.end_millis.max(forecast.deadline_millis), WIDTH - MARGIN * 2 - LABELS);
    let x = |millis: i64| MARGIN + LABELS + scale.place(millis);
    let rows = top + HEAD;
    let bottom = rows + i64::try_from(forecast.containers.len()).unwrap_or(0) * ROW;
    for mark in scale.marks(9) {
        let at = x(mark);
        let _ = writeln!(out, r#"<line class="grid" x1="{at}" y1="{}" x2="{at}" y2="{bottom}"/>"#, rows - 12);
        text(out, at, rows - 18, "soft mid", &words(mark));
    }
    for (row, line) in forecast.containers.iter().enumerate() {
        let y = rows + i64::try_from(row).unwrap_or(0) * ROW;
        label(out, explanation, line, y);
        bar(out, line, y, x);
    }
    let at = x(forecast.deadline_millis);
    let _ = writeln!(out, r#"<line class="deadline" x1="{at}" y1="{}" x2="{at}" y2="{}"/>"#, rows - 12, bottom + 6);
    text(out, at, bottom + 20, "soft mid", &format!("deadline {}", words(forecast.deadline_millis)));
    legend(out, bottom + 30);
    findings(out, explanation, bottom + LEGEND + 16);
}

fn label(out: &mut String, explanation: &Explanation, line: &Line, y: i64) {
    let forecast = &explanation.forecast;
    let mut facts = vec![place(line, forecast), signal(line)];
    if line.container.hook.is_some() {
        facts.push(hook(line));
    }
    text(out, MARGIN, y + 14, "name", &clipped(&line.container.name, 36));
    text(out, MARGIN, y + 31, "soft", &clipped(&facts.join(" · "), 46));
    let waits = waits_for(line, forecast);
    if waits != "–" && line.stop_millis > 0 {
        text(out, MARGIN + LABELS + 6, y + 38, "soft", &clipped(&format!("waits for {waits}"), 60));
    }
}

fn bar(out: &mut String, line: &Line, y: i64, x: impl Fn(i64) -> i64) {
    let mut part = |class: &str, from: i64, to: i64| {
        let width = x(to) - x(from);
        if width > 0 {
            let _ = writeln!(
                out,
                r#"<rect class="{class}" x="{}" y="{}" width="{width}" height="16" rx="3"/>"#,
                x(from),
                y + 6
            );
        }
    };
    part("wait", 0, line.stop_millis);
    if let Some(hook) = &line.hook {
        part("hook", hook.start_millis, hook.end_millis);
    }
    part("stop", line.stop_millis, line.gone_millis);
    let (at, middle) = (x(line.gone_millis), y + 14);
    if line.killed {
        let _ = writeln!(
            out,
            r#"<path class="kill" transform="translate({at} {middle}) rotate(45)" d="M-2-8h4v6h6v4h-6v6h-4v-6h-6v-4h6z"/>"#
        );
    } else {
        let _ = writeln!(out, r#"<circle class="gone" cx="{at}" cy="{middle}" r="6"/>"#);
    }
}

fn legend(out: &mut String, y: i64) {
    let entries = [("wait", "waits"), ("hook", "hook"), ("stop", "signal sent"), ("gone", "gone"), ("kill", "SIGKILL")];
    for (n, (class, words)) in entries.into_iter().enumerate() {
        let at = MARGIN + i64::try_from(n).unwrap_or(0) * 110;
        let _ = writeln!(out, r#"<rect class="{class}" x="{at}" y="{}" width="12" height="12" rx="3"/>"#, y - 10);
        text(out, at + 18, y, "soft", words);
    }
}

fn findings(out: &mut String, explanation: &Explanation, top: i64) {
    for (n, finding) in explanation.findings.iter().enumerate() {
        let y = top + i64::try_from(n).unwrap_or(0) * FINDING;
        let class = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let _ = writeln!(out, r#"<circle class="{class}" cx="{}" cy="{}" r="5"/>"#, MARGIN + 6, y - 4);
        let words = format!("{}: {}", finding.id, finding.message);
        text(out, MARGIN + 20, y, "soft", &clipped(&words, FINDING_CHARACTERS));
    }
}

fn text(out: &mut String, x: i64, y: i64, class: &str, words: &str) {
    let _ = writeln!(out, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escaped(words));
}

/// Text as XML takes it; characters that XML forbids become the replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(character),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
