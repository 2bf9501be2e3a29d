//! Writes the random kernels. `TRIAL_KERNELS` is their number and `TRIAL_SEED` the seed of the first one; a kernel depends on its own seed alone.
//!
//! A kernel is a program of typed statements over scalars, arrays, structures and enums. Expressions come from the lists of templates below, in which `$a` stands
//! for another expression of the same type. Every program is defined for all values: arithmetic wraps, indices are taken modulo the length, loops are short,
//! and the bits of a NaN are never looked at. Barriers, shuffles and shared memory stand where all threads of a block come by together.

use std::fmt::Write as _;
use std::path::Path;

const FLOATS: [&str; 2] = ["f32", "f64"];
/// Types and how often they are drawn.
const TYPES: [(&str, u64); 14] = [
    ("u32", 8),
    ("i32", 6),
    ("u64", 5),
    ("i64", 5),
    ("f32", 6),
    ("f64", 6),
    ("u8", 3),
    ("i8", 3),
    ("u16", 3),
    ("i16", 3),
    ("bool", 4),
    ("usize", 2),
    ("u128", 1),
    ("i128", 1),
];

// $a: of the same type; $p: of another type that the whole template shares; $i, $f: of some integer type, of some type of floats; $n: u32; $c: bool;
// $T: the type itself; $U: the unsigned type of its size; $k: a small number.
const OF_INTEGERS: &[&str] = &[
    "$a.wrapping_add($a)",
    "$a.wrapping_sub($a)",
    "$a.wrapping_mul($a)",
    "$a & $a",
    "$a | $a",
    "$a ^ $a",
    "!$a",
    "$a.wrapping_neg()",
    "$a.wrapping_div($a | 1)",
    "$a.wrapping_rem($a | 1)",
    "$a.wrapping_rem_euclid($a | 1)",
    "$a.wrapping_shl($n)",
    "$a.wrapping_shr($n)",
    "$a >> $k",
    "$a.rotate_left($n & 127)",
    "$a.rotate_right($k)",
    "$a.saturating_add($a)",
    "$a.saturating_sub($a)",
    "$a.saturating_mul($a)",
    "$a.min($a)",
    "$a.max($a)",
    "$a.count_ones() as $T",
    "$a.leading_zeros() as $T",
    "$a.trailing_zeros() as $T",
    "$a.swap_bytes()",
    "$a.reverse_bits()",
    "$a.wrapping_pow($n & 7)",
    "$a.checked_add($a).unwrap_or($a)",
    "$a.checked_sub($a).map_or($a, |x| x ^ 3)",
    "$a.checked_mul($a).unwrap_or($a)",
    "$a.checked_shl($n & 255).unwrap_or($a)",
    "$a.checked_div($a).unwrap_or($a)",
    "$a.overflowing_mul($a).0",
    "$a.overflowing_add($a).1 as $T",
    "$a.midpoint($a)",
    "if $c { $a } else { $a }",
    "match $n % 5 { 0 => $a, 1 | 3 => $a, _ => $a }",
    "$i as $T",
    "$i as $T",
    "$f as $T",
    "$c as $T",
    "[$a, $a, $a][($n % 3) as usize]",
    "{ let (x, y) = ($a, $a); let join = |z: $T| x.wrapping_mul(z) ^ y; join($a) }",
    "least([$a, $a, $a])",
    "chosen(&[&|x| x ^ ($a as u64), &|x| x.wrapping_mul(5), &|x| x << ($n & 31)], $n, $a as u64) as $T",
    "[$a, $a, $a, $a].iter().fold($a, |x, y| x.rotate_left(3) ^ *y)",
    "$a.cmp(&$a) as i8 as $T",
];
const OF_SIGNED: &[&str] = &[
    "$a.wrapping_abs()",
    "$a.signum()",
    "$a.unsigned_abs() as $T",
    "$a.abs_diff($a) as $T",
    "$a.saturating_neg()",
    "$a.wrapping_div_euclid($a | 1)",
    "-($a >> 1)",
];
const OF_UNSIGNED: &[&str] = &[
    "$a.isqrt()",
    "$a.abs_diff($a)",
    "$a.is_power_of_two() as $T",
    "$a.checked_next_power_of_two().unwrap_or($a)",
    "$a.div_ceil($a | 1)",
    "$a.checked_ilog2().unwrap_or(9) as $T",
    "$a / ($a | 1)",
    "$a % ($a | 1)",
    "$a / $k",
    "$a % $k",
];
const OF_FLOATS: &[&str] = &[
    "$a + $a",
    "$a - $a",
    "$a * $a",
    "$a / $a",
    "$a * $a + $a",
    "$a - $a * $a",
    "-$a",
    "$a.abs()",
    "$a.sqrt()",
    "$a.mul_add($a, $a)",
    "$a.floor()",
    "$a.ceil()",
    "$a.trunc()",
    "$a.round()",
    "$a.round_ties_even()",
    "$a.fract()",
    "$a.recip()",
    "$a.clamp(-2.5, 1e6)",
    "$a % $a",
    "$i as $T",
    "$i as $T",
    "$f as $T",
    "$T::from_bits($U)",
    "if $a < $a { $a } else { $a }",
    "if $c { $a } else { $a }",
    "[$a, $a, $a].iter().fold($a, |x, y| x * 0.5 + y)",
    "[$a, $a, $a, $a][($n % 4) as usize]",
];
const OF_BOOL: &[&str] = &[
    "$p == $p",
    "$p != $p",
    "$p < $p",
    "$p <= $p",
    "$p > $p",
    "$p >= $p",
    "!$c",
    "$c && $c",
    "$c || $c",
    "$c ^ $c",
    "$f.is_nan()",
    "$f.is_finite()",
    "$n & 8 != 0",
    "$n.wrapping_mul(0x9e37_79b9) >> 31 != 0",
    "$i == 0",
    "$a.then_some($n).is_some_and(|x| x < 40)",
    "($k..99).contains(&$n)",
    "matches!($n % 7, 0 | 2..5)",
];
/// The same value in all threads of a block, of type u32.
const UNIFORM: &[&str] = &[
    "(seed >> $k) as u32",
    "seed as u32",
    "block_idx_x()",
    "$u.wrapping_add($u)",
    "$u.wrapping_mul($u)",
    "$u ^ $u",
    "$u % $k",
];
/// Statements of all threads together, which define $v of a type $T that can be shuffled.
const TOGETHER: &[&str] = &[
    "let mut $v = unsafe { warp_shuffle_xor(u32::MAX, $a, $u % 32, 32).0 };",
    "let mut $v = unsafe { warp_shuffle_idx(u32::MAX, $a, $n % 32, 32).0 };",
    "let mut $v = unsafe { warp_shuffle_idx(u32::MAX, $a, $n % 8, 8).0 };",
    "let (mut $v, valid) = unsafe { warp_shuffle_up(u32::MAX, $a, $u % 32, 32) }; if valid { $v = $a; }",
    "let (mut $v, valid) = unsafe { warp_shuffle_down(u32::MAX, $a, $k, 16) }; if !valid { $v = $a; }",
    "let mut $v = $a; if unsafe { warp_vote_any(u32::MAX, $c) } { $v = $a; }",
    "let mut $v = $a; if unsafe { warp_vote_all(u32::MAX, $c) } { $v = $a; }",
    "let mut $v = $a; if unsafe { warp_vote_ballot(u32::MAX, $c) } & 0xf0f0 > $n { $v = $a; }",
    "let mut $v = $a; if unsafe { warp_match_any(u32::MAX, $n % 5) }.count_ones() > 6 { $v = $a; }",
    "let mut $v = $a; if sync_threads_count(u32::from($c)) > 20 { $v = $a; }",
    "let mut $v = $a; if sync_threads_or(u32::from($c)) != 0 { $v = $a; }",
    "let mut $v = exchange::<$T>($a, $n);",
    "let mut $v = exchange_dynamic::<$T>($a, $n);",
    "let mut $v = $a; if $c { $v = least([$a, $a, $a]); } let mut $v = through(shared_array![$T; 64], $v, $n);",
    "let mut $v = collective::warp_reduce($a, |x, y| if x < y { x } else { y });",
    "let mut $v = collective::block_reduce($a, |x, y| if x > y { x } else { y });",
    "let mut $v = collective::block_inclusive_scan($a, |x, y| if y > x { y } else { x });",
    "let mut $v = $a; if collective::block_select($c).0 % 3 == 0 { $v = $a; }",
    "let mut $v = $a; if collective::block_sort($n, |x, y| x < y) & 1 == 0 { $v = $a; }",
];

/// SplitMix64 (Steele, Lea & Flood 2014).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 32) as usize % n
    }

    /// Whether something happens that does so once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

type Type = &'static str;

#[derive(Clone)]
struct Variable {
    place: String,
    of: Type,
    /// 0 for scalars.
    length: usize,
    can_change: bool,
    /// Whether it may be borrowed: fields of packed structures may not.
    can_borrow: bool,
}

/// Whether one type may be converted to the other. LLVM has no function for GPUs between 128 bits and floats.
fn converts(from: Type, to: Type) -> bool {
    let is_long = |of: Type| of.ends_with("128");
    !(is_long(from) && FLOATS.contains(&to) || FLOATS.contains(&from) && is_long(to))
}

struct Function {
    /// The start of a call, up to its arguments, as a template.
    call: String,
    parameters: Vec<Type>,
    result: Type,
}

struct Structure {
    fields: Vec<(Type, usize)>,
    is_packed: bool,
}

struct Writer {
    random: Random,
    text: String,
    variables: Vec<Variable>,
    /// Variables that are the same in all threads of a block.
    uniform: Vec<String>,
    functions: Vec<Function>,
    structures: Vec<Structure>,
    /// Fields of the variants of the kernel's enum.
    variants: Vec<Vec<Type>>,
    names: usize,
    loops: usize,
    /// Whether all threads of the block execute the present statement.
    together: bool,
    in_kernel: bool,
    /// What the function that is being written returns.
    result: Option<Type>,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    fn of_type(&mut self) -> Type {
        let all: u64 = TYPES.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.bits() % all;
        let found = TYPES.iter().find(|(_, weight)| {
            let here = at < *weight;
            at = at.wrapping_sub(*weight);
            here
        });
        found.expect("a weight").0
    }

    fn literal(&mut self, of: Type) -> String {
        let r = &mut self.random;
        if of == "bool" {
            return r.of(&["true", "false"]).into();
        }
        if FLOATS.contains(&of) {
            const SOME: [&str; 12] = [
                "0.0",
                "1.0",
                "-1.5",
                "0.1",
                "1e9",
                "3e-39",
                "1e38",
                "-7e-5",
                "16777217.0",
                "-0.0",
                "2147483648.0",
                "0.333",
            ];
            return match r.below(14) {
                0 => format!("{of}::INFINITY"),
                1 => format!("{of}::MIN_POSITIVE"),
                n => format!("({}_{of})", SOME[n - 2]),
            };
        }
        match r.below(8) {
            0 => format!("{of}::MAX"),
            1 => format!("{of}::MIN"),
            2 => format!("(!0_{of})"),
            3 | 4 => format!("{}_{of}", r.below(100)),
            5 => format!("(1_{of} << {})", r.below(7)),
            _ => format!("({:#x}_u64 as {of})", r.bits()),
        }
    }

    /// A variable, an element or a literal.
    fn leaf(&mut self, of: Type) -> String {
        let known: Vec<Variable> =
            (self.variables.iter().filter(|v| v.of == of).cloned()).collect();
        if known.is_empty() || self.random.once_in(6) {
            let scalars: Vec<&Variable> = (self.variables.iter())
                .filter(|v| v.length == 0 && v.of != "bool" && v.of != of && converts(v.of, of))
                .collect();
            if of == "bool" || scalars.is_empty() || self.random.once_in(3) {
                return self.literal(of);
            }
            return format!(
                "({} as {of})",
                scalars[self.random.below(scalars.len())].place
            );
        }
        let chosen = &known[self.random.below(known.len())];
        let place = self.element(chosen, 0);
        // Methods borrow; a block is a copy.
        if chosen.can_borrow {
            place
        } else {
            format!("({{ {place} }})")
        }
    }

    fn element(&mut self, variable: &Variable, depth: usize) -> String {
        match variable.length {
            0 => variable.place.clone(),
            n => format!(
                "{}[({} % {n}) as usize]",
                variable.place,
                self.expression("u32", depth)
            ),
        }
    }

    fn filled(&mut self, template: &str, of: Type, depth: usize) -> String {
        let mut text = String::new();
        let shared = self.of_type();
        let mut parts = template.split('$');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (what, rest) = part.split_at(1);
            let filling = match what {
                "a" => self.expression(of, depth),
                "p" => self.expression(shared, depth),
                "n" => self.expression("u32", depth),
                "c" => self.expression("bool", depth),
                "f" => {
                    let of = self.random.of(&FLOATS);
                    self.expression(of, depth)
                }
                "i" => {
                    let other = loop {
                        let other = self.of_type();
                        if other != "bool" && !FLOATS.contains(&other) && converts(other, of) {
                            break other;
                        }
                    };
                    self.expression(other, depth)
                }
                "u" => self.uniform(depth),
                "U" => self.expression(if of == "f32" { "u32" } else { "u64" }, depth),
                "T" => of.into(),
                "k" => (1 + self.random.below(6)).to_string(),
                other => unreachable!("${other}"),
            };
            text.push_str(&filling);
            text.push_str(rest);
        }
        text
    }

    fn uniform(&mut self, depth: usize) -> String {
        if !self.uniform.is_empty() && self.random.once_in(2) {
            return self.uniform[self.random.below(self.uniform.len())].clone();
        }
        let template = match depth {
            0 => UNIFORM[self.random.below(3)],
            _ => self.random.of(UNIFORM),
        };
        format!(
            "({})",
            self.filled(template, "u32", depth.saturating_sub(1))
        )
    }

    fn expression(&mut self, of: Type, depth: usize) -> String {
        if depth == 0 || self.random.once_in(5) {
            return self.leaf(of);
        }
        if self.random.once_in(8)
            && (self.in_kernel || self.loops == 0)
            && let Some(call) = self.call(of, depth - 1)
        {
            return call;
        }
        let lists = match of {
            "bool" => [OF_BOOL, OF_BOOL],
            _ if FLOATS.contains(&of) => [OF_FLOATS, OF_FLOATS],
            _ if of.starts_with('i') => [OF_INTEGERS, OF_SIGNED],
            _ => [OF_INTEGERS, OF_UNSIGNED],
        };
        let list = lists[usize::from(self.random.once_in(4))];
        let template = loop {
            let template = self.random.of(list);
            if !template.contains("$f as") || converts("f32", of) {
                break template;
            }
        };
        // Large types make long code.
        let depth = if of.ends_with("128") { 0 } else { depth - 1 };
        format!("({})", self.filled(template, of, depth))
    }

    fn call(&mut self, of: Type, depth: usize) -> Option<String> {
        let found: Vec<usize> = (0..self.functions.len())
            .filter(|i| self.functions[*i].result == of)
            .collect();
        if found.is_empty() {
            return None;
        }
        let i = found[self.random.below(found.len())];
        let (call, parameters) = (
            self.functions[i].call.clone(),
            self.functions[i].parameters.clone(),
        );
        let call = self.filled(&call, of, 0);
        let arguments: Vec<String> = (parameters.iter())
            .map(|of| self.expression(of, depth))
            .collect();
        Some(format!("{call}{})", arguments.join(", ")))
    }

    fn declare(&mut self, place: String, of: Type, length: usize) {
        self.variables.push(Variable {
            place,
            of,
            length,
            can_change: true,
            can_borrow: true,
        });
    }

    /// Statements of an inner block.
    fn block(&mut self, most: usize, depth: usize) {
        let (variables, uniform) = (self.variables.len(), self.uniform.len());
        for _ in 0..1 + self.random.below(most) {
            self.statement(depth);
        }
        self.variables.truncate(variables);
        self.uniform.truncate(uniform);
    }

    /// An inner block that only some threads may execute.
    fn alone(&mut self, most: usize, depth: usize) {
        let before = std::mem::replace(&mut self.together, false);
        self.block(most, depth);
        self.together = before;
    }

    fn statement(&mut self, depth: usize) {
        let kinds = if depth == 0 { 9 } else { 16 };
        match self.random.below(kinds) {
            0 | 1 => {
                let (of, name) = (self.of_type(), self.name("v"));
                let value = self.expression(of, 3);
                self.line(&format!("let mut {name}: {of} = {value};"));
                self.declare(name, of, 0);
            }
            2..5 => self.assign(),
            5 => self.array(),
            6 => self.structure(),
            7 => self.change_array(),
            8 if self.in_kernel => {
                let slot = self.random.below(16);
                let operation = ["fetch_add", "fetch_xor", "fetch_max", "fetch_and"][slot % 4];
                let value = self.expression("u64", 2);
                self.line(&format!(
                    "unsafe {{ AtomicU64::from_ptr(scratch.add({slot})) }}.{operation}({value}, Ordering::Relaxed);"
                ));
            }
            8 => {
                let condition = self.expression("bool", 2);
                let value = self.result.map(|of| self.expression(of, 2));
                self.line(&format!(
                    "if {condition} {{ return {}; }}",
                    value.unwrap_or_default()
                ));
            }
            9 | 10 => {
                let condition = self.expression("bool", 2);
                self.line(&format!("if {condition} {{"));
                self.alone(4, depth - 1);
                if self.random.once_in(2) {
                    self.line("} else {");
                    self.alone(4, depth - 1);
                }
                self.line("}");
            }
            11 if self.together => {
                let condition = self.uniform(2);
                self.line(&format!("if {condition} % 2 == 0 {{"));
                self.block(3, depth - 1);
                self.line("} else {");
                self.block(3, depth - 1);
                self.line("}");
            }
            11 | 12 if self.loops < 2 => self.repeat(depth),
            13 => self.variant(depth),
            14 | 15 if self.together => self.all_threads(),
            _ => self.assign(),
        }
    }

    fn assign(&mut self) {
        let known: Vec<Variable> =
            (self.variables.iter().filter(|v| v.can_change).cloned()).collect();
        if known.is_empty() {
            return;
        }
        let chosen = &known[self.random.below(known.len())];
        let value = self.expression(chosen.of, 3);
        let index = self.element(chosen, 2);
        // The value first, as it may use the array.
        self.line(&format!("let value = {value}; {index} = value;"));
    }

    fn array(&mut self) {
        let (of, length, name) = (self.of_type(), 2 + self.random.below(7), self.name("a"));
        let value = match self.random.below(3) {
            0 => format!("[{}; {length}]", self.expression(of, 2)),
            1 if of != "bool" => format!(
                "core::array::from_fn(|i| (i as u8).wrapping_mul({}) as {of})",
                self.expression("u8", 1)
            ),
            _ => {
                let each: Vec<String> = (0..length).map(|_| self.expression(of, 1)).collect();
                format!("[{}]", each.join(", "))
            }
        };
        self.line(&format!("let mut {name}: [{of}; {length}] = {value};"));
        self.declare(name, of, length);
    }

    fn structure(&mut self) {
        if self.structures.is_empty() {
            return;
        }
        let (i, name) = (self.random.below(self.structures.len()), self.name("s"));
        let (fields, is_packed) = (
            self.structures[i].fields.clone(),
            self.structures[i].is_packed,
        );
        let mut values = Vec::new();
        for (of, length) in &fields {
            let value = self.expression(of, 2);
            values.push(if *length == 0 {
                value
            } else {
                format!("[{value}; {length}]")
            });
        }
        let values: Vec<String> = (values.iter().enumerate())
            .map(|(f, value)| format!("f{f}: {value}"))
            .collect();
        self.line(&format!(
            "let mut {name} = S{i} {{ {} }};",
            values.join(", ")
        ));
        if self.random.once_in(3) {
            let (by, again) = (self.expression("u32", 2), self.name("s"));
            self.line(&format!("let mut {again} = {name}; {again}.mix({by});"));
            self.fields(&again, &fields, is_packed);
        }
        self.fields(&name, &fields, is_packed);
    }

    fn fields(&mut self, name: &str, fields: &[(Type, usize)], is_packed: bool) {
        for (f, (of, length)) in fields.iter().enumerate() {
            self.declare(format!("{name}.f{f}"), of, *length);
            self.variables.last_mut().expect("a variable").can_borrow = !is_packed;
        }
    }

    fn change_array(&mut self) {
        let known: Vec<Variable> = (self.variables.iter())
            .filter(|v| v.length > 0 && v.can_borrow && v.can_change)
            .cloned()
            .collect();
        if known.is_empty() {
            return self.array();
        }
        let Variable {
            place, of, length, ..
        } = known[self.random.below(known.len())].clone();
        let is_integer = of != "bool" && !FLOATS.contains(&of);
        let (one, two) = (self.expression("u32", 1), self.expression("u32", 1));
        let (value, name) = (self.expression(of, 2), self.name("v"));
        self.line(&format!(
            "let (one, two, value) = ({one} as usize % {length}, {two} as usize % {length}, {value});"
        ));
        let text = match self.random.below(8) {
            0 => format!("{place}.swap(one, two);"),
            1 => format!("{place}.rotate_left(one);"),
            2 => format!("{place}.reverse();"),
            3 if is_integer => format!("{place}.sort_unstable();"),
            3 => format!("insertion_sort(&mut {place});"),
            4 => format!("{place}[one.min(two)..].fill(value);"),
            5 => format!("{place}.copy_within(one.., two.min(one));"),
            6 => {
                let condition = if is_integer {
                    "*x > value"
                } else {
                    "*x != value"
                };
                self.declare(name.clone(), "u32", 0);
                format!(
                    "let mut {name} = {place}.iter().rev().position(|x| {condition}).map_or(77, |i| i as u32);"
                )
            }
            _ => {
                self.declare(name.clone(), "usize", 0);
                format!(
                    "let mut {name} = {place}[one..].chunks(2).filter(|x| x[0] == x[x.len() - 1]).count();"
                )
            }
        };
        self.line(&text);
    }

    fn repeat(&mut self, depth: usize) {
        self.loops += 1;
        let name = self.name("i");
        let variables = self.variables.len();
        let most = 2 + self.random.below(5);
        let counter = |writer: &mut Self, of| {
            writer.declare(name.clone(), of, 0);
            writer.variables.last_mut().expect("a variable").can_change = false;
        };
        match self.random.below(5) {
            0 if self.together => {
                let end = self.uniform(1);
                let uniform = self.uniform.len();
                self.line(&format!("for {name} in 0..1 + {end} % {most} {{"));
                self.uniform.push(name.clone());
                counter(self, "u32");
                self.block(3, depth - 1);
                self.uniform.truncate(uniform);
            }
            0 | 1 => {
                let of = self.random.of(&["u32", "i32", "u64", "u8"]);
                let range = match self.random.below(3) {
                    0 => format!("0..{most}_{of}"),
                    1 => format!("({}_{of}..={})", self.random.below(3), most),
                    _ => format!("(0..{most}_{of}).rev()"),
                };
                self.line(&format!("for {name} in {range} {{"));
                counter(self, of);
                self.alone(3, depth - 1);
            }
            2 => {
                let end = self.expression("u32", 2);
                self.line(&format!(
                    "'{name}: for {name} in 0..{end} % {} {{",
                    most + 1
                ));
                counter(self, "u32");
                self.alone(3, depth - 1);
                let (condition, way) = (
                    self.expression("bool", 2),
                    self.random.of(&["break", "continue"]),
                );
                self.line(&format!("if {condition} {{ {way} '{name}; }}"));
                self.alone(2, depth - 1);
            }
            3 => {
                let condition = self.expression("bool", 2);
                self.line(&format!(
                    "let mut {name} = {most}_u32; while {condition} && {name} > 0 {{ {name} -= 1;"
                ));
                self.alone(3, depth - 1);
            }
            _ => {
                self.line(&format!("let mut {name} = 0_u32; loop {{ {name} += 1;"));
                counter(self, "u32");
                self.alone(3, depth - 1);
                let condition = self.expression("bool", 2);
                self.line(&format!("if {name} > {most} || {condition} {{ break; }}"));
            }
        }
        self.line("}");
        self.variables.truncate(variables);
        self.loops -= 1;
    }

    /// A value of the enum, and a match of it.
    fn variant(&mut self, depth: usize) {
        let variants = self.variants.clone();
        if variants.is_empty() {
            return self.assign();
        }
        let (name, which) = (self.name("e"), self.expression("u32", 2));
        self.line(&format!(
            "let {name} = match {which} % {} {{",
            variants.len()
        ));
        for (v, fields) in variants.iter().enumerate() {
            let values: Vec<String> = fields.iter().map(|of| self.expression(of, 2)).collect();
            let pattern = if v + 1 == variants.len() {
                "_".into()
            } else {
                v.to_string()
            };
            self.line(&format!("{pattern} => Kind::V{v}({}),", values.join(", ")));
        }
        self.line("};");
        self.line(&format!("match {name} {{"));
        for (v, fields) in variants.iter().enumerate() {
            let variables = self.variables.len();
            let names: Vec<String> = fields.iter().map(|_| self.name("m")).collect();
            let bound: Vec<String> = names.iter().map(|name| format!("mut {name}")).collect();
            self.line(&format!("Kind::V{v}({}) => {{", bound.join(", ")));
            for (name, of) in names.into_iter().zip(fields) {
                self.declare(name, of, 0);
            }
            self.alone(2, depth - 1);
            self.variables.truncate(variables);
            self.line("}");
        }
        self.line("}");
    }

    fn all_threads(&mut self) {
        let of = self
            .random
            .of(&["u32", "i32", "u64", "i64", "f32", "f64", "u8", "i16"]);
        let (name, template) = (self.name("v"), self.random.of(TOGETHER));
        // The order of numbers that are not comparable is open.
        let is_ordered = !FLOATS.contains(&of) || !template.contains("|x, y| if");
        let of = if is_ordered { of } else { "i32" };
        let text = self.filled(&template.replace("$v", &name), of, 2);
        self.line(&text);
        self.declare(name, of, 0);
    }

    /// A function, which may call those before it.
    fn function(&mut self, name: &str, parameters: &[Type], result: Type, is_recursive: bool) {
        let mut list = Vec::new();
        if is_recursive {
            list.push("left: u32".to_owned());
        }
        for of in parameters {
            let name = self.name("p");
            list.push(format!("mut {name}: {of}"));
            self.declare(name, of, 0);
        }
        let inline = match is_recursive {
            true => "",
            false => self
                .random
                .of(&["#[inline(never)]", "#[inline]", "#[inline(always)]", ""]),
        };
        self.line(&format!(
            "{inline} fn {name}({}) -> {result} {{",
            list.join(", ")
        ));
        self.result = Some(result);
        for _ in 0..1 + self.random.below(4) {
            self.statement(1);
        }
        if is_recursive {
            let value = self.expression(result, 2);
            let arguments: Vec<String> =
                parameters.iter().map(|of| self.expression(of, 1)).collect();
            let condition = self.expression("bool", 2);
            self.line(&format!("if left == 0 {{ return {value}; }}"));
            self.line(&format!(
                "let deeper = {name}(left - 1, {});",
                arguments.join(", ")
            ));
            self.line(&format!("if {condition} {{ return deeper; }}"));
        }
        let value = self.expression(result, 2);
        self.line(&format!("{value}\n}}"));
        self.variables.clear();
        self.result = None;
    }

    /// One or several functions with the same parameters.
    fn functions(&mut self) {
        let parameters: Vec<Type> = (0..1 + self.random.below(4))
            .map(|_| self.of_type())
            .collect();
        let (result, name) = (self.of_type(), self.name("f"));
        let call = match self.random.below(5) {
            0 => {
                self.function(&name, &parameters, result, true);
                format!("{name}($n % 4, ")
            }
            1 => {
                let other = self.name("f");
                self.function(&name, &parameters, result, false);
                self.function(&other, &parameters, result, false);
                let kind = format!("fn({}) -> {result}", parameters.join(", "));
                format!("[{name} as {kind}, {other}][($n % 2) as usize](")
            }
            _ => {
                self.function(&name, &parameters, result, false);
                format!("{name}(")
            }
        };
        self.functions.push(Function {
            call,
            parameters,
            result,
        });
    }

    fn types(&mut self) {
        for i in 0..self.random.below(3) {
            let (is_packed, is_c) = (self.random.once_in(4), self.random.once_in(3));
            let fields: Vec<(Type, usize)> = (0..2 + self.random.below(4))
                .map(|_| {
                    (
                        self.of_type(),
                        if self.random.once_in(4) {
                            2 + self.random.below(3)
                        } else {
                            0
                        },
                    )
                })
                .collect();
            let form = match (is_packed, is_c) {
                (true, _) => "#[repr(C, packed)]",
                (_, true) => "#[repr(C)]",
                _ => "",
            };
            let mut text = format!("#[derive(Clone, Copy)] {form} struct S{i} {{ ");
            let mut body = String::new();
            for (f, (of, length)) in fields.iter().enumerate() {
                let kind = if *length == 0 {
                    (*of).to_owned()
                } else {
                    format!("[{of}; {length}]")
                };
                let _ = write!(text, "f{f}: {kind}, ");
                self.declare(format!("self.f{f}"), of, *length);
                self.variables.last_mut().expect("a variable").can_borrow = !is_packed;
            }
            self.declare("by".into(), "u32", 0);
            self.variables.last_mut().expect("a variable").can_change = false;
            let before = std::mem::take(&mut self.text);
            (0..2).for_each(|_| self.assign());
            std::mem::swap(&mut body, &mut self.text);
            self.text = before;
            self.variables.clear();
            self.line(&format!(
                "{text}}}\nimpl S{i} {{ fn mix(&mut self, by: u32) {{\n{body}}} }}"
            ));
            self.structures.push(Structure { fields, is_packed });
        }
        if self.random.once_in(2) {
            self.line("#[derive(Clone, Copy)] enum Kind {");
            for v in 0..2 + self.random.below(3) {
                let fields: Vec<Type> = (0..1 + self.random.below(3))
                    .map(|_| self.of_type())
                    .collect();
                self.line(&format!("V{v}({}),", fields.join(", ")));
                self.variants.push(fields);
            }
            self.line("}");
        }
    }

    fn kernel(mut self, number: u64) -> String {
        self.line(&format!("pub mod k{number} {{\nuse super::*;"));
        self.types();
        for _ in 0..self.random.below(4) {
            self.functions();
        }
        self.line(&format!(
            "#[kernel] pub unsafe fn random_{number}(seed: u64, out: *mut u64, scratch: *mut u64) {{\nlet mut random = Numbers::new(seed);"
        ));
        (self.in_kernel, self.together) = (true, true);
        for (of, value) in [
            ("u64", "random.bits()"),
            ("u32", "random.bits() as u32 >> 28"),
            ("i32", "random.bits() as i32"),
            ("f32", "random.number() as f32"),
            ("f64", "random.number()"),
            ("f64", "f64::from_bits(random.bits())"),
            ("u8", "random.bits() as u8"),
            ("i64", "random.bits() as i64 >> 40"),
        ] {
            let name = self.name("v");
            self.line(&format!("let mut {name}: {of} = {value};"));
            self.declare(name, of, 0);
        }
        for _ in 0..8 + self.random.below(10) {
            self.statement(3);
        }
        self.line("let mut words = Words::new();");
        for variable in std::mem::take(&mut self.variables) {
            let place = variable.place;
            match variable.length {
                0 => self.line(&format!("words.put({place});")),
                _ => self.line(&format!("for x in {place} {{ words.put(x); }}")),
            }
        }
        self.line("unsafe { words.store(out) };\n}\n}");
        self.text
    }
}

/// The list of the kernels of `faults.rs`, which reports must find in the lines that end with `// !` and a part of what they say.
fn faults() -> String {
    const SOURCE: &str = "src/faults.rs";
    println!("cargo::rerun-if-changed={SOURCE}");
    let source = std::fs::read_to_string(SOURCE).expect("the package's folder");
    let (mut list, mut lines, mut lines_of_functions) =
        (String::new(), String::new(), String::new());
    for (number, line) in (1..).zip(source.lines()) {
        if let Some((name, rest)) = line
            .strip_suffix(" |x, y, z, n, t| {")
            .and_then(|line| line.split_once('('))
        {
            let words = name
                .trim_start()
                .split('_')
                .map(|word| word[..1].to_uppercase() + &word[1..]);
            let grid = rest.trim_end_matches(')').replace(" x ", ", ");
            lines.clear();
            let _ = write!(
                list,
                "Seeded {{ kernel: Entry::of::<{}>(), grid: ({grid}), lines: &[",
                words.collect::<String>()
            );
        }
        if let Some((_, said)) = line.split_once("// !") {
            // Of functions, which stand before the kernels.
            let of = if list.is_empty() {
                &mut lines_of_functions
            } else {
                &mut lines
            };
            let _ = write!(of, "({number}, {:?}), ", said.trim_start());
        }
        if line == "    }" && !list.is_empty() {
            let marked = if lines.is_empty() {
                &lines_of_functions
            } else {
                &lines
            };
            let _ = writeln!(list, "{marked}] }},");
        }
    }
    format!(
        "/// The kernels of `faults.rs`.\npub fn seeded() -> Vec<Seeded> {{\nuse cuda_std::Entry;\nuse faults::*;\nvec![{list}]\n}}"
    )
}

fn main() {
    let number = |name: &str, otherwise: u64| {
        println!("cargo::rerun-if-env-changed={name}");
        match std::env::var(name) {
            Ok(text) => {
                (text.parse()).unwrap_or_else(|_| panic!("{name}={text}: must be a number"))
            }
            Err(_) => otherwise,
        }
    };
    println!("cargo::rerun-if-changed=build.rs");
    let (count, seed) = (number("TRIAL_KERNELS", 12), number("TRIAL_SEED", 1));
    let mut text = String::new();
    let mut list = String::new();
    for number in seed..seed + count {
        let writer = Writer {
            random: Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d)),
            text: String::new(),
            variables: Vec::new(),
            uniform: Vec::new(),
            functions: Vec::new(),
            structures: Vec::new(),
            variants: Vec::new(),
            names: 0,
            loops: 0,
            together: false,
            in_kernel: false,
            result: None,
        };
        text += &writer.kernel(number);
        let _ = writeln!(list, "Entry::of::<k{number}::Random{number}>(),");
    }
    let _ = write!(
        text,
        "/// All of them.\n#[cfg(not(target_arch = \"nvptx64\"))]\npub fn all() -> Vec<Random> {{\nvec![{list}]\n}}"
    );
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let write =
        |name, text| std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is there");
    write("random.rs", text);
    write("faults.rs", faults());
}
