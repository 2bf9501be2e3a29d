//! Graphs as programs for blocks of lanes: an operation is done for all lanes of a block before the next one.

use std::collections::HashSet;

use trisolar_equations::{Job, Scalar};
use trisolar_simd::Simd;

use super::graph::{Function, Graph, Node, Operation};
use super::trace::{Input, MOVING, Phase, STEP, Traced};

/// Lanes of a block.
pub const LANES: usize = 64;

/// A number of each lane. Conditions are 1 where they hold, otherwise 0.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Row([f64; LANES]);

/// The place of a row.
type Place = u32;

/// A graph as operations on rows, each with the place of its result; an input is a copy of that row.
#[derive(Clone, Debug)]
struct Code(Vec<(Operation, Place)>);

/// A program for the numbers that change from step to step, and the rows of the new ones with those of the old ones.
#[derive(Clone, Debug)]
struct Renewal {
    code: Code,
    new: Vec<(Place, Place)>,
}

/// Items as a program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Numbers of an item that are not constant, with their rows.
    inputs: Vec<(Input, Place)>,
    constants: Vec<(f64, Place)>,
    begin: Renewal,
    step: Renewal,
    /// The row of the number of the step.
    number: Place,
    columns: Code,
    results: Vec<Place>,
    rows: usize,
    steps: u64,
    /// The row that says which items go on, if any can end before the last step.
    open: Option<Place>,
}

/// Assigns rows.
#[derive(Debug, Default)]
struct Rows {
    inputs: Vec<(Input, Place)>,
    constants: Vec<(f64, Place)>,
    free: Vec<Place>,
    count: Place,
}

impl Rows {
    fn new_row(&mut self) -> Place {
        self.count += 1;
        self.count - 1
    }

    fn input(&mut self, k: Input) -> Place {
        let known = self.inputs.iter().find(|(known, _)| *known == k);
        known.map(|(_, place)| *place).unwrap_or_else(|| {
            let place = self.new_row();
            self.inputs.push((k, place));
            place
        })
    }

    fn constant(&mut self, x: f64) -> Place {
        let known = self
            .constants
            .iter()
            .find(|(known, _)| known.to_bits() == x.to_bits());
        known.map(|(_, place)| *place).unwrap_or_else(|| {
            let place = self.new_row();
            self.constants.push((x, place));
            place
        })
    }

    /// The operations that the outputs need, and the rows of the outputs. A row is used again when its number is no longer needed.
    fn code(&mut self, phase: &Phase) -> (Code, Vec<Place>) {
        let Phase { graph, outputs } = phase;
        let needed = graph.needed(outputs);
        let last = last_uses(graph, &needed, outputs);
        let mut places = vec![0; graph.nodes().len()];
        let mut code = Vec::new();
        let mut held = HashSet::new();
        for node in needed {
            let operation = graph.nodes()[node as usize];
            places[node as usize] = match operation {
                Operation::Constant(bits) => self.constant(f64::from_bits(bits)),
                Operation::Holds(holds) => self.constant(f64::from(u8::from(holds))),
                Operation::Input(k) => self.input(k),
                _ => {
                    for argument in operation.arguments() {
                        let place = places[argument as usize];
                        if last[argument as usize] == node && held.remove(&place) {
                            self.free.push(place);
                        }
                    }
                    // The result replaces an argument only when all lanes have read it.
                    let place = self.free.pop().unwrap_or_else(|| self.new_row());
                    held.insert(place);
                    code.push((operation.with_arguments(|x| places[x as usize]), place));
                    place
                }
            };
        }
        self.free.extend(held);
        let rows = outputs.iter().map(|node| places[*node as usize]);
        (Code(code), rows.collect())
    }

    /// A program that computes new numbers for these rows.
    fn renewal(&mut self, phase: &Phase, old: &[Place]) -> Renewal {
        let (mut code, new) = self.code(phase);
        let mut pairs: Vec<(Place, Place)> = Vec::new();
        for (new, old) in new.into_iter().zip(old) {
            if new == *old {
                continue;
            }
            // The new number takes the row of the old one, which must not be that of another number.
            let is_free = self.free.contains(&new) && pairs.iter().all(|(other, _)| *other != new);
            let row = if is_free { new } else { self.new_row() };
            if row != new {
                code.0.push((Operation::Input(new), row));
            }
            pairs.push((row, *old));
        }
        Renewal { code, new: pairs }
    }
}

/// The last node that needs each node; outputs are needed for ever.
fn last_uses(graph: &Graph, needed: &[Node], outputs: &[Node]) -> Vec<Node> {
    let mut last = vec![0; graph.nodes().len()];
    for node in needed {
        for argument in graph.nodes()[*node as usize].arguments() {
            last[argument as usize] = *node;
        }
    }
    for node in outputs {
        last[*node as usize] = Node::MAX;
    }
    last
}

impl Program {
    /// The program of items.
    pub fn new(traced: &Traced) -> Self {
        let mut rows = Rows::default();
        let moving: Vec<Place> = (0..traced.begin.outputs.len())
            .map(|k| rows.input(MOVING + k as Input))
            .collect();
        let number = rows.input(STEP);
        let begin = rows.renewal(&traced.begin, &moving);
        let step = rows.renewal(&traced.step, &moving);
        let (columns, results) = rows.code(&traced.columns);
        let mut inputs = rows.inputs;
        inputs.retain(|(k, _)| *k < STEP);
        Self {
            inputs,
            constants: rows.constants,
            begin,
            step,
            number,
            columns,
            results,
            rows: rows.count as usize,
            steps: traced.steps,
            open: traced.may_end.then(|| moving[0]),
        }
    }

    /// Follows up to [`LANES`] items of a job, one in each lane, as [`follow`](fn@trisolar_equations::follow) does.
    pub fn follow(
        &self,
        simd: Simd,
        job: &Job,
        items: &[u64],
        write: &mut dyn FnMut(usize, usize, f64),
    ) {
        match simd {
            // SAFETY: machines with AVX-512 have AVX2, and a caller asks for an instruction set that the machine has.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 | Simd::Avx512 => unsafe { self.avx2(job, items, write) },
            _ => self.on_lanes(job, items, write),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn avx2(&self, job: &Job, items: &[u64], write: &mut dyn FnMut(usize, usize, f64)) {
        self.on_lanes(job, items, write);
    }

    #[inline(always)]
    fn on_lanes(&self, job: &Job, items: &[u64], write: &mut dyn FnMut(usize, usize, f64)) {
        let mut rows = vec![Box::new(Row([0.0; LANES])); self.rows];
        for (x, place) in &self.constants {
            rows[*place as usize].0.fill(*x);
        }
        for (k, place) in &self.inputs {
            for (lane, x) in rows[*place as usize].0.iter_mut().enumerate() {
                // Lanes that are left over follow the last item again, which ends with it.
                *x = job.number(*k as usize, items[lane.min(items.len() - 1)]);
            }
        }
        renew(&mut rows, &self.begin);
        let mut number = 0;
        let goes_on = |rows: &[Box<Row>]| match self.open {
            Some(place) => rows[place as usize].0.iter().any(|open| *open != 0.0),
            None => true,
        };
        while number < self.steps && goes_on(&rows) {
            rows[self.number as usize].0.fill(number as f64);
            renew(&mut rows, &self.step);
            number += 1;
        }
        rows[self.number as usize].0.fill(number as f64);
        execute(&mut rows, &self.columns);
        for (place, row) in self.results.iter().enumerate() {
            for (lane, x) in rows[*row as usize].0[..items.len()].iter().enumerate() {
                // The bits of a number that is NaN depend on the processor.
                write(lane, place, if x.is_nan() { f64::NAN } else { *x });
            }
        }
    }
}

#[inline(always)]
fn renew(rows: &mut [Box<Row>], renewal: &Renewal) {
    execute(rows, &renewal.code);
    for (new, old) in &renewal.new {
        rows.swap(*new as usize, *old as usize);
    }
}

#[inline(always)]
fn execute(rows: &mut [Box<Row>], code: &Code) {
    let mut results = Box::new(Row([0.0; LANES]));
    for (operation, to) in &code.0 {
        let row = |place: Place| &rows[place as usize].0;
        let out = &mut results.0;
        match *operation {
            Operation::Input(x) => *out = *row(x),
            Operation::Minus(x) => one(out, row(x), |x| -x),
            Operation::Add(x, y) => two(out, row(x), row(y), |x, y| x + y),
            Operation::Subtract(x, y) => two(out, row(x), row(y), |x, y| x - y),
            Operation::Multiply(x, y) => two(out, row(x), row(y), |x, y| x * y),
            Operation::Divide(x, y) => two(out, row(x), row(y), |x, y| x / y),
            Operation::Call(Function::Sqrt, x) => one(out, row(x), Scalar::sqrt),
            Operation::Call(Function::Abs, x) => one(out, row(x), Scalar::abs),
            Operation::Call(function, x) => one(out, row(x), |x| function.of(x)),
            Operation::Angle(y, x) => two(out, row(y), row(x), Scalar::atan2),
            Operation::Less(x, y) => two(out, row(x), row(y), |x, y| if x < y { 1.0 } else { 0.0 }),
            Operation::Both(x, y) => two(out, row(x), row(y), |x, y| x * y),
            Operation::Not(x) => one(out, row(x), |x| 1.0 - x),
            Operation::Select(mask, yes, no) => {
                let (mask, yes, no) = (row(mask), row(yes), row(no));
                for lane in 0..LANES {
                    out[lane] = if mask[lane] != 0.0 {
                        yes[lane]
                    } else {
                        no[lane]
                    };
                }
            }
            Operation::Constant(_) | Operation::Holds(_) => {
                unreachable!("constants have rows of their own")
            }
        }
        std::mem::swap(&mut rows[*to as usize], &mut results);
    }
}

#[inline(always)]
fn one(out: &mut [f64; LANES], x: &[f64; LANES], f: impl Fn(f64) -> f64) {
    for lane in 0..LANES {
        out[lane] = f(x[lane]);
    }
}

#[inline(always)]
fn two(out: &mut [f64; LANES], x: &[f64; LANES], y: &[f64; LANES], f: impl Fn(f64, f64) -> f64) {
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
}
