//! Finds out which memories the addresses in a function's registers point to.
//!
//! The analysis follows the 64-bit registers of one function and ignores the order of its blocks: a register's origin is the
//! union over all instructions that write it.

use std::collections::HashMap;

use super::{Instruction, in_assembly, instruction, is_register, words};

/// The memories that a register's value may point to. Empty for a number, such as an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin(u8);

impl Origin {
    /// A number that is not an address.
    pub const NUMBER: Self = Self(0);
    /// Shared memory of the block.
    pub const SHARED: Self = Self(1);
    /// Memory of the device. (The result of arithmetic that mixes pointers also counts as global.)
    pub const GLOBAL: Self = Self(2);
    /// Memory of the thread.
    pub const LOCAL: Self = Self(4);
    /// A parameter of the kernel: a number or an address that the host knows.
    pub const HOST: Self = Self(8);
    /// A value that is loaded, passed or computed in a way that is not followed, and so may be anything.
    pub const UNKNOWN: Self = Self(16);

    const POINTERS: Self = Self(1 | 2 | 4);

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn is_pointer(self) -> bool {
        self.only(Self::POINTERS) != Self::NUMBER
    }

    /// Whether it is certainly an address in shared memory.
    pub fn is_shared(self) -> bool {
        self == Self::SHARED
    }

    /// Whether it may be an address in shared memory that this function names.
    pub fn may_be_shared(self) -> bool {
        self.only(Self::SHARED) != Self::NUMBER
    }

    /// Whether it is certainly an address in the thread's own memory.
    pub fn is_local(self) -> bool {
        self == Self::LOCAL
    }

    /// Whether it may be an address in the thread's own memory.
    pub fn may_be_local(self) -> bool {
        self == Self::NUMBER || self.only(Self::LOCAL.and(Self::UNKNOWN)) != Self::NUMBER
    }
}

/// The origins of a function's 64-bit registers. [`Origin::SHARED`] stands for the memory that the calling pass follows.
pub(super) struct Origins<'a> {
    registers: HashMap<&'a str, Origin>,
    shared: &'a dyn Fn(&str) -> bool,
    kernel: bool,
}

impl<'a> Origins<'a> {
    /// Analyses the function in these lines, the first of which is its head. `shared` recognises the symbols of shared memory.
    pub fn of(body: &[&'a str], shared: &'a dyn Fn(&str) -> bool) -> Self {
        let mut origins = Self {
            registers: HashMap::new(),
            shared,
            kernel: (body.first()).is_some_and(|head| head.contains(".entry ")),
        };
        let mut writes: Vec<(&'a str, Option<Instruction<'a>>)> = Vec::new();
        for (line, assembly) in body.iter().zip(in_assembly(body)) {
            if assembly {
                writes.extend(written_by_assembly(line).map(|target| (target, None)));
            } else if let Some(code) = instruction(line) {
                writes.extend(code.targets().map(|target| (target, Some(code.clone()))));
            }
        }
        writes.retain(|(target, _)| is_address_register(target));
        // Values that certainly point to a memory come first, because they tell the base of a sum from its index.
        for known in [Origin::POINTERS, Origin(u8::MAX)] {
            loop {
                let mut changed = false;
                for (target, code) in &writes {
                    let found = (code.as_ref()).map_or(Origin::UNKNOWN, |c| origins.of_result(c));
                    let before = origins.of_register(target);
                    let now = before.and(found.only(known));
                    changed |= now != before;
                    origins.registers.insert(target, now);
                }
                if !changed {
                    break;
                }
            }
        }
        origins
    }

    /// The origin of a register.
    pub fn of_register(&self, register: &str) -> Origin {
        self.registers.get(register).copied().unwrap_or_default()
    }

    /// The origin of an operand: a register, a symbol with or without an offset, or a number.
    pub fn of_operand(&self, operand: &str) -> Origin {
        let first = operand.split(['+', ' ']).next().unwrap_or_default();
        match first.bytes().next() {
            Some(b'%') => self.of_register(first),
            Some(b'{') => Origin::UNKNOWN,
            Some(b'0'..=b'9' | b'-') | None => Origin::NUMBER,
            Some(_) if (self.shared)(first) => Origin::SHARED,
            Some(_) if first.starts_with("__local_depot") => Origin::LOCAL,
            // A symbol in parameter space.
            Some(_) if first.contains("_param_") => Origin::UNKNOWN,
            Some(_) => Origin::GLOBAL,
        }
    }

    fn of_result(&self, code: &Instruction<'a>) -> Origin {
        let sources: Vec<Origin> = (code.operands[1..].iter())
            .map(|operand| self.of_operand(operand))
            .collect();
        let all = (sources.iter()).fold(Origin::NUMBER, |all, source| all.and(*source));
        // The result of arithmetic on an address still counts as an address, so that it is not mistaken for an index.
        let mixed = match all.is_pointer() {
            true => all.and(Origin::GLOBAL),
            false => all,
        };
        match (code.root(), &sources[..]) {
            ("mov" | "selp" | "min" | "max", _) => all,
            ("add", [a, b]) => sum(*a, *b),
            ("mad", [a, b, c]) if !a.and(*b).is_pointer() => *c,
            ("sub", [a, Origin::NUMBER]) => *a,
            ("and", [a, _]) if aligns(code.operands[2]) => *a,
            ("cvta", [address]) if address.is_pointer() => *address,
            ("cvta", _) if code.name.contains(".local") => Origin::LOCAL,
            ("cvta", _) if code.name.contains(".to.shared") => Origin::UNKNOWN,
            // A generic address of shared memory counts as global, like every other generic address.
            ("cvta", _) => Origin::GLOBAL,
            ("ld", _) if self.kernel && code.name.starts_with("ld.param") => {
                match code.operands[1].contains("_param_") {
                    true => Origin::HOST,
                    false => Origin::UNKNOWN,
                }
            }
            ("mul" | "shl" | "shr" | "cvt" | "div" | "rem", _) if !all.is_pointer() => {
                Origin::NUMBER
            }
            ("ld" | "atom", _) => Origin::UNKNOWN,
            _ => mixed.and(Origin::UNKNOWN),
        }
    }
}

/// The registers that a line of assembly may write: the targets of its instruction, or all registers if the line is only a part
/// of one.
fn written_by_assembly<'a>(line: &'a str) -> impl Iterator<Item = &'a str> {
    line.split_inclusive(';').flat_map(|part| -> Vec<&'a str> {
        match instruction(part) {
            Some(code) => code.targets().collect(),
            None => words(part).map(|(_, word)| word).collect(),
        }
    })
}

/// Whether the mask rounds an address down to an alignment that the start of shared memory has.
fn aligns(mask: &str) -> bool {
    let size = mask.strip_prefix('-').and_then(|size| size.parse().ok());
    size.is_some_and(|size: u32| size.is_power_of_two() && size <= 4096)
}

/// The origin of a sum, which is an address plus an index, or the sum of two numbers.
fn sum(a: Origin, b: Origin) -> Origin {
    match (a.is_pointer(), b.is_pointer()) {
        (true, false) => a,
        (false, true) => b,
        (false, false) => a.and(b),
        (true, true) => a.and(b).and(Origin::GLOBAL),
    }
}

/// Whether a register holds 64 bits, which an address needs.
pub(super) fn is_address_register(register: &str) -> bool {
    is_register(register)
        && ["%rd", "%SP", "%generic"]
            .iter()
            .any(|kind| register.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(head: &str, body: &str, register: &str) -> Origin {
        let lines: Vec<&str> = std::iter::once(head).chain(body.lines()).collect();
        Origins::of(&lines, &|word| word == "TILE").of_register(register)
    }

    const KERNEL: &str = ".visible .entry a(";

    #[test]
    fn an_index_does_not_hide_the_origin_of_its_base() {
        for (base, expected) in [
            ("mov.b64 %rd1, TILE", Origin::SHARED),
            ("mov.b64 %rd1, TABLE", Origin::GLOBAL),
            ("mov.b64 %rd1, __local_depot3", Origin::LOCAL),
            ("cvta.to.global.u64 %rd1, %rd9", Origin::GLOBAL),
            ("ld.param.b64 %rd1, [a_param_2+16]", Origin::HOST),
            ("ld.global.b64 %rd1, [%rd9]", Origin::UNKNOWN),
        ] {
            for sum in [
                "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd2, %rd1;",
                "mad.wide.u32 %rd3, %r1, 4, %rd1;",
                "add.s64 %rd3, %rd1, 16;",
                "mov.b64 %rd2, %rd1;\nand.b64 %rd3, %rd2, -8;",
                // In a loop, the base is written after its use.
                "$L:\nadd.s64 %rd3, %rd2, %rd5;\nmul.lo.s64 %rd5, %rd8, 8;\nmov.b64 %rd2, %rd1;",
            ] {
                let body = format!("{base};\n{sum}");
                assert_eq!(origin(KERNEL, &body, "%rd3"), expected, "{body}");
            }
        }
        // It is not certain which of the two is the address.
        let two = "ld.param.b64 %rd1, [a_param_0];\nld.global.b64 %rd2, [%rd9];\nadd.s64 %rd3, %rd1, %rd2;";
        assert!(origin(KERNEL, two, "%rd3").may_be_local());
        // The parameter of a function and the result of a call may be anything.
        for body in [
            "ld.param.b64 %rd1, [f_param_0];",
            "ld.param.b64 %rd1, [retval0];",
        ] {
            assert_eq!(origin(".func f(", body, "%rd1"), Origin::UNKNOWN);
        }
    }

    #[test]
    fn arithmetic_on_addresses_is_not_mistaken_for_an_index() {
        for body in [
            "sub.s64 %rd3, %rd1, %rd2;",
            "sub.s64 %rd3, %rd1, %rd8;",
            "add.s64 %rd3, %rd1, %rd2;",
            "xor.b64 %rd3, %rd1, %rd8;",
            "selp.b64 %rd3, %rd1, %rd2, %p1;",
            "neg.s64 %rd4, %rd2;\nadd.s64 %rd3, %rd1, %rd4;",
            "shl.b64 %rd3, %rd1, 3;",
        ] {
            let body =
                format!("mov.b64 %rd1, TILE;\nmov.b64 %rd2, TABLE;\nld.b64 %rd8, [%rd9];\n{body}");
            let found = origin(KERNEL, &body, "%rd3");
            assert!(found.may_be_shared() && !found.is_shared(), "{body}");
        }
    }

    #[test]
    fn values_written_by_assembly_may_be_anything() {
        for line in [
            "mov.b64 %rd2, %rd1; add.s64 %rd3, %rd2, 8;",
            "some.instruction {%r1,",
            "add.u64 %rd3, %rd1, 8;",
        ] {
            let body = format!(
                "mov.b64 %rd1, TILE;\n// begin inline asm\n{line}\n%rd3}};\n// end inline asm"
            );
            assert_eq!(origin(KERNEL, &body, "%rd3"), Origin::UNKNOWN, "{line}");
            assert!(origin(KERNEL, &body, "%rd1").is_shared(), "{line}");
        }
    }
}
