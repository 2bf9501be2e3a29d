//! Instructions that use the addresses of variables which a pass has moved to shared or constant memory.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::origin::{Origins, is_address_register};
use super::{
    BEGIN_ASSEMBLY, Instruction, bodies, in_assembly, instruction, is_register, rewritten,
    with_words, words,
};
use crate::error::CudaBuilderError;

/// A memory in which rustc cannot place variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Shared,
    Constant,
}

impl Memory {
    /// Its name in PTX.
    const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Constant => "const",
        }
    }

    /// The names of the registers for generic addresses. A function may use both memories.
    const fn generic(self) -> &'static str {
        match self {
            Self::Shared => "%generic",
            Self::Constant => "%generic_const",
        }
    }

    /// Whether an instruction is a memory access that exists for this memory.
    fn has(self, code: &Instruction<'_>) -> bool {
        match self {
            Self::Shared => accesses(code),
            Self::Constant => {
                code.root() == "ld" && !code.name.split('.').any(|part| ORDERED.contains(&part))
            }
        }
    }
}

/// The modifiers of accesses whose order matters to other threads.
const ORDERED: [&str; 5] = ["relaxed", "acquire", "release", "volatile", "mmio"];

/// Makes instructions treat the addresses of the variables in a memory as such. `refusal` makes the error for a function and the line in
/// it that has no counterpart for this memory.
pub(super) fn addressed(
    ptx: &str,
    memory: Memory,
    refusal: impl Fn(&[&str], &str) -> CudaBuilderError,
) -> Result<String, CudaBuilderError> {
    let ptx_lines: Vec<&str> = ptx.lines().collect();
    let symbols: BTreeSet<&str> = (ptx_lines.iter())
        .filter(|line| line.starts_with('.') && !line.starts_with(".param"))
        .filter(|line| {
            (line.split_whitespace().take(3)).any(|word| word == format!(".{}", memory.name()))
        })
        .filter_map(|line| name_in(line))
        .collect();
    let is_shared = |word: &str| symbols.contains(word);
    let mut instead = HashMap::new();
    for body in bodies(&ptx_lines) {
        let lines = &ptx_lines[body.clone()];
        if !lines
            .iter()
            .any(|line| words(line).any(|(_, word)| is_shared(word)))
        {
            continue;
        }
        let function = Function {
            origins: Origins::of(lines, &is_shared),
            generic: Cell::new(0),
            memory,
        };
        // A line of assembly may be any part of an instruction, so that conversions go before the whole assembly block.
        let mut assembly = (body.start, Conversions::default());
        for ((i, line), in_assembly) in (body.start..).zip(lines).zip(in_assembly(lines)) {
            if line.trim() == BEGIN_ASSEMBLY {
                assembly = (i, Conversions::default());
            } else if in_assembly {
                let (begins, before) = &mut assembly;
                let changed = function.changed_assembly(line, before);
                instead.extend(changed.map(|changed| (i, changed)));
                instead.insert(*begins, before.text(memory) + ptx_lines[*begins]);
            } else if let Some(code) = instruction(line) {
                let mut before = Conversions::default();
                let changed = function.changed(&code, &mut before);
                let changed = changed.map_err(|_| refusal(lines, line))?;
                instead.extend(changed.map(|changed| (i, before.text(memory) + &changed)));
            }
        }
        let open = lines.iter().position(|line| *line == "{");
        if let (Some(open), 1..) = (open, function.generic.get()) {
            let registers = format!(
                "{{\n\t.reg .b64 \t{}<{}>;",
                memory.generic(),
                function.generic.get()
            );
            instead.insert(body.start + open, registers);
        }
    }
    Ok(rewritten(ptx, &instead))
}

/// A function that uses variables of a memory.
struct Function<'a> {
    origins: Origins<'a>,
    /// The number of registers for generic addresses that it needs.
    generic: Cell<usize>,
    memory: Memory,
}

impl Function<'_> {
    /// The instruction in its new form, after the conversions in `before`; `Ok(None)` if it does not change.
    ///
    /// `Err` if LLVM has chosen an instruction for global memory that has no counterpart for shared memory.
    fn changed(
        &self,
        code: &Instruction<'_>,
        before: &mut Conversions,
    ) -> Result<Option<String>, Unsupported> {
        let mut name = code.name.to_owned();
        // The operand that stays a shared address, because the access itself is `.shared`.
        let mut kept = None;
        for (at, base) in code.addresses() {
            if !self.origins.of_operand(base).may_be_shared() {
                continue;
            }
            match space(&name) {
                None | Some("global") if self.memory.has(code) => {
                    let shared = self.holds_shared(base);
                    name = in_space(&name, shared.then_some(self.memory.name()));
                    kept = shared.then_some(at);
                }
                None if self.memory == Memory::Shared || !accesses(code) => {}
                _ => return Err(Unsupported),
            }
        }
        let same_memory = match code.root() {
            "mov" | "add" | "sub" | "mad" | "and" | "selp" | "min" | "max" | "cvta" => {
                code.targets().any(|target| self.holds_shared(target))
            }
            "setp" => (code.operands[1..].iter()).all(|operand| self.holds_shared(operand)),
            _ => false,
        };
        if code.root() == "cvta" && self.origins.of_operand(code.operands[1]).may_be_shared() {
            // Either both are shared addresses or both are generic.
            "mov.b64".clone_into(&mut name);
        }
        let generic = |(at, operand): (usize, &&str)| {
            let written = at == 0 && code.has_target();
            match same_memory || written || kept == Some(at) {
                true => (*operand).to_owned(),
                false => self.generic(operand, before),
            }
        };
        let operands: Vec<String> = code.operands.iter().enumerate().map(generic).collect();
        let unchanged = before.0.is_empty() && name == code.name;
        Ok((!unchanged).then(|| code.with(&name, &operands)))
    }

    /// The new form of a line of inline assembly. Its operands were passed as generic addresses; symbols that it names are
    /// correct as they are.
    fn changed_assembly(&self, line: &str, before: &mut Conversions) -> Option<String> {
        let mut generic = |text: &str| {
            with_words(text, |word| {
                let address = is_address_register(word) && self.holds_shared(word);
                address.then(|| before.of(word, self))
            })
        };
        if let Some(code) = instruction(line)
            && self.memory.has(&code)
            && space(code.name).is_none()
            && let Some((at, base)) = code.addresses().next()
            && is_register(base)
            && self.origins.of_register(base).is_shared()
        {
            let operands = code.operands.iter().enumerate();
            let operands: Vec<String> = operands
                .map(|(i, operand)| match i == at {
                    true => (*operand).to_owned(),
                    false => generic(operand),
                })
                .collect();
            return Some(code.with(&in_space(code.name, Some(self.memory.name())), &operands));
        }
        let changed = generic(line);
        (changed != line).then_some(changed)
    }

    /// Whether an operand is an address within shared memory.
    fn holds_shared(&self, operand: &str) -> bool {
        self.origins.of_operand(operand).is_shared()
    }

    /// The operand, with shared addresses replaced by generic ones.
    fn generic(&self, operand: &str, before: &mut Conversions) -> String {
        if !operand.starts_with(['[', '{']) && self.holds_shared(operand) {
            // A symbol may have an offset.
            return before.of(operand, self);
        }
        with_words(operand, |word| {
            let address = !is_register(word) || is_address_register(word);
            (address && self.holds_shared(word)).then(|| before.of(word, self))
        })
    }
}

/// The generic addresses that an instruction needs: each operand with the register that holds its generic address.
#[derive(Default)]
struct Conversions(Vec<(String, String)>);

impl Conversions {
    fn of(&mut self, address: &str, function: &Function<'_>) -> String {
        if let Some((_, register)) = self.0.iter().find(|(known, _)| known == address) {
            return register.clone();
        }
        let register = format!("{}{}", function.memory.generic(), function.generic.get());
        function.generic.set(function.generic.get() + 1);
        self.0.push((address.to_owned(), register.clone()));
        register
    }

    fn text(&self, memory: Memory) -> String {
        let memory = memory.name();
        let mut text = String::new();
        for (address, register) in &self.0 {
            if is_register(address) {
                let _ = writeln!(text, "\tcvta.{memory}.u64 \t{register}, {address};");
            } else {
                let _ = writeln!(
                    text,
                    "\tmov.b64 \t{register}, {address};\n\tcvta.{memory}.u64 \t{register}, {register};"
                );
            }
        }
        text
    }
}

/// The instruction does not exist for this memory.
struct Unsupported;

/// Whether it is a memory access.
fn accesses(code: &Instruction<'_>) -> bool {
    matches!(code.root(), "ld" | "st" | "atom" | "red")
}

/// The memory that an instruction's name specifies.
fn space(name: &str) -> Option<&str> {
    let is_space = |part: &&str| matches!(*part, "global" | "shared" | "local" | "const" | "param");
    name.split('.').skip(1).find(is_space)
}

/// The name of an access with another memory, or without one.
fn in_space(name: &str, space: Option<&str>) -> String {
    // `nc` refers to a cache of global memory.
    let mut parts: Vec<&str> = name
        .split('.')
        .filter(|part| !matches!(*part, "global" | "nc"))
        .collect();
    const BEFORE: [&str; 11] = [
        "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "sys", "gpu",
        "cta", "cluster",
    ];
    let at = (1..parts.len())
        .find(|i| !BEFORE.contains(&parts[*i]))
        .unwrap_or(parts.len());
    if let Some(space) = space {
        parts.insert(at, space);
    }
    parts.join(".")
}

/// The name in a declaration such as `.global .align 4 .b8 NAME[16]`.
pub(super) fn name_in(declaration: &str) -> Option<&str> {
    let is_name = |word: &&str| !word.starts_with(|c: char| c == '.' || c.is_ascii_digit());
    words(declaration).map(|(_, word)| word).find(is_name)
}
