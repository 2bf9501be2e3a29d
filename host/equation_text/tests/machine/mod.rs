//! A machine for the instructions that kernels of equations have, to check what they mean where there is no GPU.

use std::collections::HashMap;

/// An operand.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Register(usize),
    Bits(u64),
    /// A place in the arguments.
    Argument(usize),
    /// The address in a register, with an offset.
    Memory(usize, u64),
}

#[derive(Debug)]
struct Instruction<'a> {
    /// The register that must hold, and whether it must not.
    only_if: Option<(usize, bool)>,
    name: &'a str,
    operands: Vec<Operand>,
    /// The label of a branch.
    to: &'a str,
}

/// A kernel.
#[derive(Debug)]
pub struct Machine<'a> {
    code: Vec<Instruction<'a>>,
    labels: HashMap<&'a str, usize>,
    registers: HashMap<&'a str, usize>,
}

impl<'a> Machine<'a> {
    /// Reads a kernel.
    pub fn new(text: &'a str) -> Self {
        let mut machine = Self {
            code: Vec::new(),
            labels: HashMap::new(),
            registers: HashMap::new(),
        };
        let body = text.split_once("\n{\n").unwrap().1;
        for line in body.lines().map(str::trim) {
            if line.starts_with(".reg") || line == "}" || line.is_empty() {
                continue;
            }
            if let Some(label) = line.strip_suffix(':') {
                machine.labels.insert(label, machine.code.len());
                continue;
            }
            let instruction = machine.instruction(line.strip_suffix(';').unwrap());
            machine.code.push(instruction);
        }
        machine
    }

    fn register(&mut self, name: &'a str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name).or_insert(next)
    }

    fn instruction(&mut self, line: &'a str) -> Instruction<'a> {
        let (only_if, line) = match line.strip_prefix('@') {
            None => (None, line),
            Some(rest) => {
                let (name, line) = rest.split_once(' ').unwrap();
                let register = self.register(name.trim_start_matches('!'));
                (Some((register, name.starts_with('!'))), line)
            }
        };
        let (name, words) = line.split_once(' ').unwrap_or((line, ""));
        let branches = name == "bra";
        let words = if branches { "" } else { words };
        let operands = words
            .split(',')
            .map(|word| word.trim_matches([' ', '{', '}']));
        let operands = operands.filter(|word| !word.is_empty()).map(|word| {
            if let Some(inside) = word.strip_prefix('[') {
                let inside = inside.strip_suffix(']').unwrap();
                let (base, offset) = inside.split_once('+').unwrap_or((inside, "0"));
                let offset: u64 = offset.parse().unwrap();
                return match base {
                    "p" => Operand::Argument(offset as usize),
                    base => Operand::Memory(self.register(base), offset),
                };
            }
            match word.strip_prefix("0d") {
                Some(bits) => Operand::Bits(u64::from_str_radix(bits, 16).unwrap()),
                None if word.starts_with('%') => Operand::Register(self.register(word)),
                None => Operand::Bits(word.parse().unwrap()),
            }
        });
        Instruction {
            only_if,
            name,
            operands: operands.collect(),
            to: line.split_once(' ').map_or("", |(_, to)| to),
        }
    }

    /// Runs a thread of a block of 32, which writes its numbers into `out`, with the address 0.
    pub fn run(&self, arguments: &[u8], thread: u32, out: &mut [f64]) {
        let mut registers = vec![0_u64; self.registers.len()];
        for (name, value) in [
            ("%ctaid.x", thread / 32),
            ("%ntid.x", 32),
            ("%tid.x", thread % 32),
        ] {
            if let Some(place) = self.registers.get(name) {
                registers[*place] = value.into();
            }
        }
        let mut next = 0;
        while let Some(instruction) = self.code.get(next) {
            next += 1;
            if let Some((register, not)) = instruction.only_if
                && (registers[register] == 1) == not
            {
                continue;
            }
            let operands = &instruction.operands;
            let bits = |k: usize| match operands[k] {
                Operand::Register(place) => registers[place],
                Operand::Bits(bits) => bits,
                Operand::Argument(place) => {
                    let bytes = &arguments[place..];
                    let four = u32::from_le_bytes(bytes[..4].try_into().unwrap());
                    match instruction.name {
                        "ld.param.u32" => four.into(),
                        _ => u64::from_le_bytes(bytes[..8].try_into().unwrap()),
                    }
                }
                Operand::Memory(place, offset) => registers[place] + offset,
            };
            let x = |k: usize| f64::from_bits(bits(k));
            let word = |k: usize| bits(k) as u32;
            let value = match instruction.name {
                "ret" => return,
                "bra" => {
                    next = self.labels[instruction.to];
                    continue;
                }
                "st.global.f64" => {
                    out[bits(0) as usize / 8] = x(1);
                    continue;
                }
                "mov.b64" => bits(1) | bits(2) << 32,
                "mov.f64" | "mov.u32" | "mov.u64" | "mov.pred" | "ld.param.u32"
                | "ld.param.u64" | "cvta.to.global.u64" | "cvt.u64.u32" => bits(1),
                "cvt.u32.u64" => word(1).into(),
                "cvt.rn.f64.u64" => (bits(1) as f64).to_bits(),
                "cvt.rmi.f64.f64" => x(1).floor().to_bits(),
                "mad.lo.u32" => (word(1).wrapping_mul(word(2)).wrapping_add(word(3))).into(),
                "mul.wide.u32" => u64::from(word(1)) * u64::from(word(2)),
                "mul.lo.u32" => word(1).wrapping_mul(word(2)).into(),
                "mul.hi.u32" => (u64::from(word(1)) * u64::from(word(2))) >> 32,
                "xor.b32" => (word(1) ^ word(2)).into(),
                "add.u64" => bits(1).wrapping_add(bits(2)),
                "shl.b64" => bits(1) << bits(2),
                "shr.u64" => bits(1) >> bits(2),
                "rem.u64" => bits(1) % bits(2),
                "div.u64" => bits(1) / bits(2),
                "setp.ge.u32" => (word(1) >= word(2)).into(),
                "setp.eq.u32" => (word(1) == word(2)).into(),
                "setp.ne.u32" => (word(1) != word(2)).into(),
                "setp.lt.u64" => (bits(1) < bits(2)).into(),
                "setp.lt.f64" => (x(1) < x(2)).into(),
                "setp.nan.f64" => (x(1).is_nan() || x(2).is_nan()).into(),
                "and.pred" => bits(1) & bits(2),
                "not.pred" => 1 - bits(1),
                "selp.f64" => bits(if bits(3) == 1 { 1 } else { 2 }),
                "neg.f64" => (-x(1)).to_bits(),
                "abs.f64" => x(1).abs().to_bits(),
                "sqrt.rn.f64" => x(1).sqrt().to_bits(),
                "add.rn.f64" => (x(1) + x(2)).to_bits(),
                "sub.rn.f64" => (x(1) - x(2)).to_bits(),
                "mul.rn.f64" => (x(1) * x(2)).to_bits(),
                "div.rn.f64" => (x(1) / x(2)).to_bits(),
                other => panic!("{other} is not among the instructions of kernels"),
            };
            let Operand::Register(to) = operands[0] else {
                panic!("{instruction:?} has no result");
            };
            registers[to] = value;
        }
    }
}
