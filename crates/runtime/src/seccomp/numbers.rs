//! The numbers of system calls, as the kernel's headers have them: one column for each table that a machine can have.

mod table;

use super::SeccompError;
use table::NUMBERS;

/// A table of system calls; a machine has one of its own and may have others for programs of its ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    X86_64,
    X86,
    X32,
    Aarch64,
}

impl Table {
    pub const ALL: [Table; 4] = [Table::X86_64, Table::X86, Table::X32, Table::Aarch64];

    /// The table of the programs that this machine is made for.
    pub fn native() -> Result<Table, SeccompError> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Table::X86_64),
            "aarch64" => Ok(Table::Aarch64),
            other => Err(SeccompError::Machine(other)),
        }
    }

    /// As the kernel calls the machine in the description of a call.
    pub const fn machine(self) -> u32 {
        match self {
            Table::X86_64 | Table::X32 => 0xc000_003e,
            Table::X86 => 0x4000_0003,
            Table::Aarch64 => 0xc000_00b7,
        }
    }

    /// What is added to every number, to tell tables of the same machine apart.
    pub const fn base(self) -> u32 {
        match self {
            Table::X32 => X32_BIT,
            Table::X86_64 | Table::X86 | Table::Aarch64 => 0,
        }
    }

    const fn column(self) -> usize {
        match self {
            Table::X86_64 => 0,
            Table::X86 => 1,
            Table::X32 => 2,
            Table::Aarch64 => 3,
        }
    }
}

pub const X32_BIT: u32 = 0x4000_0000;
/// The number of a call in a table; nothing if the table does not have it.
pub fn number(name: &str, table: Table) -> Option<u32> {
    let row = NUMBERS.binary_search_by_key(&name, |(known, _)| known).ok()?;
    let (_, columns) = NUMBERS[row];
    u32::try_from(columns[table.column()]).ok().map(|number| number + table.base())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_so_that_they_can_be_found() {
        assert!(NUMBERS.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    #[test]
    fn a_number_belongs_to_one_call_in_each_table() {
        for table in Table::ALL {
            let mut numbers: Vec<u32> = NUMBERS.iter().filter_map(|(name, _)| number(name, table)).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "{table:?}");
        }
    }

    #[test]
    fn the_numbers_of_this_machine_are_those_that_programs_use() {
        let rows = [
            ("read", libc::SYS_read),
            ("clone3", libc::SYS_clone3),
            ("keyctl", libc::SYS_keyctl),
            ("openat2", libc::SYS_openat2),
            ("personality", libc::SYS_personality),
            ("socket", libc::SYS_socket),
            ("futex_waitv", libc::SYS_futex_waitv),
        ];
        for (name, expected) in rows {
            assert_eq!(number(name, Table::native().unwrap()).map(i64::from), Some(expected), "{name}");
        }
        assert_eq!(number("no_such_call", Table::X86_64), None);
        assert_eq!((number("open", Table::Aarch64), number("mmap2", Table::X86_64)), (None, None));
        assert_eq!((number("read", Table::X32), number("read", Table::X86)), (Some(X32_BIT), Some(3)));
    }
}
