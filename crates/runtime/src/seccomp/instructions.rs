//! The few instructions of the kernel's packet filter machine that filters are made of, and comparisons of 64-bit
//! arguments in terms of its 32-bit ones.

use libcontainer::oci_spec::runtime::{LinuxSeccompArg, LinuxSeccompOperator};

/// One instruction; jumps are relative to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Loads the word at an offset of the kernel's description of the call.
    Load(u32),
    And(u32),
    Jump(u32),
    If {
        test: Test,
        value: u32,
        then: u8,
        otherwise: u8,
    },
    Return(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Equal,
    Greater,
    AtLeast,
}

/// Where the description has the number, the machine and the arguments.
pub const NUMBER: u32 = 0;
pub const MACHINE: u32 = 4;
const ARGUMENTS: u32 = 16;
pub const ARGUMENTS_MAX: usize = 6;

impl Instruction {
    pub fn to_kernel(self) -> libc::sock_filter {
        let test_code = |test| match test {
            Test::Equal => libc::BPF_JEQ,
            Test::Greater => libc::BPF_JGT,
            Test::AtLeast => libc::BPF_JGE,
        };
        let (code, jt, jf, k) = match self {
            Instruction::Load(offset) => (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset),
            Instruction::And(mask) => (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask),
            Instruction::Jump(over) => (libc::BPF_JMP | libc::BPF_JA, 0, 0, over),
            Instruction::If { test, value, then, otherwise } => {
                (libc::BPF_JMP | test_code(test) | libc::BPF_K, then, otherwise, value)
            }
            Instruction::Return(value) => (libc::BPF_RET | libc::BPF_K, 0, 0, value),
        };
        libc::sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
    }
}

/// Goes on when the comparison holds, and jumps over `fail` more instructions when it does not.
pub fn comparison(argument: &LinuxSeccompArg, fail: u8) -> Vec<Instruction> {
    let offset = ARGUMENTS + 8 * u32::try_from(argument.index()).unwrap_or_default();
    // Both machines that have a table put the lower half first.
    let (low, high) = (Instruction::Load(offset), Instruction::Load(offset + 4));
    let jump = |test, value, then, otherwise| Instruction::If { test, value, then, otherwise };
    let (value_high, value_low) = halves(argument.value());
    let ordered = |last| {
        let above = jump(Test::Greater, value_high, 3, 0);
        vec![high, above, jump(Test::Equal, value_high, 0, fail + 2), low, jump(last, value_low, 0, fail)]
    };
    let reversed = |last| {
        let above = jump(Test::Greater, value_high, fail + 3, 0);
        vec![high, above, jump(Test::Equal, value_high, 0, 2), low, jump(last, value_low, fail, 0)]
    };
    match argument.op() {
        LinuxSeccompOperator::ScmpCmpEq => {
            let equal = jump(Test::Equal, value_low, 0, fail);
            vec![high, jump(Test::Equal, value_high, 0, fail + 2), low, equal]
        }
        LinuxSeccompOperator::ScmpCmpNe => {
            let equal = jump(Test::Equal, value_low, fail, 0);
            vec![high, jump(Test::Equal, value_high, 0, 2), low, equal]
        }
        LinuxSeccompOperator::ScmpCmpMaskedEq => {
            let (wanted_high, wanted_low) = halves(argument.value_two().unwrap_or_default());
            let first = [high, Instruction::And(value_high), jump(Test::Equal, wanted_high, 0, fail + 3)];
            let second = [low, Instruction::And(value_low), jump(Test::Equal, wanted_low, 0, fail)];
            [first, second].concat()
        }
        LinuxSeccompOperator::ScmpCmpGt => ordered(Test::Greater),
        LinuxSeccompOperator::ScmpCmpGe => ordered(Test::AtLeast),
        LinuxSeccompOperator::ScmpCmpLe => reversed(Test::Greater),
        LinuxSeccompOperator::ScmpCmpLt => reversed(Test::AtLeast),
    }
}

fn halves(value: u64) -> (u32, u32) {
    let [high, low] = [value >> 32, value & u64::from(u32::MAX)];
    (u32::try_from(high).unwrap_or_default(), u32::try_from(low).unwrap_or_default())
}
