//! The lanes' operations are compiled into functions that have their instruction set. If the compiler leaves a part of a loop in a
//! function of its own, which does not have it, each operation there is a call, and the loop takes 30 times as long, with the same results.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

/// Functions that are rarely called, and kept out of the loops on purpose.
const RARE: &[&str] = &["renormalise"];

/// A program in the format ELF, with symbols.
struct Program(Vec<u8>);

struct Function {
    name: String,
    code: Range<usize>,
}

impl Program {
    fn number(&self, at: usize, bytes: usize) -> usize {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.0[at..at + bytes]);
        u64::from_le_bytes(value) as usize
    }

    /// The places in the file of the headers in a table.
    fn headers(&self, table: usize, width: usize, count: usize) -> impl Iterator<Item = usize> {
        let (first, width) = (self.number(table, 8), self.number(width, 2));
        (0..self.number(count, 2)).map(move |k| first + k * width)
    }

    /// All functions, by their addresses.
    fn functions(&self) -> Vec<Function> {
        const SYMBOLS: usize = 2;
        const FUNCTION: u8 = 2;
        let sections: Vec<usize> = self.headers(0x28, 0x3a, 0x3c).collect();
        let table = sections
            .iter()
            .find(|at| self.number(**at + 4, 4) == SYMBOLS);
        let table = *table.expect("the program has symbols");
        let first = self.number(table + 0x18, 8);
        let names = self.number(sections[self.number(table + 0x28, 4)] + 0x18, 8);
        let symbols = (first..first + self.number(table + 0x20, 8)).step_by(24);
        let mut found: Vec<Function> = symbols
            .filter(|symbol| self.0[symbol + 4] & 15 == FUNCTION)
            .map(|symbol| {
                let name = &self.0[names + self.number(symbol, 4)..];
                let end = name.iter().position(|byte| *byte == 0).expect("an end");
                let address = self.number(symbol + 8, 8);
                Function {
                    name: String::from_utf8_lossy(&name[..end]).into_owned(),
                    code: address..address + self.number(symbol + 16, 8),
                }
            })
            .collect();
        found.sort_by_key(|function| function.code.start);
        found
    }

    /// The addresses of the calls of functions that begin at one of these addresses.
    fn calls(&self, of: &BTreeSet<usize>) -> Vec<usize> {
        const LOADED: usize = 1;
        const EXECUTABLE: usize = 1;
        let mut found = Vec::new();
        for header in self.headers(0x20, 0x36, 0x38) {
            if self.number(header, 4) != LOADED || self.number(header + 4, 4) & EXECUTABLE == 0 {
                continue;
            }
            let (file, address) = (self.number(header + 8, 8), self.number(header + 16, 8));
            let code = &self.0[file..file + self.number(header + 32, 8)];
            for (at, bytes) in code.windows(5).enumerate() {
                // A call, or a jump in its place, by a difference of addresses.
                let [0xe8 | 0xe9, difference @ ..] = bytes else {
                    continue;
                };
                let difference = i32::from_le_bytes(difference.try_into().expect("4 bytes"));
                if of.contains(&(address + at + 5).wrapping_add_signed(difference as isize)) {
                    found.push(address + at);
                }
            }
        }
        found
    }
}

#[test]
fn no_loop_calls_operations_of_lanes() {
    let program = Program(fs::read(env!("CARGO_BIN_EXE_trisolar")).expect("the program"));
    let functions = program.functions();
    assert!(
        functions.iter().any(|f| f.name.contains("on_avx512")),
        "it has lanes"
    );
    let is_operation = |f: &&Function| {
        f.name.contains("core_arch") && (f.name.contains("_mm256_") || f.name.contains("_mm512_"))
    };
    let operations = functions.iter().filter(is_operation).map(|f| f.code.start);
    let callers: BTreeSet<&str> = (program.calls(&operations.collect()).into_iter())
        .filter_map(|at| {
            let after = functions.partition_point(|f| f.code.start <= at);
            let caller = &functions[..after].iter().rfind(|f| f.code.contains(&at))?;
            (!is_operation(caller)).then_some(caller.name.as_str())
        })
        .filter(|name| !RARE.iter().any(|rare| name.contains(rare)))
        .collect();
    assert!(
        callers.is_empty(),
        "these call operations of lanes; inline them, closures too, into functions with the instruction set: {callers:#?}"
    );
}
