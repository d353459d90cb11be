//! What a process has used so far, as Linux tells it.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Clock ticks per second in `/proc`, fixed on Linux.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time that a process has used, in user and kernel mode.
pub fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything; the fields begin after it.
    let fields: Vec<&str> = stat.rsplit_once(')').context("no process name")?.1.split_whitespace().collect();
    let ticks = |index: usize| -> Result<u64> { Ok(fields.get(index).context("too few fields")?.parse()?) };
    Ok(Duration::from_millis((ticks(11)? + ticks(12)?) * 1000 / TICKS_PER_SECOND))
}

/// Memory of a process that is in RAM, in MiB.
pub fn resident_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kib / 1024.0)
}
