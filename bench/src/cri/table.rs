//! What was measured, as Markdown: a row per operation, a column per runtime, and the last against the first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::memory::Memory;
use super::rounds::Footprint;
use crate::load::figures::Latencies;

/// What is timed, in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Taken in the turns of each runtime: that its ratio is not 1 is noise.
    Floor,
    Version,
    RunPodSandbox,
    CreateContainer,
    StartContainer,
    WholeStart,
    ExecSync,
    StopContainer,
    RemoveContainer,
    /// What a runtime leaves to the removal, it has not saved.
    WholeStop,
    StopPodSandbox,
    RemovePodSandbox,
    WholeEnd,
    StopAtOnce(usize),
}

impl Operation {
    fn label(self) -> String {
        match self {
            Operation::Floor => "the floor: SIGTERM to a bare process until it is gone".into(),
            Operation::Version => "Version, a call that does nothing".into(),
            Operation::RunPodSandbox => "RunPodSandbox".into(),
            Operation::CreateContainer => "CreateContainer".into(),
            Operation::StartContainer => "StartContainer".into(),
            Operation::WholeStart => "sandbox + create + start".into(),
            Operation::ExecSync => "ExecSync(true)".into(),
            Operation::StopContainer => "StopContainer(30), exits at once".into(),
            Operation::RemoveContainer => "RemoveContainer".into(),
            Operation::WholeStop => "stop + remove container".into(),
            Operation::StopPodSandbox => "StopPodSandbox".into(),
            Operation::RemovePodSandbox => "RemovePodSandbox".into(),
            Operation::WholeEnd => "stop + remove sandbox".into(),
            Operation::StopAtOnce(size) => format!("{size} StopContainer(30) at once, until the last is done"),
        }
    }
}

/// Durations of one runtime.
#[derive(Default)]
pub struct Samples(BTreeMap<Operation, Latencies>);

impl Samples {
    pub fn add(&mut self, operation: Operation, took: Duration) {
        self.0.entry(operation).or_default().add(took);
    }

    /// Waits for a call that must succeed, and notes what it took.
    pub async fn timed<T>(
        &mut self,
        operation: Operation,
        call: impl Future<Output = Result<T>>,
    ) -> Result<(T, Duration)> {
        let began = Instant::now();
        let answer = call.await;
        let took = began.elapsed();
        self.add(operation, took);
        Ok((answer.with_context(|| operation.label())?, took))
    }
}

/// One runtime's measurements.
#[derive(Default)]
pub struct Column {
    pub name: String,
    pub samples: Samples,
    /// The daemon before the first pod.
    pub idle: Memory,
    /// While the largest batch ran, and how many pods that were.
    pub loaded: Option<(usize, Footprint)>,
}

/// The table of durations.
pub fn durations(columns: &mut [Column]) -> String {
    let mut operations: Vec<Operation> = columns.iter().flat_map(|column| column.samples.0.keys().copied()).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut table = head("ms: median / p10 / p90", columns);
    for operation in operations {
        let figures = columns.iter_mut().map(|column| {
            let latencies = column.samples.0.get_mut(&operation).filter(|latencies| latencies.count() > 0)?;
            Some([50, 10, 90].map(|percent| latencies.percentile(percent)))
        });
        let figures: Vec<Option<[f64; 3]>> = figures.collect();
        let cells: Vec<String> = figures.iter().map(|cell| cell.map_or_else(String::new, three)).collect();
        let medians: Vec<f64> = figures.iter().flatten().map(|[median, ..]| *median).collect();
        row(&mut table, &operation.label(), &cells, &ratio(&medians, columns.len()));
    }
    table
}

/// The table of memory.
pub fn memory(columns: &[Column]) -> String {
    let mut table = head("MiB", columns);
    let pods = columns.iter().find_map(|column| column.loaded.map(|(pods, _)| pods)).unwrap_or_default();
    let with = |part: fn(usize, &Footprint) -> f64| {
        move |column: &Column| column.loaded.as_ref().map(|(pods, footprint)| part(*pods, footprint))
    };
    let mut figures = |label: &str, of: &dyn Fn(&Column) -> Option<f64>| {
        let values: Vec<Option<f64>> = columns.iter().map(of).collect();
        let cells: Vec<String> = values.iter().map(|value| value.map_or_else(String::new, number)).collect();
        let known: Vec<f64> = values.into_iter().flatten().collect();
        row(&mut table, label, &cells, &ratio(&known, columns.len()));
    };
    figures("daemon RSS, idle", &|column| Some(column.idle.resident));
    figures(&format!("daemon RSS, {pods} pods"), &with(|_, footprint| footprint.daemon.resident));
    figures("helper processes per pod (not MiB)", &with(|pods, footprint| share(footprint.helpers.count as f64, pods)));
    figures("helpers per pod, RSS", &with(|pods, footprint| share(footprint.helpers.together.resident, pods)));
    figures("helpers per pod, PSS", &with(|pods, footprint| share(footprint.helpers.together.proportional, pods)));
    figures(
        "helpers per pod, private dirty",
        &with(|pods, footprint| share(footprint.helpers.together.private_dirty, pods)),
    );
    table
}

fn share(whole: f64, pods: usize) -> f64 {
    if pods == 0 { 0.0 } else { whole / pods as f64 }
}

fn head(unit: &str, columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let compared = match names.as_slice() {
        [first, .., last] => format!("{last} : {first}"),
        [] | [_] => String::new(),
    };
    let mut table = String::new();
    row(&mut table, unit, &names, &compared);
    row(&mut table, "---", &vec!["---".to_owned(); names.len()], if compared.is_empty() { "" } else { "---" });
    table
}

/// A row; without a comparison it has one cell less.
fn row(table: &mut String, label: &str, cells: &[String], compared: &str) {
    let _ = write!(table, "| {label} | {} |", cells.join(" | "));
    let _ = if compared.is_empty() { writeln!(table) } else { writeln!(table, " {compared} |") };
}

/// The last figure against the first, if every column has one.
fn ratio(figures: &[f64], columns: usize) -> String {
    match figures {
        [first, .., last] if figures.len() == columns && *first > 0.0 => format!("{:.3}", last / first),
        _ if columns > 1 => "–".to_owned(),
        _ => String::new(),
    }
}

fn three([median, low, high]: [f64; 3]) -> String {
    format!("{} / {} / {}", number(median), number(low), number(high))
}

/// Three digits, as far as they mean something.
fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests;
