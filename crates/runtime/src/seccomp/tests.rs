//! What filters do: to described calls, by running the program as the kernel would, and to real calls of a thread.

mod described;
mod files;
mod real;

use libcontainer::oci_spec::runtime::{
    Arch, Capability, LinuxSeccomp, LinuxSeccompAction, LinuxSeccompArgBuilder, LinuxSeccompOperator,
    LinuxSyscallBuilder,
};

use super::instructions::{Instruction, Test};
use super::profile;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

fn errno(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number.unsigned_abs()
}

/// A call as the kernel describes it to a filter.
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    machine: u32,
    arguments: [u64; 6],
}

impl Call {
    fn word(&self, offset: u32) -> u32 {
        let argument = |half: u32| {
            let value = self.arguments[usize::try_from(half / 2).unwrap()];
            u32::try_from((value >> (32 * (half % 2))) & u64::from(u32::MAX)).unwrap()
        };
        match offset {
            0 => self.number,
            4 => self.machine,
            offset => argument((offset - 16) / 4),
        }
    }
}

/// Runs a program as the kernel would; every jump must stay inside it.
fn run(program: &[Instruction], call: Call) -> u32 {
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let instruction = program[at];
        at += 1;
        match instruction {
            Instruction::Load(offset) => accumulator = call.word(offset),
            Instruction::And(mask) => accumulator &= mask,
            Instruction::Jump(over) => at += usize::try_from(over).unwrap(),
            Instruction::If { test, value, then, otherwise } => {
                let holds = match test {
                    Test::Equal => accumulator == value,
                    Test::Greater => accumulator > value,
                    Test::AtLeast => accumulator >= value,
                };
                at += usize::from(if holds { then } else { otherwise });
            }
            Instruction::Return(verdict) => return verdict,
        }
    }
}

fn parsed(json: &serde_json::Value) -> LinuxSeccomp {
    profile::parse(json.to_string().as_bytes(), &[]).unwrap()
}
