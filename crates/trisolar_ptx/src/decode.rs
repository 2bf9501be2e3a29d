//! The decoder: from text to instructions with resolved operands.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::fault::Place;
use crate::instruction::{
    ACQUIRE, APPROX, ATOMIC, CARRY_IN, CARRY_OUT, COMPARE, Call, FTZ, Instruction, JOIN, NONE, Op,
    RELEASE, Rounding, SAT, SPECIAL, STRONG, Space, Type,
};

/// Generic addresses from here on are those of the block's shared memory.
pub(crate) const SHARED: u64 = 1 << 56;
/// Of the thread's local memory.
pub(crate) const LOCAL: u64 = 2 << 56;
/// Of the thread's parameters.
pub(crate) const PARAM: u64 = 3 << 56;
/// Addresses of functions.
pub(crate) const CODE: u64 = 4 << 56;
/// Bytes between variables, which no instruction may use.
const GAP: u32 = 64;

/// Text that is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The line of the text.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the PTX: {}", self.line, self.what)
    }
}

impl std::error::Error for DecodeError {}

/// A parameter or a variable in memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    pub(crate) has_body: bool,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Registers, the first of which is always 0, before the constants in a frame.
    pub(crate) registers: u32,
    pub(crate) constants: Vec<u64>,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) result: Option<Variable>,
    /// Bytes of parameters, the result and the arguments of calls.
    pub(crate) parameter_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) max_threads: Option<u32>,
}

/// A variable of the module in global or constant memory.
#[derive(Clone, Debug)]
pub(crate) struct Static {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) is_constant: bool,
    /// Where its memory starts, in the words of [`Module::statics_memory`].
    pub(crate) word: u32,
}

/// PTX, decoded.
#[derive(Debug)]
pub struct Module {
    pub(crate) code: Vec<Instruction>,
    /// Of each instruction, where its text begins, and its entry of `sources` or 0.
    places: Vec<(u32, u32)>,
    sources: Vec<(u32, u32)>,
    files: HashMap<u32, String>,
    text: Arc<str>,
    pub(crate) functions: Vec<Function>,
    pub(crate) lists: Vec<u32>,
    pub(crate) calls: Vec<Call>,
    pub(crate) statics: Vec<Static>,
    pub(crate) statics_memory: Box<[UnsafeCell<u128>]>,
    pub(crate) shared: Vec<Variable>,
    /// Where dynamic shared memory starts.
    pub(crate) dynamic_start: u32,
    pub(crate) has_dynamic: bool,
}

/// A statement and the line where it starts.
#[derive(Clone, Copy, Debug)]
struct Statement<'a> {
    text: &'a str,
    at: usize,
}

#[derive(Debug)]
struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while self.at < bytes.len() && bytes[self.at].is_ascii_whitespace() {
                self.at += 1;
            }
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    /// The next statement: a brace, a label with its colon, a directive of a line, or what ends at a semicolon or, for a function, before its
    /// body.
    fn next(&mut self) -> Option<Statement<'a>> {
        self.skip();
        let at = self.at;
        let rest = &self.text[at..];
        let bytes = rest.as_bytes();
        let first = *bytes.first()?;
        let statement = |length: usize| Statement {
            text: &rest[..length],
            at,
        };
        if matches!(first, b'{' | b'}' | b';') {
            self.at += 1;
            return Some(statement(1));
        }
        let word = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '%')))
            .unwrap_or(rest.len());
        let gap = rest[word..].len() - rest[word..].trim_start_matches(' ').len();
        let colon = word + gap;
        let is_colon = |at: usize| bytes.get(at) == Some(&b':');
        if first != b'.' && is_colon(colon) && !is_colon(colon + 1) {
            self.at += colon + 1;
            return Some(statement(colon + 1));
        }
        let line = || rest.find('\n').unwrap_or(rest.len());
        match &rest[..word] {
            ".version" | ".target" | ".address_size" | ".file" | ".loc" | ".maxnreg"
            | ".maxntid" | ".reqntid" | ".minnctapersm" | ".noreturn" => {
                let end = line();
                self.at += end;
                return Some(statement(end));
            }
            ".section" => {
                let end = rest.find('}').map_or(rest.len(), |end| end + 1);
                self.at += end;
                return Some(statement(end));
            }
            _ => {}
        }
        let mut is_function = false;
        let mut in_string = false;
        for (i, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b';' => {
                    self.at += i + 1;
                    return Some(statement(i));
                }
                b'.' => {
                    is_function |=
                        rest[i..].starts_with(".func") || rest[i..].starts_with(".entry");
                }
                b'{' if is_function => {
                    self.at += i;
                    return Some(statement(i));
                }
                // Directives of a kernel stand between its parameters and its body.
                b'\n' if is_function && rest[..i].trim_end().ends_with(')') => {
                    self.at += i;
                    return Some(statement(i));
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        Some(statement(rest.len()))
    }
}

/// Splits at commas outside of brackets.
fn operands(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// A number: decimal, hexadecimal, octal, binary, `0f…` or `0d…`.
fn number(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_end_matches('U');
    let radix = |prefix: [&str; 2], radix| {
        (prefix.iter().find_map(|p| digits.strip_prefix(p)))
            .and_then(|digits| u64::from_str_radix(digits, radix).ok())
    };
    let value = radix(["0x", "0X"], 16)
        .or_else(|| radix(["0f", "0F"], 16))
        .or_else(|| radix(["0d", "0D"], 16))
        .or_else(|| radix(["0b", "0B"], 2))
        .or_else(|| digits.parse().ok())
        .or_else(|| digits.parse().ok().map(f64::to_bits))?;
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// A name and an offset: `name`, `name+8`, `name+-8`, `name-8`.
fn with_offset(text: &str) -> Option<(&str, i64)> {
    let text = text.trim();
    if text.len() < 2 || !text.is_ascii() {
        return Some((text, 0));
    }
    let Some(at) = text[1..].find(['+', '-']).map(|at| at + 1) else {
        return Some((text, 0));
    };
    let (name, offset) = text.split_at(at);
    let offset = number(offset.trim_start_matches('+').trim())? as i64;
    Some((name.trim(), offset))
}

/// A declaration `.align 8 .b8 name[272]`: type, name, length in bytes (0 for `[]`) and alignment.
fn declared(text: &str) -> Option<(Type, &str, u32, u32)> {
    let mut align = None;
    let mut ty = None;
    let mut words = text.split_whitespace();
    let mut name = "";
    while let Some(word) = words.next() {
        match word {
            ".align" => align = words.next()?.parse().ok(),
            ".ptr" => {}
            _ if word.starts_with('.') => {
                let suffix = &word[1..];
                match Type::of(suffix) {
                    Some(found) => ty = Some(found),
                    // `.v2` and `.v4` belong to the element.
                    None => continue,
                }
                if text.contains(".ptr") {
                    // The alignment behind is that of what it points to.
                    align = Some(ty?.bytes());
                    name = text.rsplit(char::is_whitespace).next()?;
                    break;
                }
            }
            _ => name = word,
        }
    }
    let ty = ty?;
    let mut bytes = ty.bytes();
    let (name, dimensions) = match name.find('[') {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    for length in dimensions.split(']').filter(|part| !part.is_empty()) {
        bytes *= match length.trim_start_matches('[') {
            "" => 0,
            digits => number(digits)? as u32,
        };
    }
    Some((ty, name, bytes, align.unwrap_or(ty.bytes())))
}

/// A function's heading.
struct Heading<'a> {
    name: &'a str,
    is_entry: bool,
    result: Option<&'a str>,
    parameters: Vec<&'a str>,
}

fn heading(text: &str) -> Option<Heading<'_>> {
    let (is_entry, rest) = match text.split_once(".entry") {
        Some((_, rest)) => (true, rest),
        None => (false, text.split_once(".func")?.1),
    };
    let rest = rest.trim();
    let (result, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (result, rest) = rest.split_once(')')?;
            (Some(result.trim()), rest.trim())
        }
        None => (None, rest),
    };
    let (name, parameters) = match rest.split_once('(') {
        Some((name, parameters)) => (name, parameters.rsplit_once(')')?.0),
        None => (rest, ""),
    };
    Some(Heading {
        name: name.split_whitespace().next()?,
        is_entry,
        result,
        parameters: operands(parameters),
    })
}

impl Module {
    /// Decodes a module. An instruction that the interpreter does not have is no error until it is executed; see
    /// [`unknown`](Self::unknown).
    ///
    /// # Errors
    /// If the text is no PTX: an operand that is not declared, a statement that does not end.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(text);
        decoder.declarations()?;
        decoder.bodies()?;
        Ok(decoder.module)
    }

    /// The instructions that the interpreter does not have, each once.
    pub fn unknown(&self) -> Vec<String> {
        let mut names: Vec<String> = (0..self.code.len())
            .filter(|pc| self.code[*pc].op == Op::Unknown)
            .map(|pc| self.place(pc as u32).instruction)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        (self.functions.iter())
            .filter(|f| f.is_entry)
            .map(|f| f.name.as_str())
    }

    /// The bytes of each parameter of a kernel; none if there is no such kernel.
    pub fn parameters(&self, kernel: &str) -> Vec<u32> {
        let found = self
            .functions
            .iter()
            .find(|f| f.is_entry && f.name == kernel);
        found.map_or(Vec::new(), |f| {
            f.parameters.iter().map(|p| p.bytes).collect()
        })
    }

    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.code.len()
    }

    /// The place of an instruction.
    pub(crate) fn place(&self, pc: u32) -> Place {
        let (at, source) = self.places[pc as usize];
        let rest = &self.text[at as usize..];
        let instruction = rest[..rest.find(';').unwrap_or(rest.len())].trim();
        let source = (source != 0).then(|| {
            let (file, line) = self.sources[source as usize];
            let name = (self.files.get(&file)).map_or("?", String::as_str);
            (name.to_owned(), line)
        });
        let function = self
            .functions
            .iter()
            .find(|f| (f.start..f.end).contains(&pc));
        Place {
            source,
            line: line_of(&self.text, at as usize),
            function: function.map_or(String::new(), |f| f.name.clone()),
            instruction: instruction.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

fn line_of(text: &str, at: usize) -> u32 {
    text[..at].bytes().filter(|b| *b == b'\n').count() as u32 + 1
}

/// Where an operand's name leads.
#[derive(Clone, Copy)]
enum Symbol {
    Function(u32),
    Static(u32),
    Shared(u32),
    /// The place in the frame's local memory.
    Local(u32),
    /// The place in the frame's parameters, and the size.
    Param(u32, u32),
}

struct Decoder<'a> {
    text: &'a str,
    module: Module,
    names: HashMap<&'a str, Symbol>,
    /// Where the bodies of functions start in the text.
    bodies: Vec<(u32, usize)>,
    scope: Scope<'a>,
}

/// Names of a function.
#[derive(Default)]
struct Scope<'a> {
    /// `%r` with `<14>`: the first slot and the number.
    ranges: Vec<(&'a str, u32, u32)>,
    registers: Vec<(&'a str, u32)>,
    symbols: HashMap<&'a str, Symbol>,
    /// How many of `registers` and `ranges` were there when each open brace began.
    /// And where the parameters of calls began.
    braces: Vec<(usize, usize, u32)>,
    parameter_end: u32,
    constants: HashMap<u64, u32>,
    labels: HashMap<&'a str, u32>,
    /// Instructions whose targets are labels, and places in `lists` that are.
    jumps: Vec<(usize, &'a str)>,
    tables: HashMap<&'a str, (u32, Vec<&'a str>)>,
    switches: Vec<(usize, &'a str)>,
    label: &'a str,
    source: u32,
    /// The last place outside of Rust's libraries.
    own: u32,
}

const CONSTANT: u32 = 1 << 31;
/// The base of an address in the parameters of the frame, until the instruction is complete.
const FRAME: u32 = u32::MAX;

fn align_up(offset: u32, align: u32) -> u32 {
    offset.next_multiple_of(align.max(1))
}

impl<'a> Decoder<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            module: Module {
                code: Vec::new(),
                places: Vec::new(),
                sources: vec![(0, 0)],
                files: HashMap::new(),
                text: text.into(),
                functions: Vec::new(),
                lists: Vec::new(),
                calls: Vec::new(),
                statics: Vec::new(),
                statics_memory: Box::default(),
                shared: Vec::new(),
                dynamic_start: 0,
                has_dynamic: false,
            },
            names: HashMap::new(),
            bodies: Vec::new(),
            scope: Scope::default(),
        }
    }

    fn error(&self, at: usize, what: String) -> DecodeError {
        DecodeError {
            line: line_of(self.text, at),
            what,
        }
    }

    /// Reads what stands outside of functions, and the functions' headings.
    fn declarations(&mut self) -> Result<(), DecodeError> {
        let mut lexer = Lexer {
            text: self.text,
            at: 0,
        };
        let (mut shared, mut words) = (0, 0);
        let mut initial: Vec<(u32, Type, &str, usize)> = Vec::new();
        let mut kernel = None;
        while let Some(Statement { text, at }) = lexer.next() {
            if text.starts_with(".file") {
                let mut words = text.split_whitespace().skip(1);
                let number = words.next().and_then(|n| n.parse().ok());
                let name = text.split('"').nth(1);
                if let (Some(number), Some(name)) = (number, name) {
                    self.module.files.insert(number, name.to_owned());
                }
            } else if text.starts_with('{') {
                let function = kernel.take();
                let function = function
                    .ok_or_else(|| self.error(at, "a body without a function".to_owned()))?;
                self.bodies.push((function, at));
                let end = body_end(&self.text[at..]);
                lexer.at =
                    at + end.ok_or_else(|| self.error(at, "a body without an end".into()))?;
            } else if text.contains(".func") || text.contains(".entry") {
                let broken = || self.error(at, format!("{text}: no function"));
                let heading = heading(text).ok_or_else(broken)?;
                let (mut offset, mut parameters) = (0, Vec::new());
                let mut place = |text| {
                    let (_, name, bytes, align) = declared(text)?;
                    offset = align_up(offset, align);
                    parameters.push(Variable {
                        name: name.to_owned(),
                        offset,
                        bytes,
                    });
                    offset += bytes;
                    Some(())
                };
                for parameter in &heading.parameters {
                    place(parameter).ok_or_else(broken)?;
                }
                let result = match heading.result {
                    Some(text) => {
                        place(text).ok_or_else(broken)?;
                        parameters.pop()
                    }
                    None => None,
                };
                let function = Function {
                    name: heading.name.to_owned(),
                    is_entry: heading.is_entry,
                    parameters,
                    result,
                    parameter_bytes: align_up(offset, 16),
                    registers: 1,
                    ..Function::default()
                };
                // A declaration may come before.
                let index = match self.names.get(heading.name) {
                    Some(Symbol::Function(index)) => {
                        self.module.functions[*index as usize] = function;
                        *index
                    }
                    _ => {
                        self.module.functions.push(function);
                        self.module.functions.len() as u32 - 1
                    }
                };
                self.names.insert(heading.name, Symbol::Function(index));
                kernel = Some(index);
            } else if text.starts_with(".maxntid") || text.starts_with(".reqntid") {
                let most = text.split_once(' ').map_or("", |(_, n)| n);
                let threads = most.split(',').map(|n| n.trim().parse().unwrap_or(1u32));
                if let Some(index) = kernel {
                    self.module.functions[index as usize].max_threads = Some(threads.product());
                }
            } else if [".global", ".const", ".shared"]
                .iter()
                .any(|s| text.contains(s))
            {
                let (head, values) = match text.split_once('=') {
                    Some((head, values)) => (head, values.trim()),
                    None => (text, ""),
                };
                let found = declared(head);
                let (ty, name, bytes, align) =
                    found.ok_or_else(|| self.error(at, format!("{head}: no variable")))?;
                if head.contains(".shared") {
                    if bytes == 0 {
                        self.module.has_dynamic = true;
                        self.names.insert(name, Symbol::Shared(u32::MAX));
                        continue;
                    }
                    shared = align_up(shared, align);
                    self.names.insert(name, Symbol::Shared(shared));
                    self.module.shared.push(Variable {
                        name: name.to_owned(),
                        offset: shared,
                        bytes,
                    });
                    shared += bytes + GAP;
                    continue;
                }
                let index = self.module.statics.len() as u32;
                self.names.insert(name, Symbol::Static(index));
                self.module.statics.push(Static {
                    name: name.to_owned(),
                    bytes,
                    is_constant: head.contains(".const"),
                    word: words,
                });
                words += (bytes + GAP).div_ceil(16);
                words = align_up(words, align.div_ceil(16));
                if !values.is_empty() {
                    initial.push((index, ty, values, at));
                }
            }
        }
        self.module.dynamic_start = align_up(shared, 128);
        self.module.statics_memory = (0..words).map(|_| UnsafeCell::new(0)).collect();
        for (index, ty, values, at) in initial {
            let values = values.trim_start_matches('{').trim_end_matches('}');
            let mut bytes = Vec::new();
            for item in values.split(',').filter(|item| !item.trim().is_empty()) {
                let item = item.trim().trim_matches(['{', '}']);
                let value = (self.initial(item))
                    .ok_or_else(|| self.error(at, format!("{item}: no initial value")))?;
                bytes.extend_from_slice(&value.to_le_bytes()[..ty.bytes() as usize]);
            }
            let variable = &self.module.statics[index as usize];
            let room = variable.bytes as usize;
            let first = variable.word as usize;
            for (i, chunk) in bytes[..bytes.len().min(room)].chunks(16).enumerate() {
                let mut word = [0; 16];
                word[..chunk.len()].copy_from_slice(chunk);
                *self.module.statics_memory[first + i].get_mut() = u128::from_ne_bytes(word);
            }
        }
        Ok(())
    }

    /// A value of an initialiser: a number, a name, `generic(name)`, each with an offset, or a byte of one, selected by a mask.
    fn initial(&self, item: &str) -> Option<u64> {
        if let Some(value) = number(item) {
            return Some(value);
        }
        if let Some((mask, inner)) = item.split_once('(')
            && let Some(mask) = number(mask)
        {
            let value = self.initial(inner.strip_suffix(')')?)?;
            return Some((value & mask) >> mask.trailing_zeros());
        }
        let item = item.replace("generic(", "").replace(')', "");
        let (name, offset) = with_offset(&item)?;
        let symbol = *self.names.get(name)?;
        Some(self.address(symbol).wrapping_add_signed(offset))
    }

    /// The generic address of a variable or function.
    fn address(&self, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Function(index) => CODE + u64::from(index),
            Symbol::Static(index) => {
                let word = self.module.statics[index as usize].word as usize;
                self.module.statics_memory.as_ptr().wrapping_add(word) as u64
            }
            Symbol::Shared(u32::MAX) => SHARED + u64::from(self.module.dynamic_start),
            Symbol::Shared(offset) => SHARED + u64::from(offset),
            Symbol::Local(offset) => LOCAL + u64::from(offset),
            Symbol::Param(offset, _) => PARAM + u64::from(offset),
        }
    }

    fn bodies(&mut self) -> Result<(), DecodeError> {
        for (function, start) in std::mem::take(&mut self.bodies) {
            self.scope = Scope::default();
            let record = &mut self.module.functions[function as usize];
            record.has_body = true;
            self.scope.parameter_end = record.parameter_bytes;
            record.start = self.module.code.len() as u32;
            let parameters = record.parameters.iter().chain(&record.result);
            let parameters: Vec<(String, u32, u32)> = parameters
                .map(|p| (p.name.clone(), p.offset, p.bytes))
                .collect();
            for (name, offset, bytes) in parameters {
                let at = self.text[..start].rfind(&*name).unwrap_or(0);
                let name = &self.text[at..at + name.len()];
                (self.scope.symbols).insert(name, Symbol::Param(offset, bytes));
            }
            self.body(function, start)?;
        }
        Ok(())
    }

    fn body(&mut self, function: u32, start: usize) -> Result<(), DecodeError> {
        let mut lexer = Lexer {
            text: self.text,
            at: start,
        };
        let first_list = self.module.lists.len();
        while let Some(Statement { text, at }) = lexer.next() {
            match text {
                "{" => {
                    let scope = &mut self.scope;
                    let names = (scope.registers.len(), scope.ranges.len());
                    (scope.braces).push((names.0, names.1, scope.parameter_end));
                }
                "}" => {
                    if let Some((registers, ranges, end)) = self.scope.braces.pop() {
                        self.scope.parameter_end = end;
                        self.scope.registers.truncate(registers);
                        self.scope.ranges.truncate(ranges);
                    }
                    if self.scope.braces.is_empty() {
                        break;
                    }
                }
                ";" => {}
                _ if text.ends_with(':') => {
                    let label = text[..text.len() - 1].trim_end();
                    self.scope.label = label;
                    (self.scope.labels).insert(label, self.module.code.len() as u32);
                }
                _ if text.starts_with('.') => self.directive(function, text, at)?,
                _ => self.instruction(function, text, at)?,
            }
        }
        // A function that runs off its end returns.
        self.emit(blank(Op::Ret), start);
        let scope = std::mem::take(&mut self.scope);
        let missing = |label: &str| format!("{label}: no label");
        for (at, label) in &scope.jumps {
            let target =
                (scope.labels.get(label)).ok_or_else(|| self.error(start, missing(label)))?;
            self.module.code[*at].offset = i64::from(*target);
        }
        for (at, table) in &scope.switches {
            let (_, labels) =
                (scope.tables.get(table)).ok_or_else(|| self.error(start, missing(table)))?;
            let mut targets = Vec::with_capacity(labels.len());
            for label in labels {
                let target = scope.labels.get(label);
                targets.push(*target.ok_or_else(|| self.error(start, missing(label)))?);
            }
            // Targets are no slots: their list is in `calls`.
            self.module.code[*at].offset = self.module.calls.len() as i64;
            self.module.calls.push(Call {
                function: None,
                arguments: targets.iter().map(|target| (*target, 0)).collect(),
                result: None,
            });
        }
        let record = &mut self.module.functions[function as usize];
        let registers = record.registers;
        record.end = self.module.code.len() as u32;
        let mut constants = vec![0; scope.constants.len()];
        for (value, index) in &scope.constants {
            constants[*index as usize] = *value;
        }
        record.constants = constants;
        let settle = |slot: &mut u32| {
            if *slot & CONSTANT != 0 {
                *slot = (*slot & !CONSTANT) + registers;
            }
        };
        for instruction in &mut self.module.code[record.start as usize..] {
            for slot in [
                &mut instruction.d,
                &mut instruction.a,
                &mut instruction.b,
                &mut instruction.c,
            ] {
                settle(slot);
            }
        }
        self.module.lists[first_list..].iter_mut().for_each(settle);
        Ok(())
    }

    fn emit(&mut self, instruction: Instruction, at: usize) {
        self.module.code.push(instruction);
        self.module.places.push((at as u32, self.scope.source));
    }

    fn directive(&mut self, function: u32, text: &'a str, at: usize) -> Result<(), DecodeError> {
        let broken = |this: &Self| this.error(at, format!("{text}: not understood"));
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            ".reg" => {
                let names = rest.trim().split_once(char::is_whitespace);
                let (_, names) = names.ok_or_else(|| broken(self))?;
                for name in names.split(',').map(str::trim) {
                    match name.split_once('<') {
                        Some((prefix, count)) => {
                            let count = count.trim_end_matches('>').parse();
                            let count: u32 = count.map_err(|_| broken(self))?;
                            let record = &mut self.module.functions[function as usize];
                            let first = record.registers;
                            record.registers += count;
                            self.scope.ranges.push((prefix, first, count));
                        }
                        None => {
                            let record = &mut self.module.functions[function as usize];
                            self.scope.registers.push((name, record.registers));
                            record.registers += 1;
                        }
                    }
                }
            }
            ".local" => {
                let (_, name, bytes, align) = declared(rest).ok_or_else(|| broken(self))?;
                let record = &mut self.module.functions[function as usize];
                record.local_bytes = align_up(record.local_bytes, align);
                (self.scope.symbols).insert(name, Symbol::Local(record.local_bytes));
                record.local_bytes += bytes;
            }
            ".param" => {
                let (_, name, bytes, align) = declared(rest).ok_or_else(|| broken(self))?;
                let offset = align_up(self.scope.parameter_end, align.max(8));
                self.scope.parameter_end = align_up(offset + bytes, 8);
                let record = &mut self.module.functions[function as usize];
                record.parameter_bytes = record.parameter_bytes.max(self.scope.parameter_end);
                (self.scope.symbols).insert(name, Symbol::Param(offset, bytes));
            }
            ".shared" => {
                let (_, name, bytes, align) = declared(rest).ok_or_else(|| broken(self))?;
                let end = self
                    .module
                    .shared
                    .last()
                    .map_or(0, |v| v.offset + v.bytes + GAP);
                let offset = align_up(end, align);
                self.module.shared.push(Variable {
                    name: name.to_owned(),
                    offset,
                    bytes,
                });
                let dynamic = align_up(offset + bytes + GAP, 128);
                self.module.dynamic_start = self.module.dynamic_start.max(dynamic);
                (self.scope.symbols).insert(name, Symbol::Shared(offset));
            }
            ".loc" => {
                let mut numbers = rest.split_whitespace().map(|n| n.trim_end_matches(','));
                let mut next = || numbers.next()?.parse::<u32>().ok();
                let (file, line) = (next(), next());
                let (Some(file), Some(line)) = (file, line) else {
                    return Err(broken(self));
                };
                let name = (self.module.files.get(&file)).map_or("", String::as_str);
                let is_library = name.contains("/rustc/") || name.contains("/rustlib/src/");
                if line == 0 {
                    return Ok(());
                }
                if self.module.sources.last() != Some(&(file, line)) {
                    self.module.sources.push((file, line));
                }
                let source = self.module.sources.len() as u32 - 1;
                // What is inlined from the libraries belongs to the line that called it.
                if !is_library {
                    self.scope.own = source;
                }
                self.scope.source = match self.scope.own {
                    0 => source,
                    own => own,
                };
            }
            ".branchtargets" | ".calltargets" => {
                let labels = rest.split(',').map(str::trim).collect();
                self.scope.tables.insert(self.scope.label, (0, labels));
            }
            ".callprototype" | ".pragma" | ".maxnreg" | ".maxntid" | ".reqntid"
            | ".minnctapersm" | ".noreturn" | ".file" => {}
            _ => return Err(broken(self)),
        }
        Ok(())
    }

    fn constant(&mut self, value: u64) -> u32 {
        let next = self.scope.constants.len() as u32;
        CONSTANT | *self.scope.constants.entry(value).or_insert(next)
    }

    fn register(&self, name: &str) -> Option<u32> {
        if let Some((_, slot)) = self.scope.registers.iter().rev().find(|(n, _)| *n == name) {
            return Some(*slot);
        }
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(digits);
        let number: u32 = number.parse().ok()?;
        (self.scope.ranges.iter().rev())
            .find(|(p, _, count)| *p == prefix && number < *count)
            .map(|(_, first, _)| first + number)
    }

    fn symbol(&self, name: &str) -> Option<Symbol> {
        let local = self.scope.symbols.get(name);
        local.or_else(|| self.names.get(name)).copied()
    }

    /// The slot of an operand that is read.
    fn value(&mut self, function: u32, text: &'a str, at: usize) -> Result<u32, DecodeError> {
        if let Some(slot) = self.register(text) {
            return Ok(slot);
        }
        if let Some(value) = number(text) {
            return Ok(self.constant(value));
        }
        if let Some(name) = text.strip_prefix('%')
            && let Some(code) = SPECIAL.iter().position(|s| *s == name)
        {
            let record = &mut self.module.functions[function as usize];
            let d = record.registers;
            record.registers += 1;
            self.emit(
                Instruction {
                    d,
                    code: code as u8,
                    ..blank(Op::Special)
                },
                at,
            );
            return Ok(d);
        }
        // `!%p` as an operand is not used by LLVM; a name is an address in its own space.
        if let Some((name, offset)) = with_offset(text)
            && let Some(symbol) = self.symbol(name)
        {
            let generic = self.address(symbol).wrapping_add_signed(offset);
            let address = match symbol {
                Symbol::Shared(_) => generic - SHARED,
                Symbol::Local(_) | Symbol::Param(..) => {
                    return self.place_in_frame(function, symbol, offset, at);
                }
                _ => generic,
            };
            return Ok(self.constant(address));
        }
        if text == "WARP_SZ" {
            return Ok(self.constant(32));
        }
        Err(self.error(at, format!("{text}: not declared")))
    }

    /// The address of a local array or a parameter depends on the frame.
    fn place_in_frame(
        &mut self,
        function: u32,
        symbol: Symbol,
        offset: i64,
        at: usize,
    ) -> Result<u32, DecodeError> {
        let record = &mut self.module.functions[function as usize];
        let d = record.registers;
        record.registers += 1;
        let (space, offset) = match symbol {
            Symbol::Local(place) => (Space::Local, i64::from(place) + offset),
            Symbol::Param(place, _) => (Space::Param, i64::from(place) + offset),
            _ => return Err(self.error(at, "no place in a frame".into())),
        };
        self.emit(
            Instruction {
                d,
                space,
                offset,
                code: u8::MAX,
                ..blank(Op::Special)
            },
            at,
        );
        Ok(d)
    }

    /// The slot that an instruction writes; `_` is a register that nothing reads.
    fn target(&mut self, function: u32, text: &str, at: usize) -> Result<u32, DecodeError> {
        if text == "_" {
            let record = &mut self.module.functions[function as usize];
            record.registers += 1;
            return Ok(record.registers - 1);
        }
        (self.register(text)).ok_or_else(|| self.error(at, format!("{text}: no register")))
    }

    /// The slots of `{a, b}` or of one operand.
    fn list(
        &mut self,
        function: u32,
        text: &'a str,
        at: usize,
        written: bool,
    ) -> Result<(u32, u8), DecodeError> {
        let inner = text.trim_start_matches('{').trim_end_matches('}');
        let mut slots = Vec::with_capacity(4);
        for part in operands(inner) {
            slots.push(match written {
                true => self.target(function, part, at)?,
                false => self.value(function, part, at)?,
            });
        }
        let start = self.module.lists.len() as u32;
        let count = slots.len() as u8;
        self.module.lists.append(&mut slots);
        Ok((start, count))
    }

    /// `[base+offset]`: the slot of the base and the offset.
    fn memory(
        &mut self,
        function: u32,
        text: &'a str,
        at: usize,
        space: Space,
    ) -> Result<(u32, i64), DecodeError> {
        let inner = text.trim_start_matches('[').trim_end_matches(']').trim();
        if let Some(value) = number(inner) {
            return Ok((NONE, value as i64));
        }
        let broken = || format!("{text}: no address");
        let (name, offset) = with_offset(inner).ok_or_else(|| self.error(at, broken()))?;
        if let Some(slot) = self.register(name) {
            return Ok((slot, offset));
        }
        match self.symbol(name) {
            // The frame's own parameters need no address.
            Some(Symbol::Param(place, bytes)) if space == Space::Param => {
                let end = offset + 1;
                if offset < 0 || end > i64::from(bytes) {
                    return Err(self.error(at, format!("{text}: outside of the parameter")));
                }
                Ok((FRAME, i64::from(place) + offset))
            }
            Some(symbol @ (Symbol::Local(_) | Symbol::Param(..))) => {
                let slot = self.place_in_frame(function, symbol, 0, at)?;
                Ok((slot, offset))
            }
            Some(symbol) => {
                let address = match (symbol, space) {
                    (Symbol::Shared(_), Space::Shared) => self.address(symbol) - SHARED,
                    _ => self.address(symbol),
                };
                Ok((self.constant(address), offset))
            }
            None => Err(self.error(at, broken())),
        }
    }

    fn instruction(&mut self, function: u32, text: &'a str, at: usize) -> Result<(), DecodeError> {
        let mut text = text.trim();
        let mut guard = 0;
        if let Some(rest) = text.strip_prefix('@') {
            let (name, rest) = rest
                .split_once(char::is_whitespace)
                .ok_or_else(|| self.error(at, format!("{text}: no instruction")))?;
            let negated = name.starts_with('!');
            let slot = self.target(function, name.trim_start_matches('!'), at)?;
            guard = 2 * slot + u32::from(negated);
            text = rest.trim();
        }
        let (opcode, rest) = match text.find(char::is_whitespace) {
            Some(end) => (&text[..end], text[end..].trim()),
            None => (text, ""),
        };
        let start = self.module.code.len();
        let arguments = operands(rest);
        let mut instruction = match self.decoded(function, opcode, &arguments, at)? {
            Some(instruction) => instruction,
            None => blank(Op::Unknown),
        };
        instruction.guard = guard;
        // Helpers that compute an operand, such as a special register, are harmless without the guard.
        debug_assert!(self.module.code.len() >= start);
        if let Op::Bra = instruction.op {
            self.scope
                .jumps
                .push((self.module.code.len(), arguments[0]));
        }
        if let Op::Brx = instruction.op {
            self.scope
                .switches
                .push((self.module.code.len(), arguments[1]));
        }
        self.emit(instruction, at);
        Ok(())
    }
}

pub(crate) fn blank(op: Op) -> Instruction {
    Instruction {
        op,
        ty: Type::U32,
        from: Type::U32,
        space: Space::Generic,
        rounding: Rounding::Nearest,
        flags: 0,
        code: 0,
        count: 0,
        guard: 0,
        d: NONE,
        a: NONE,
        b: NONE,
        c: NONE,
        offset: 0,
    }
}

/// The length of a body with its braces.
fn body_end(text: &str) -> Option<usize> {
    let mut lexer = Lexer { text, at: 0 };
    let mut depth = 0;
    while let Some(statement) = lexer.next() {
        match statement.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(lexer.at);
        }
    }
    None
}

fn index_of<const N: usize>(list: &[&str; N], suffixes: &[&str]) -> Option<u8> {
    let found = suffixes
        .iter()
        .find_map(|s| list.iter().position(|n| n == s));
    found.map(|i| i as u8)
}

impl<'a> Decoder<'a> {
    /// An instruction by its opcode and operands; `None` if it is unknown.
    fn decoded(
        &mut self,
        function: u32,
        opcode: &'a str,
        arguments: &[&'a str],
        at: usize,
    ) -> Result<Option<Instruction>, DecodeError> {
        let mut parts = opcode.split('.').filter(|part| !part.is_empty());
        let name = parts.next().unwrap_or("");
        let suffixes: Vec<&str> = parts.collect();
        let has = |suffix: &str| suffixes.contains(&suffix);
        let types: Vec<Type> = suffixes.iter().filter_map(|s| Type::of(s)).collect();
        let mut i = blank(Op::Unknown);
        i.ty = types.first().copied().unwrap_or(Type::U32);
        i.from = types.last().copied().unwrap_or(i.ty);
        if has("f16x2") || has("bf16x2") || types.contains(&Type::B128) && name != "mov" {
            return Ok(None);
        }
        for (suffix, flag) in [
            ("ftz", FTZ),
            ("sat", SAT),
            ("approx", APPROX),
            ("full", APPROX),
            ("volatile", STRONG),
            ("relaxed", STRONG),
            ("mmio", STRONG),
            ("acquire", STRONG | ACQUIRE),
            ("release", STRONG | RELEASE),
            ("acq_rel", STRONG | ACQUIRE | RELEASE),
            ("sc", STRONG | ACQUIRE | RELEASE),
        ] {
            if has(suffix) {
                i.flags |= flag;
            }
        }
        for (names, rounding) in [
            (["rn", "rni"], Rounding::Nearest),
            (["rz", "rzi"], Rounding::Zero),
            (["rm", "rmi"], Rounding::Down),
            (["rp", "rpi"], Rounding::Up),
            (["rna", "rna"], Rounding::Away),
        ] {
            if names.iter().any(|n| has(n)) {
                i.rounding = rounding;
            }
        }
        for (suffix, space) in [
            ("global", Space::Global),
            ("const", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("local", Space::Local),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ] {
            if has(suffix) {
                i.space = space;
                break;
            }
        }
        if suffixes.contains(&"shared::cluster") {
            return Ok(None);
        }
        // Plain forms: a target and up to three operands that are read.
        let plain = match name {
            "abs" => Op::Abs,
            "add" if has("cc") => Op::AddCarry,
            "add" => Op::Add,
            "addc" => Op::AddCarry,
            "and" => Op::And,
            "bfe" => Op::Bfe,
            "bfi" => Op::Bfi,
            "bfind" => Op::Bfind,
            "brev" => Op::Brev,
            "clz" => Op::Clz,
            "cnot" => Op::Cnot,
            "copysign" => Op::Copysign,
            "cos" => Op::Cos,
            "cvt" => Op::Cvt,
            "cvta" if has("to") => Op::CvtaTo,
            "cvta" => Op::CvtaFrom,
            "div" => Op::Div,
            "dp4a" => Op::Dp4a,
            "ex2" => Op::Ex2,
            "fma" => Op::Fma,
            "lg2" => Op::Lg2,
            "lop3" => Op::Lop3,
            "mad" if types.first().is_some_and(|t| t.is_float()) => Op::Fma,
            "mad" if has("cc") => Op::MadCarry,
            "madc" => Op::MadCarry,
            "mad" if has("wide") => Op::MadWide,
            "mad" if has("hi") => Op::MadHi,
            "mad" => Op::MadLo,
            "max" => Op::Max,
            "min" => Op::Min,
            "mul" if has("wide") => Op::MulWide,
            "mul" if has("hi") => Op::MulHi,
            "mul" => Op::MulLo,
            "neg" => Op::Neg,
            "not" => Op::Not,
            "or" => Op::Or,
            "popc" => Op::Popc,
            "prmt" => Op::Prmt,
            "rcp" => Op::Rcp,
            "rem" => Op::Rem,
            "rsqrt" => Op::Rsqrt,
            "sad" => Op::Sad,
            "selp" => Op::Selp,
            "shf" => Op::Shf,
            "shl" => Op::Shl,
            "shr" => Op::Shr,
            "sin" => Op::Sin,
            "slct" => Op::Slct,
            "sqrt" => Op::Sqrt,
            "sub" if has("cc") => Op::SubCarry,
            "sub" => Op::Sub,
            "subc" => Op::SubCarry,
            "tanh" => Op::Tanh,
            "testp" => Op::Testp,
            "xor" => Op::Xor,
            "isspacep" => Op::Isspacep,
            _ => Op::Unknown,
        };
        if plain != Op::Unknown {
            i.op = plain;
            if matches!(name, "addc" | "subc" | "madc") {
                i.flags |= CARRY_IN;
            }
            if has("cc") {
                i.flags |= CARRY_OUT;
            }
            match plain {
                Op::Bfind => i.code = u8::from(has("shiftamt")),
                Op::Shf => i.code = u8::from(has("l")) + 2 * u8::from(has("wrap")),
                Op::MadCarry => i.code = u8::from(has("hi")),
                Op::Prmt => {
                    let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
                    i.code = index_of(&modes, &suffixes).map_or(0, |m| m + 1);
                }
                Op::Testp => {
                    let kinds = [
                        "finite",
                        "infinite",
                        "number",
                        "notanumber",
                        "normal",
                        "subnormal",
                    ];
                    i.code = index_of(&kinds, &suffixes).unwrap_or(0);
                }
                // Whether a floating-point number becomes an integral one of its own type.
                Op::Cvt => {
                    i.code = u8::from(
                        suffixes
                            .iter()
                            .any(|s| matches!(*s, "rni" | "rzi" | "rmi" | "rpi")),
                    )
                }
                _ => {}
            }
            if i.op == Op::Cvt && (types.len() != 2 || has("relu") || has("pack")) {
                return Ok(None);
            }
            let [target, sources @ ..] = arguments else {
                return Err(self.error(at, format!("{opcode}: no operands")));
            };
            let mut slots = [NONE; 3];
            for (slot, source) in slots.iter_mut().zip(sources) {
                *slot = self.value(function, source, at)?;
            }
            // The place and the length of the field are in a list.
            if plain == Op::Bfi {
                let [_, _, _, length] = sources else {
                    return Err(self.error(at, format!("{opcode}: needs four operands")));
                };
                let length = self.value(function, length, at)?;
                let list = self.module.lists.len() as u32;
                self.module.lists.extend([slots[2], length]);
                slots[2] = list;
            }
            if plain == Op::Lop3 {
                let table = sources.get(3).and_then(|table| number(table));
                i.code = table.unwrap_or(0) as u8;
            }
            [i.a, i.b, i.c] = slots;
            i.d = self.target(function, target, at)?;
            return Ok(Some(i));
        }
        let text = self.text;
        let need = |count: usize| match arguments.len() >= count {
            true => Ok(()),
            false => Err(DecodeError {
                line: line_of(text, at),
                what: format!("{opcode}: needs {count} operands"),
            }),
        };
        match name {
            "mov" => {
                need(2)?;
                i.op = Op::Mov;
                if arguments[0].starts_with('{') {
                    i.op = Op::Unpack;
                    (i.d, i.count) = self.list(function, arguments[0], at, true)?;
                    i.a = self.value(function, arguments[1], at)?;
                } else if arguments[1].starts_with('{') {
                    i.op = Op::Pack;
                    (i.a, i.count) = self.list(function, arguments[1], at, false)?;
                    i.d = self.target(function, arguments[0], at)?;
                } else {
                    i.a = self.value(function, arguments[1], at)?;
                    i.d = self.target(function, arguments[0], at)?;
                }
                // List starts are no slots.
                if i.ty == Type::B128 {
                    return Ok(None);
                }
            }
            "ld" | "ldu" => {
                need(2)?;
                i.op = Op::Ld;
                i.ty = i.from;
                (i.d, i.count) = self.list(function, arguments[0], at, true)?;
                (i.a, i.offset) = self.memory(function, arguments[1], at, i.space)?;
                if i.a == FRAME {
                    (i.a, i.code) = (NONE, 1);
                }
            }
            "st" => {
                need(2)?;
                i.op = Op::St;
                i.ty = i.from;
                (i.b, i.count) = self.list(function, arguments[1], at, false)?;
                (i.a, i.offset) = self.memory(function, arguments[0], at, i.space)?;
                if i.a == FRAME {
                    (i.a, i.code) = (NONE, 1);
                }
            }
            "atom" | "red" => {
                i.op = Op::Atom;
                i.ty = i.from;
                let Some(code) = index_of(&ATOMIC, &suffixes) else {
                    return Ok(None);
                };
                i.code = code;
                i.flags |= STRONG;
                let (target, rest) = match name {
                    "red" => ("_", arguments),
                    _ => (
                        arguments.first().copied().unwrap_or("_"),
                        arguments.get(1..).unwrap_or(&[]),
                    ),
                };
                let [address, values @ ..] = rest else {
                    return Err(self.error(at, format!("{opcode}: no address")));
                };
                (i.a, i.offset) = self.memory(function, address, at, i.space)?;
                if let Some(value) = values.first() {
                    i.b = self.value(function, value, at)?;
                }
                if let Some(value) = values.get(1) {
                    i.c = self.value(function, value, at)?;
                }
                i.d = self.target(function, target, at)?;
            }
            "setp" | "set" => {
                need(3)?;
                i.op = if name == "set" { Op::Set } else { Op::Setp };
                let Some(code) = index_of(&COMPARE, &suffixes) else {
                    return Ok(None);
                };
                let join = index_of(&JOIN, &suffixes).map_or(0, |j| j + 1);
                i.code = code | join << 5;
                i.a = self.value(function, arguments[1], at)?;
                i.b = self.value(function, arguments[2], at)?;
                if let Some(third) = arguments.get(3) {
                    i.c = self.value(function, third.trim_start_matches('!'), at)?;
                    i.count = u8::from(third.starts_with('!'));
                }
                let (first, second) = match arguments[0].split_once('|') {
                    Some((first, second)) => (first, Some(second)),
                    None => (arguments[0], None),
                };
                i.d = self.target(function, first.trim(), at)?;
                if let Some(second) = second {
                    i.offset = i64::from(self.target(function, second.trim(), at)?);
                }
                if name == "setp" {
                    i.ty = i.from;
                }
            }
            "bra" => {
                need(1)?;
                i.op = Op::Bra;
            }
            "brx" => {
                need(2)?;
                i.op = Op::Brx;
                i.a = self.value(function, arguments[0], at)?;
            }
            "call" => return self.call(function, arguments, at).map(Some),
            "ret" => i.op = Op::Ret,
            "exit" => i.op = Op::Exit,
            "trap" | "brkpt" => i.op = Op::Trap,
            "bar" if has("warp") => {
                need(1)?;
                i.op = Op::WarpBar;
                i.a = self.value(function, arguments[0], at)?;
            }
            "bar" | "barrier" => {
                if has("cluster") {
                    return Ok(None);
                }
                i.op = Op::Bar;
                i.code = if has("arrive") {
                    1
                } else if has("red") {
                    // Sum, all, any.
                    2 + index_of(&["popc", "and", "or"], &suffixes).unwrap_or(0)
                } else {
                    0
                };
                let mut arguments = arguments;
                if i.code >= 2 {
                    need(3)?;
                    i.d = self.target(function, arguments[0], at)?;
                    let last = arguments[arguments.len() - 1];
                    i.c = self.value(function, last.trim_start_matches('!'), at)?;
                    i.offset = i64::from(last.starts_with('!'));
                    arguments = &arguments[1..arguments.len() - 1];
                }
                if let Some(first) = arguments.first() {
                    i.a = self.value(function, first, at)?;
                }
                if let Some(second) = arguments.get(1) {
                    i.b = self.value(function, second, at)?;
                    i.count = 1;
                }
                i.flags = u8::from(name == "bar" || has("aligned"));
            }
            "membar" | "fence" => {
                if has("proxy") || has("mbarrier_init") {
                    return Ok(None);
                }
                i.op = Op::Fence;
            }
            "activemask" => {
                need(1)?;
                i.op = Op::Activemask;
                i.d = self.target(function, arguments[0], at)?;
            }
            "shfl" | "vote" | "match" | "redux" => {
                need(3)?;
                i.op = match name {
                    "shfl" => Op::Shfl,
                    "vote" => Op::Vote,
                    "match" => Op::Match,
                    _ => Op::Redux,
                };
                let kinds: [&str; 4] = match name {
                    "shfl" => ["up", "down", "bfly", "idx"],
                    "vote" => ["all", "any", "uni", "ballot"],
                    "match" => ["any", "all", "", ""],
                    _ => [""; 4],
                };
                let code = match name {
                    "redux" => index_of(&ATOMIC, &suffixes),
                    _ => index_of(&kinds, &suffixes),
                };
                let Some(code) = code else { return Ok(None) };
                i.code = code;
                if !has("sync") {
                    return Ok(None);
                }
                let [target, sources @ ..] = arguments else {
                    return Ok(None);
                };
                let (first, second) = match target.split_once('|') {
                    Some((first, second)) => (first.trim(), Some(second.trim())),
                    None => (*target, None),
                };
                i.d = self.target(function, first, at)?;
                if let Some(second) = second {
                    i.offset = i64::from(self.target(function, second, at)?);
                }
                let negated = sources[0].starts_with('!');
                i.flags = u8::from(negated);
                i.a = self.value(function, sources[0].trim_start_matches('!'), at)?;
                // The mask is the last operand and goes to c; shuffles have two more in a list.
                let mask = sources[sources.len() - 1];
                i.c = self.value(function, mask, at)?;
                if name == "shfl" {
                    need(5)?;
                    let slots = [
                        self.value(function, sources[1], at)?,
                        self.value(function, sources[2], at)?,
                    ];
                    i.b = self.module.lists.len() as u32;
                    self.module.lists.extend(slots);
                }
            }
            "nanosleep" => {
                need(1)?;
                i.op = Op::Nanosleep;
            }
            "cp" if has("async") && !has("bulk") && !has("mbarrier") => {
                i.op = Op::CpAsync;
                i.code = match () {
                    () if has("commit_group") => 1,
                    () if has("wait_group") => 2,
                    () if has("wait_all") => 3,
                    () => 0,
                };
                match i.code {
                    0 => {
                        need(3)?;
                        (i.d, i.offset) = self.memory(function, arguments[0], at, Space::Shared)?;
                        let from;
                        (i.a, from) = self.memory(function, arguments[1], at, Space::Global)?;
                        if from != 0 {
                            return Ok(None);
                        }
                        i.count = number(arguments[2]).unwrap_or(0) as u8;
                        i.b = match arguments.get(3) {
                            Some(bytes) => self.value(function, bytes, at)?,
                            None => self.constant(u64::from(i.count)),
                        };
                    }
                    2 => {
                        need(1)?;
                        i.a = self.value(function, arguments[0], at)?;
                    }
                    _ => {}
                }
            }
            "prefetch" | "prefetchu" | "discard" | "applypriority" | "setmaxnreg" | "pmevent" => {
                i.op = Op::Nop;
            }
            _ => return Ok(None),
        }
        Ok(Some(i))
    }

    fn call(
        &mut self,
        function: u32,
        arguments: &[&'a str],
        at: usize,
    ) -> Result<Instruction, DecodeError> {
        let mut i = blank(Op::Call);
        let mut call = Call::default();
        let mut rest = arguments;
        let place = |this: &Self, name: &str| match this.symbol(name) {
            Some(Symbol::Param(offset, bytes)) => Ok((offset, bytes)),
            _ => Err(this.error(at, format!("{name}: no parameter"))),
        };
        if let [first, others @ ..] = rest
            && first.starts_with('(')
        {
            call.result = Some(place(self, first.trim_matches(['(', ')', ' ']))?);
            rest = others;
        }
        let [target, rest @ ..] = rest else {
            return Err(self.error(at, "a call of nothing".into()));
        };
        match self.symbol(target) {
            Some(Symbol::Function(index)) => call.function = Some(index),
            _ => i.a = self.value(function, target, at)?,
        }
        if let [list, ..] = rest {
            for name in operands(list.trim_matches(['(', ')', ' '])) {
                call.arguments.push(place(self, name)?);
            }
        }
        i.offset = self.module.calls.len() as i64;
        self.module.calls.push(call);
        Ok(i)
    }
}
