//! Addresses of functions that one kernel leaves for another.
//!
//! Each module has functions of its own, so that the address of a function, or of a table of functions as in a trait object, is right only in
//! the kernel that has taken it. Here addresses are followed through an optimised program: through registers, direct calls, and a thread's
//! variables and heap, field by field. Numbers and calls by address are not followed, so that nothing is said of what only might happen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::listing::Listing;
use super::text::{Kind, Variable, function, in_parentheses, is_kernel, names, operands};

/// A place in a piece of memory that is not known, or beyond what is followed.
const SOMEWHERE: u64 = 1 << 10;
/// The function to which the names of the whole program belong.
const NONE: usize = usize::MAX;

/// What is known of a value, or of what lies in memory.
#[derive(Clone, Default, PartialEq)]
struct Value<'a> {
    /// The function whose address it is, or which stands in the constant table that it points to.
    code: Option<&'a str>,
    /// Whether it points to memory that outlives the kernel, or comes from there.
    outer: bool,
    /// The pieces of a thread's own memory to which it may point, with the place there.
    own: BTreeMap<usize, u64>,
}

impl<'a> Value<'a> {
    /// Adds what is known of another value that it may be; returns whether that is more than before.
    fn join(&mut self, other: &Value<'a>) -> bool {
        let mut more = self.code.is_none() && other.code.is_some() || !self.outer && other.outer;
        self.code = self.code.or(other.code);
        self.outer |= other.outer;
        for (memory, at) in &other.own {
            let known = self.own.get(memory).copied();
            let joined = if known.is_none_or(|known| known == *at) {
                *at
            } else {
                SOMEWHERE
            };
            more |= known != Some(joined);
            self.own.insert(*memory, joined);
        }
        more
    }
}

/// A step of the program, from one value to another.
enum Step {
    /// Another name, or an address that is farther by so many bytes.
    Name(u64),
    Load,
    Store,
    /// A copy from what one value points to to what the other points to.
    Move,
}

/// The functions of a program in which addresses of functions leave a kernel or come from outside of it.
#[derive(Default)]
pub struct Foreign<'a> {
    /// Those that store one in memory that outlives the kernel, and whose address it is.
    pub stores: BTreeMap<usize, &'a str>,
    /// Those that call by an address from such memory.
    pub calls: BTreeSet<usize>,
}

struct Search<'p, 'a> {
    program: &'p Listing<'a>,
    known: HashMap<(usize, &'a str), usize>,
    values: Vec<Value<'a>>,
    /// What is stored at each place of the own memory.
    cells: BTreeMap<(usize, u64), Value<'a>>,
    /// Own memory to which something that outlives the kernel points.
    left: BTreeSet<usize>,
    /// The function of each step, its source and its target.
    steps: Vec<(usize, Step, usize, usize)>,
    called: Vec<(usize, usize)>,
    /// Whether it is known already where addresses of functions go, and what comes from outside is followed now.
    from_outside: bool,
}

impl<'a> Foreign<'a> {
    pub fn of(program: &Listing<'a>) -> Self {
        let mut search = Search {
            program,
            known: HashMap::new(),
            values: Vec::new(),
            cells: BTreeMap::new(),
            left: BTreeSet::new(),
            steps: Vec::new(),
            called: Vec::new(),
            from_outside: false,
        };
        let calls = |line: &&str| callee(line).is_some_and(|(_, name)| name.starts_with('%'));
        if !program.lines.iter().any(calls) {
            return Self::default();
        }
        for (item, (kind, range)) in program.items.iter().enumerate() {
            if *kind == Kind::Definition {
                let body = &program.lines[range.clone()];
                search.head(item, body[0]);
                body[1..].iter().for_each(|line| search.line(item, line));
            }
        }
        let mut found = Self::default();
        while search.pass(&mut found) {}
        search.from_outside = true;
        while search.pass(&mut found) {}
        let called = search.called.iter();
        found.calls = (called.filter(|(_, by)| search.is_outer(&search.values[*by])))
            .map(|(item, _)| *item)
            .collect();
        found
    }
}

impl<'a> Search<'_, 'a> {
    fn value(&mut self, item: usize, name: &'a str) -> usize {
        let item = if name.starts_with('@') { NONE } else { item };
        if let Some(known) = self.known.get(&(item, name)) {
            return *known;
        }
        let number = self.values.len();
        self.known.insert((item, name), number);
        let mut value = Value::default();
        if item == NONE {
            let defined = self.program.defined.get(name).copied();
            let variable = defined.and_then(|item| Variable::of(self.program.first(item)));
            match variable {
                Some(variable) if variable.words.contains("addrspace(3)") => {
                    value.own.insert(number, 0);
                }
                Some(variable) if !variable.constant => value.outer = true,
                _ => value.code = defined.and_then(|item| self.code(item, &mut BTreeSet::new())),
            }
        }
        self.values.push(value);
        number
    }

    /// The function that an item is, or that a constant refers to.
    fn code(&self, item: usize, seen: &mut BTreeSet<usize>) -> Option<&'a str> {
        let first = self.program.first(item);
        if !first.starts_with('@') {
            return function(first).filter(|name| !name.starts_with("@llvm."));
        }
        if !seen.insert(item) || !Variable::of(first).is_some_and(|variable| variable.constant) {
            return None;
        }
        let mut within = self.program.mentioned(item).into_iter();
        within.find_map(|item| self.code(item, seen))
    }

    /// The values in a text.
    fn all(&mut self, item: usize, text: &'a str) -> Vec<usize> {
        let found = names(text).filter(|(_, name)| name.starts_with(['@', '%']));
        found.map(|(_, name)| self.value(item, name)).collect()
    }

    fn step(&mut self, item: usize, step: impl Fn() -> Step, from: &[usize], to: &[usize]) {
        for (from, to) in from
            .iter()
            .flat_map(|from| to.iter().map(move |to| (*from, *to)))
        {
            self.steps.push((item, step(), from, to));
        }
    }

    fn own(&mut self, value: usize) {
        self.values[value].own.insert(value, 0);
    }

    /// A kernel's parameters come from the host.
    fn head(&mut self, item: usize, line: &'a str) {
        if !is_kernel(line) {
            return;
        }
        for part in parameters(line) {
            let Some((_, name)) = names(part).last() else {
                continue;
            };
            let value = self.value(item, name);
            if part.contains("byval(") {
                self.own(value);
                let outer = Value {
                    outer: true,
                    ..Value::default()
                };
                self.cells.insert((value, SOMEWHERE), outer);
            } else {
                self.values[value].outer = part.starts_with("ptr");
            }
        }
    }

    fn line(&mut self, item: usize, line: &'a str) {
        let code = line.trim_start();
        let (result, code) = match code.split_once(" = ") {
            Some((result, code)) if result.starts_with('%') => (Some(result), code),
            _ => (None, code),
        };
        let result: Vec<usize> = result
            .map(|name| self.value(item, name))
            .into_iter()
            .collect();
        let parts = operands(code);
        let part = |at: usize| parts.get(at).copied().unwrap_or_default();
        match code.split(' ').next().unwrap_or_default() {
            "alloca" => self.own(result[0]),
            "load" if ["ptr", "i64"].iter().any(|ty| part(0).contains(ty)) => {
                let from = self.all(item, part(1));
                self.step(item, || Step::Load, &from, &result);
            }
            "store" => {
                let (value, to) = (self.all(item, part(0)), self.all(item, part(1)));
                self.step(item, || Step::Store, &value, &to);
            }
            "atomicrmw" | "cmpxchg" => {
                let new = part(if code.starts_with('c') { 2 } else { 1 });
                let (at, new) = (self.all(item, part(0)), self.all(item, new));
                self.step(item, || Step::Store, &new, &at);
                self.step(item, || Step::Load, &at, &result);
            }
            "getelementptr" => {
                let bytes = part(0)
                    .ends_with(" i8")
                    .then(|| part(2).strip_prefix("i64 "));
                let by = bytes.flatten().and_then(|by| by.parse().ok());
                let from = self.all(item, part(1));
                self.step(item, || Step::Name(by.unwrap_or(SOMEWHERE)), &from, &result);
            }
            "select" => {
                for chosen in [part(1), part(2)] {
                    let from = self.all(item, chosen);
                    self.step(item, || Step::Name(0), &from, &result);
                }
            }
            "phi" | "freeze" | "addrspacecast" | "bitcast" | "ptrtoint" | "inttoptr"
            | "insertvalue" | "extractvalue" => {
                let from = self.all(item, code);
                self.step(item, || Step::Name(0), &from, &result);
            }
            "ret" => {
                let (from, to) = (self.all(item, code), self.value(item, ""));
                self.step(item, || Step::Name(0), &from, &[to]);
            }
            _ => self.call(item, line, &result),
        }
    }

    fn call(&mut self, item: usize, line: &'a str, result: &[usize]) {
        let Some((end, name)) = callee(line) else {
            return;
        };
        let arguments: Vec<Vec<usize>> = operands(in_parentheses(&line[end..]).unwrap_or_default())
            .into_iter()
            .map(|argument| self.all(item, argument))
            .collect();
        if name.starts_with('%') {
            let by = self.value(item, name);
            self.called.push((item, by));
        } else if name.starts_with("@llvm.memcpy.") || name.starts_with("@llvm.memmove.") {
            self.step(item, || Step::Move, &arguments[1], &arguments[0]);
        } else if name.starts_with("@llvm.") {
            self.step(item, || Step::Name(0), &arguments.concat(), result);
        } else if let Some(define) = (self.program.defined.get(name).copied())
            .filter(|item| self.program.items[*item].0 == Kind::Definition)
        {
            for (argument, part) in arguments.iter().zip(parameters(self.program.first(define))) {
                let parameter = names(part).last().map(|(_, name)| self.value(define, name));
                self.step(item, || Step::Name(0), argument, parameter.as_slice());
            }
            let returned = self.value(define, "");
            self.step(item, || Step::Name(0), &[returned], result);
        } else {
            // `malloc`
            result.iter().for_each(|result| self.own(*result));
        }
    }

    fn is_outer(&self, value: &Value<'_>) -> bool {
        self.from_outside
            && (value.outer || value.own.keys().any(|memory| self.left.contains(memory)))
    }

    /// What may be where a value points to. An element of a list with addresses of functions is none of the pointers beside the list.
    fn pointed(&self, value: &Value<'a>) -> Value<'a> {
        let mut found = Value {
            code: value.code,
            outer: self.is_outer(value),
            own: BTreeMap::new(),
        };
        for (memory, at) in &value.own {
            let cells = self.cells.range((*memory, 0)..=(*memory, SOMEWHERE));
            let cells: Vec<&Value> = cells
                .filter(|((_, place), _)| [*place, SOMEWHERE].contains(at) || *place == SOMEWHERE)
                .map(|(_, cell)| cell)
                .collect();
            let is_list = *at == SOMEWHERE && cells.iter().any(|cell| cell.code.is_some());
            for cell in cells {
                let follows = self.from_outside && (cell.code.is_some() || !is_list);
                let outer = cell.outer && follows;
                found.join(&Value {
                    outer,
                    ..cell.clone()
                });
            }
        }
        found
    }

    fn put(&mut self, memory: usize, at: u64, value: &Value<'a>) -> bool {
        let cell = self.cells.entry((memory, at.min(SOMEWHERE))).or_default();
        cell.join(value)
    }

    /// A value is stored where another one points to.
    fn store(
        &mut self,
        item: usize,
        value: &Value<'a>,
        to: &Value<'a>,
        found: &mut Foreign<'a>,
    ) -> bool {
        let mut changed = false;
        if self.is_outer(to) {
            if let Some(code) = value.code {
                found.stores.insert(item, code);
            }
            for memory in value.own.keys() {
                changed |= self.left.insert(*memory);
            }
        }
        for (memory, at) in &to.own {
            changed |= self.put(*memory, *at, value);
        }
        changed
    }

    /// Goes through all steps once; returns whether more became known.
    fn pass(&mut self, found: &mut Foreign<'a>) -> bool {
        let mut changed = false;
        let steps = std::mem::take(&mut self.steps);
        for (item, step, from, to) in &steps {
            let (mut value, target) = (self.values[*from].clone(), self.values[*to].clone());
            changed |= match step {
                Step::Name(0) => self.values[*to].join(&value),
                Step::Name(by) => {
                    let farther = |(memory, at): (usize, u64)| (memory, (at + by).min(SOMEWHERE));
                    value.own = value.own.into_iter().map(farther).collect();
                    self.values[*to].join(&value)
                }
                Step::Load => {
                    let value = self.pointed(&value);
                    self.values[*to].join(&value)
                }
                Step::Store => self.store(*item, &value, &target, found),
                Step::Move if target.own.is_empty() || value.own.is_empty() => {
                    let value = self.pointed(&value);
                    self.store(*item, &value, &target, found)
                }
                Step::Move => self.moved(*item, &value, &target, found),
            };
        }
        self.steps = steps;
        changed
    }

    /// Copies each field to its place.
    fn moved(
        &mut self,
        item: usize,
        from: &Value<'a>,
        to: &Value<'a>,
        found: &mut Foreign<'a>,
    ) -> bool {
        let mut changed = false;
        for (memory, start) in &from.own {
            let cells = self.cells.range((*memory, 0)..=(*memory, SOMEWHERE));
            let cells: Vec<(u64, Value<'a>)> =
                cells.map(|(key, cell)| (key.1, cell.clone())).collect();
            for (at, cell) in cells {
                let mut target = to.clone();
                target.own = (to.own.iter())
                    .map(
                        |(memory, to)| match [at, *start, *to].contains(&SOMEWHERE) {
                            true => (*memory, SOMEWHERE),
                            false => (*memory, (to + at.saturating_sub(*start)).min(SOMEWHERE)),
                        },
                    )
                    .collect();
                if at >= *start || *start == SOMEWHERE {
                    changed |= self.store(item, &cell, &target, found);
                }
            }
        }
        changed
    }
}

/// The name of what a line calls, and where it ends.
fn callee(line: &str) -> Option<(usize, &str)> {
    let called = line.contains("call ") && !line.contains(" asm ");
    let mut all = names(line).filter(|(place, _)| called && line[place.end..].starts_with('('));
    all.next().map(|(place, name)| (place.end, name))
}

/// The parameters of a function.
fn parameters(define: &str) -> Vec<&str> {
    let name = names(define).find(|(_, name)| name.starts_with('@'));
    let rest = name.map_or("", |(place, _)| &define[place.end..]);
    operands(in_parentheses(rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::error::CudaBuilderError;
    use crate::ir::divide::Program;

    /// A program in which one kernel has `stores`, and another one `calls`.
    fn divided(stores: &str, calls: &str) -> Result<usize, CudaBuilderError> {
        let program = format!(
            "@TABLE = private constant <{{ [8 x i8], ptr }}> <{{ [8 x i8] zeroinitializer, ptr @turned }}>, align 8\n\
             @KEPT = internal global [8 x i8] zeroinitializer, align 8\n\
             define ptx_kernel void @leaves(ptr %data, i1 %which) {{\n{stores}  ret void\n}}\n\
             define ptx_kernel void @calls(ptr %data, i1 %which) {{\n{calls}  ret void\n}}\n\
             define internal void @put(ptr %at, ptr %what) {{\n  store ptr %what, ptr %at, align 8\n  ret void\n}}\n\
             define internal void @turned(ptr %x) {{\n  ret void\n}}\ndeclare noalias ptr @malloc(i64)\n"
        );
        Ok(Program::checked(&program)?.divided()?.len())
    }

    const CALLS: &str = "  %f = load ptr, ptr %data, align 8\n  call void %f(ptr null)\n";

    #[test]
    fn an_address_that_one_kernel_stores_and_another_calls_is_refused() {
        for stores in [
            "  store ptr @turned, ptr %data, align 8\n",
            "  %1 = select i1 %which, ptr @TABLE, ptr null\n  %2 = getelementptr i8, ptr %data, i64 8\n  store ptr %1, ptr %2, align 8\n",
            "  tail call void @put(ptr nonnull %data, ptr @TABLE)\n",
            "  %a = alloca [8 x i8], align 8\n  store ptr @TABLE, ptr %a, align 8\n  \
             call void @llvm.memcpy.p0.p0.i64(ptr align 8 %data, ptr align 8 %a, i64 8, i1 false)\n",
            "  %h = call ptr @malloc(i64 8)\n  store ptr @TABLE, ptr %h, align 8\n  store ptr %h, ptr @KEPT, align 8\n",
            "  %1 = atomicrmw xchg ptr @KEPT, i64 ptrtoint (ptr @turned to i64) monotonic, align 8\n",
        ] {
            let said = divided(stores, CALLS).expect_err(stores).to_string();
            assert!(
                said.starts_with("leaves stores the address of turned "),
                "{said}"
            );
            assert!(said.contains("calls calls by an address"), "{said}");
            // Another kernel that does not call has no need of it.
            assert!(divided(stores, "").is_ok(), "{stores}");
        }
        let dynamic = "  %t = load ptr, ptr %data, align 8\n  %m = getelementptr i8, ptr %t, i64 8\n  %f = load ptr, ptr %m, align 8\n  \
                       call void %f(ptr null)\n";
        assert!(divided("  store ptr @TABLE, ptr %data, align 8\n", dynamic).is_err());
    }

    #[test]
    fn what_stays_within_a_kernel_is_allowed() {
        // A table that a condition chooses, variables and a list on the heap beside a pointer that comes from the host.
        let within = "  %o = load i1, ptr %data, align 8\n  %1 = select i1 %o, ptr @TABLE, ptr null\n  %a = alloca [24 x i8], align 8\n  \
                      store ptr %data, ptr %a, align 8\n  %h = call ptr @malloc(i64 64)\n  %2 = getelementptr inbounds nuw i8, ptr %a, i64 8\n  \
                      store ptr %h, ptr %2, align 8\n  %b = alloca [24 x i8], align 8\n  \
                      call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 24, i1 false)\n  \
                      %3 = getelementptr inbounds nuw i8, ptr %b, i64 8\n  %4 = load ptr, ptr %3, align 8\n  call void @put(ptr %4, ptr %1)\n  \
                      %5 = load ptr, ptr %4, align 8\n  %6 = getelementptr inbounds nuw i8, ptr %5, i64 8\n  %7 = load ptr, ptr %6, align 8\n  \
                      call void %7(ptr %data)\n";
        let count = divided(within, within);
        assert!(count.is_ok(), "{}", count.unwrap_err());
        // A kernel may call what it has stored itself.
        let stores = "  store ptr @turned, ptr %data, align 8\n";
        assert!(divided(&(stores.to_owned() + CALLS), within).is_ok());
    }
}
