//! Where the addresses in a function's registers come from.
//!
//! The analysis follows the 64-bit registers of one function, without regard to the order of its blocks: a register's
//! origin is the union over all instructions that write it.

use std::collections::HashMap;

use super::{Instruction, in_assembly, instruction, is_register};

/// The memories that a register's value may point to. Empty for a number, such as an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin(u8);

impl Origin {
    /// A number that is no address.
    pub const NUMBER: Self = Self(0);
    /// Shared memory of the block.
    pub const SHARED: Self = Self(1);
    /// Memory of the device. (Arithmetic that mixes pointers is counted here too.)
    pub const GLOBAL: Self = Self(2);
    /// Memory of the thread.
    pub const LOCAL: Self = Self(4);
    /// A parameter of the kernel: a number, or an address that the host knows.
    pub const HOST: Self = Self(8);
    /// Loaded, passed or computed in a way that is not followed: anything.
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

    /// Certainly an address in shared memory.
    pub fn is_shared(self) -> bool {
        self == Self::SHARED
    }

    /// Possibly an address in shared memory that this function names.
    pub fn may_be_shared(self) -> bool {
        self.only(Self::SHARED) != Self::NUMBER
    }

    /// Certainly an address in the thread's own memory.
    pub fn is_local(self) -> bool {
        self == Self::LOCAL
    }

    /// Possibly an address in the thread's own memory.
    pub fn may_be_local(self) -> bool {
        self == Self::NUMBER || self.only(Self::LOCAL.and(Self::UNKNOWN)) != Self::NUMBER
    }
}

/// The origins of a function's 64-bit registers.
pub(super) struct Origins<'a> {
    registers: HashMap<&'a str, Origin>,
    shared: &'a dyn Fn(&str) -> bool,
    kernel: bool,
}

impl<'a> Origins<'a> {
    /// Of the function in these lines, the first of which names it. `shared` knows the symbols of shared memory.
    pub fn of(body: &[&'a str], shared: &'a dyn Fn(&str) -> bool) -> Self {
        let mut origins = Self {
            registers: HashMap::new(),
            shared,
            kernel: (body.first()).is_some_and(|head| head.contains(".entry ")),
        };
        let writes: Vec<(&'a str, Instruction<'a>, bool)> = (body.iter())
            .zip(in_assembly(body))
            .filter_map(|(line, assembly)| Some((instruction(line)?, assembly)))
            .flat_map(|(code, assembly)| {
                code.targets()
                    .filter(|target| is_address_register(target))
                    .map(|target| (target, code.clone(), assembly))
                    .collect::<Vec<_>>()
            })
            .collect();
        // What points to a memory for certain comes first: it tells the base of a sum from its index.
        for known in [Origin::POINTERS, Origin(u8::MAX)] {
            loop {
                let mut changed = false;
                for (target, code, assembly) in &writes {
                    let found = match assembly {
                        true => Origin::UNKNOWN,
                        false => origins.of_result(code),
                    };
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

    /// Of a register.
    pub fn of_register(&self, register: &str) -> Origin {
        self.registers.get(register).copied().unwrap_or_default()
    }

    /// Of an operand: a register, a symbol with or without an offset, or a number.
    pub fn of_operand(&self, operand: &str) -> Origin {
        let first = operand.split(['+', ' ']).next().unwrap_or_default();
        match first.bytes().next() {
            Some(b'%') => self.of_register(first),
            Some(b'{') => Origin::UNKNOWN,
            Some(b'0'..=b'9' | b'-') | None => Origin::NUMBER,
            Some(_) if (self.shared)(first) => Origin::SHARED,
            Some(_) if first.starts_with("__local_depot") => Origin::LOCAL,
            // The place of a parameter.
            Some(_) if first.contains("_param_") => Origin::UNKNOWN,
            Some(_) => Origin::GLOBAL,
        }
    }

    fn of_result(&self, code: &Instruction<'a>) -> Origin {
        let sources: Vec<Origin> = (code.operands[1..].iter())
            .map(|operand| self.of_operand(operand))
            .collect();
        let all = (sources.iter()).fold(Origin::NUMBER, |all, source| all.and(*source));
        // What arithmetic makes of an address is still counted as one, so that nothing is taken for its index.
        let mixed = match all.is_pointer() {
            true => all.and(Origin::GLOBAL),
            false => all,
        };
        match (code.root(), &sources[..]) {
            ("mov" | "selp" | "min" | "max", _) => all,
            ("add", [a, b]) => sum(*a, *b),
            ("mad", [a, b, c]) if !a.and(*b).is_pointer() => *c,
            ("sub", [a, Origin::NUMBER]) => *a,
            ("cvta", [address]) => match code.name.contains(".to.") {
                _ if address.is_pointer() => *address,
                true if code.name.contains(".local") => Origin::LOCAL,
                _ if code.name.contains(".global") => Origin::GLOBAL,
                _ => Origin::UNKNOWN,
            },
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

/// An address and an index, or two numbers.
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
