//! From a profile to a program.
//!
//! For one call the first entry of the profile whose comparisons hold decides, else the default. Several comparisons of
//! one argument in one entry are alternatives, as in the runtime that profiles are written for; all others must hold
//! together. A call with a number above every call that the profile names is newer than the profile: where the default
//! is an error number, such a call is answered as an old kernel would, so that programs fall back to what they did
//! before. A call of a table that the profile does not list ends the process.

use std::collections::BTreeMap;

use libcontainer::oci_spec::runtime::{Arch, LinuxSeccomp, LinuxSeccompAction, LinuxSeccompArg, LinuxSyscall};

use super::SeccompError;
use super::instructions::{ARGUMENTS_MAX, Instruction, MACHINE, NUMBER, Test, comparison};
use super::numbers::{Table, X32_BIT, number};

/// The largest error number that a call can return.
pub const ERRNO_MAX: u32 = 4095;
/// The longest program that the kernel takes.
pub const PROGRAM_MAX: usize = 4096;

/// What becomes of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    rules: Vec<Rule>,
    otherwise: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// All must hold.
    comparisons: Vec<LinuxSeccompArg>,
    verdict: u32,
}

/// Decisions by the first number that each is for; each reaches to the next.
type Ranges = Vec<(u32, Decision)>;

pub fn program(profile: &LinuxSeccomp) -> Result<Vec<Instruction>, SeccompError> {
    let native = Table::native()?;
    let listed = profile.architectures().as_deref().unwrap_or_default();
    let tables: Vec<Table> = Table::ALL.into_iter().filter(|table| *table == native || lists(listed, *table)).collect();
    let mut program = vec![Instruction::Load(MACHINE)];
    for table in [Table::X86_64, Table::X86, Table::Aarch64] {
        if !tables.contains(&table) {
            continue;
        }
        let mut ranges = ranges(profile, table)?;
        if table == Table::X86_64 {
            ranges.extend(if tables.contains(&Table::X32) {
                self::ranges(profile, Table::X32)?
            } else {
                no_x32(profile)?
            });
        }
        let mut section = vec![Instruction::Load(NUMBER)];
        section.extend(bisection(&merged(ranges)));
        program.push(Instruction::If { test: Test::Equal, value: table.machine(), then: 1, otherwise: 0 });
        program.push(jump(section.len()));
        program.extend(section);
    }
    program.push(Instruction::Return(libc::SECCOMP_RET_KILL_PROCESS));
    if program.len() > PROGRAM_MAX { Err(SeccompError::TooLong(program.len())) } else { Ok(program) }
}

fn lists(listed: &[Arch], table: Table) -> bool {
    listed.contains(&match table {
        Table::X86_64 => Arch::ScmpArchX86_64,
        Table::X86 => Arch::ScmpArchX86,
        Table::X32 => Arch::ScmpArchX32,
        Table::Aarch64 => Arch::ScmpArchAarch64,
    })
}

/// What a profile says about every number of a table.
fn ranges(profile: &LinuxSeccomp, table: Table) -> Result<Ranges, SeccompError> {
    let default = verdict(profile.default_action(), profile.default_errno_ret())?;
    let unnamed = Decision { rules: Vec::new(), otherwise: default };
    let mut named: BTreeMap<u32, Decision> = BTreeMap::new();
    for entry in profile.syscalls().iter().flatten() {
        let alternatives = alternatives(entry)?;
        for call in entry.names().iter().filter_map(|name| number(name, table)) {
            let decision = named.entry(call).or_insert_with(|| unnamed.clone());
            decision.rules.extend(alternatives.iter().cloned());
        }
    }
    let newer = match named.keys().next_back() {
        Some(_) if profile.default_action() == LinuxSeccompAction::ScmpActErrno => errno(libc::ENOSYS.unsigned_abs()),
        Some(_) | None => default,
    };
    let mut ranges = vec![(table.base(), unnamed.clone())];
    for (call, decision) in named {
        ranges.push((call, settled(decision)));
        ranges.push((call + 1, unnamed.clone()));
    }
    if let Some((_, last)) = ranges.last_mut() {
        last.otherwise = newer;
    }
    Ok(ranges)
}

/// Programs of the x32 table are not expected, but a tracer that skips a call says so with the highest number.
fn no_x32(profile: &LinuxSeccomp) -> Result<Ranges, SeccompError> {
    let decided = |otherwise| Decision { rules: Vec::new(), otherwise };
    let default = verdict(profile.default_action(), profile.default_errno_ret())?;
    Ok(vec![(X32_BIT, decided(libc::SECCOMP_RET_KILL_PROCESS)), (u32::MAX, decided(default))])
}

fn alternatives(entry: &LinuxSyscall) -> Result<Vec<Rule>, SeccompError> {
    let verdict = verdict(entry.action(), entry.errno_ret())?;
    let arguments = entry.args().as_deref().unwrap_or_default();
    if let Some(argument) = arguments.iter().find(|argument| argument.index() >= ARGUMENTS_MAX) {
        return Err(SeccompError::Argument { names: entry.names().clone(), index: argument.index() });
    }
    let twice = (0..ARGUMENTS_MAX).any(|index| arguments.iter().filter(|one| one.index() == index).count() > 1);
    if twice {
        return Ok(arguments.iter().map(|one| Rule { comparisons: vec![*one], verdict }).collect());
    }
    Ok(vec![Rule { comparisons: arguments.to_vec(), verdict }])
}

/// Leaves out what can never be reached: whatever follows a rule without comparisons.
fn settled(mut decision: Decision) -> Decision {
    if let Some(place) = decision.rules.iter().position(|rule| rule.comparisons.is_empty()) {
        decision.otherwise = decision.rules[place].verdict;
        decision.rules.truncate(place);
    }
    decision
}

/// In order, one decision for each number, and neighbours that decide alike as one.
fn merged(ranges: Ranges) -> Ranges {
    let mut merged = Ranges::new();
    for (start, decision) in ranges {
        if merged.last().is_some_and(|(last, _)| *last == start) {
            merged.pop();
        }
        if merged.last().is_none_or(|(_, last)| *last != decision) {
            merged.push((start, decision));
        }
    }
    merged
}

fn bisection(ranges: &[(u32, Decision)]) -> Vec<Instruction> {
    match ranges {
        [] => Vec::new(),
        [(_, decision)] => decide(decision),
        _ => {
            let (lower, upper) = ranges.split_at(ranges.len() / 2);
            let value = upper[0].0;
            let (lower, upper) = (bisection(lower), bisection(upper));
            let mut code = match u8::try_from(lower.len()) {
                Ok(then) => vec![Instruction::If { test: Test::AtLeast, value, then, otherwise: 0 }],
                Err(_) => {
                    vec![Instruction::If { test: Test::AtLeast, value, then: 0, otherwise: 1 }, jump(lower.len())]
                }
            };
            code.extend(lower);
            code.extend(upper);
            code
        }
    }
}

fn decide(decision: &Decision) -> Vec<Instruction> {
    let mut code = Vec::new();
    for rule in &decision.rules {
        let mut body = vec![Instruction::Return(rule.verdict)];
        for argument in rule.comparisons.iter().rev() {
            // At most six comparisons of six instructions each.
            let fail = u8::try_from(body.len()).unwrap_or_default();
            body.splice(0..0, comparison(argument, fail));
        }
        code.extend(body);
    }
    code.push(Instruction::Return(decision.otherwise));
    code
}

fn jump(over: usize) -> Instruction {
    Instruction::Jump(u32::try_from(over).unwrap_or(u32::MAX))
}

fn errno(number: u32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number
}

fn verdict(action: LinuxSeccompAction, error_number: Option<u32>) -> Result<u32, SeccompError> {
    let error_number = error_number.unwrap_or(libc::EPERM.unsigned_abs());
    if error_number > ERRNO_MAX {
        return Err(SeccompError::ErrorNumber(error_number));
    }
    match action {
        LinuxSeccompAction::ScmpActAllow => Ok(libc::SECCOMP_RET_ALLOW),
        LinuxSeccompAction::ScmpActLog => Ok(libc::SECCOMP_RET_LOG),
        LinuxSeccompAction::ScmpActErrno => Ok(errno(error_number)),
        LinuxSeccompAction::ScmpActTrace => Ok(libc::SECCOMP_RET_TRACE | error_number),
        LinuxSeccompAction::ScmpActTrap => Ok(libc::SECCOMP_RET_TRAP),
        LinuxSeccompAction::ScmpActKill | LinuxSeccompAction::ScmpActKillThread => Ok(libc::SECCOMP_RET_KILL_THREAD),
        LinuxSeccompAction::ScmpActKillProcess => Ok(libc::SECCOMP_RET_KILL_PROCESS),
        LinuxSeccompAction::ScmpActNotify => Err(SeccompError::Notify("SCMP_ACT_NOTIFY")),
    }
}
