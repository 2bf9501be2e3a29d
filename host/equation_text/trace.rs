//! Items as graphs: their start, a step and their columns, which follow from following them once with symbols instead of numbers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Add, Div, Mul, Neg, Sub};

use trisolar_equations::evolution::Vector as _;
use trisolar_equations::follow::{self, Course};
use trisolar_equations::job::MAX_NUMBERS;
use trisolar_equations::scheme::{
    Dop853, ForestRuth, Iteration, KahanLi8, Leapfrog, Rk4, Scheme, Tsit5,
};
use trisolar_equations::{Alone, Column, Evolution, Job, Law, Mask, Method, Scalar, WithTangent};

use super::Equations;
use super::graph::{Function, Graph, Node, Operation};
use super::interpret::Interpreter;

thread_local! {
    /// The operations of the symbols of this thread.
    static GRAPH: RefCell<Graph> = RefCell::default();
}

fn add(operation: Operation) -> Node {
    GRAPH.with_borrow_mut(|graph| graph.add(operation))
}

/// A number that is not known yet.
#[derive(Clone, Copy, Debug)]
struct Symbol(Node);

/// What stands for the numbers that a state or a list of parameters has room for and the equations do not have. It vanishes from sums, so
/// that all others have the bits of a program with as many numbers as there are.
const ABSENT: Symbol = Symbol(Node::MAX);

impl Symbol {
    fn is_absent(self) -> bool {
        self.0 == ABSENT.0
    }
}

/// A condition that is not known yet.
#[derive(Clone, Copy, Debug)]
struct Condition(Node);

impl Add for Symbol {
    type Output = Self;
    #[inline(never)]
    fn add(self, o: Self) -> Self {
        match [self, o].map(Self::is_absent) {
            [true, _] => o,
            [_, true] => self,
            _ => Self(add(Operation::Add(self.0, o.0))),
        }
    }
}

impl Sub for Symbol {
    type Output = Self;
    #[inline(never)]
    fn sub(self, o: Self) -> Self {
        match [self, o].map(Self::is_absent) {
            [true, _] => -o,
            [_, true] => self,
            _ => Self(add(Operation::Subtract(self.0, o.0))),
        }
    }
}

impl Mul for Symbol {
    type Output = Self;
    #[inline(never)]
    fn mul(self, o: Self) -> Self {
        match self.is_absent() || o.is_absent() {
            true => ABSENT,
            false => Self(add(Operation::Multiply(self.0, o.0))),
        }
    }
}

impl Div for Symbol {
    type Output = Self;
    #[inline(never)]
    fn div(self, o: Self) -> Self {
        match self.is_absent() || o.is_absent() {
            true => ABSENT,
            false => Self(add(Operation::Divide(self.0, o.0))),
        }
    }
}

macro_rules! with_constants {
    ($($trait:ident $name:ident),*) => {$(
        impl $trait<f64> for Symbol {
            type Output = Self;
            #[inline(never)]
            fn $name(self, o: f64) -> Self {
                $trait::$name(self, Self::of(o))
            }
        }
    )*};
}
with_constants!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Symbol {
    type Output = Self;
    fn neg(self) -> Self {
        self.then(Operation::Minus)
    }
}

impl Mask for Condition {
    fn all_are(holds: bool) -> Self {
        Self(add(Operation::Holds(holds)))
    }
    fn lane(self, _: usize) -> bool {
        unreachable!("a condition of symbols is not known")
    }
    fn any(self) -> bool {
        unreachable!("a condition of symbols is not known")
    }
    fn and(self, other: Self) -> Self {
        Self(add(Operation::Both(self.0, other.0)))
    }
    fn not(self) -> Self {
        Self(add(Operation::Not(self.0)))
    }
}

impl Symbol {
    /// An operation on it.
    fn then(self, operation: impl FnOnce(Node) -> Operation) -> Self {
        match self.is_absent() {
            true => self,
            false => Self(add(operation(self.0))),
        }
    }
}

macro_rules! functions {
    ($($name:ident $function:ident),*) => {$(
        #[inline(never)]
        fn $name(self) -> Self {
            self.then(|x| Operation::Call(Function::$function, x))
        }
    )*};
}

impl Scalar for Symbol {
    const LANES: usize = 1;
    type Mask = Condition;

    #[inline(never)]
    fn of(x: f64) -> Self {
        Self(add(Operation::Constant(x.to_bits())))
    }
    fn from_lanes(mut x: impl FnMut(usize) -> f64) -> Self {
        Self::of(x(0))
    }
    fn lane(self, _: usize) -> f64 {
        unreachable!("the number of a symbol is not known")
    }
    functions!(sqrt Sqrt, sin Sin, cos Cos, exp Exp, ln Ln, tanh Tanh, abs Abs, floor Floor);
    fn atan2(self, x: Self) -> Self {
        Self(add(Operation::Angle(self.0, x.0)))
    }
    #[inline(never)]
    fn less(self, other: Self) -> Condition {
        match self.is_absent() || other.is_absent() {
            true => Condition::all_are(false),
            false => Condition(add(Operation::Less(self.0, other.0))),
        }
    }
    #[inline(never)]
    fn select(mask: Condition, yes: Self, no: Self) -> Self {
        match yes.is_absent() || no.is_absent() {
            true => ABSENT,
            false => Self(add(Operation::Select(mask.0, yes.0, no.0))),
        }
    }
}

/// An [input](Operation::Input) of a graph: the parameter or the number at the start with this place of [`Job::number`], or one of those below.
pub type Input = u32;

/// The number of the step, from 0 on; for the columns the number of all steps.
pub const STEP: Input = 2 * MAX_NUMBERS as u32;
/// The first of the numbers that change from step to step.
pub const MOVING: Input = STEP + 1;

/// What becomes of inputs.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The operations.
    pub graph: Graph,
    /// The results.
    pub outputs: Vec<Node>,
}

/// Items from their start to their columns.
#[derive(Clone, Debug)]
pub struct Traced {
    /// From the numbers of an item to those that change from step to step, the first of which is whether the item goes on, if any can end
    /// before the last step.
    pub begin: Phase,
    /// From these numbers to those after the step.
    pub step: Phase,
    /// From these numbers to the columns of the job.
    pub columns: Phase,
    /// The most steps.
    pub steps: u64,
    /// Whether items can end before.
    pub may_end: bool,
}

/// Items of these equations as graphs.
pub fn trace(equations: &Equations, job: &Job) -> Traced {
    type A<'a> = Alone<Symbol, Interpreter<'a>, MAX_NUMBERS, MAX_NUMBERS>;
    type T<'a> = WithTangent<Symbol, Interpreter<'a>, MAX_NUMBERS, MAX_NUMBERS>;
    match (job.method, job.tangent) {
        (Method::RK4, 0) => traced::<A<'_>, Rk4>(equations, job),
        (Method::RK4, _) => traced::<T<'_>, Rk4>(equations, job),
        (Method::TSIT5, 0) => traced::<A<'_>, Tsit5>(equations, job),
        (Method::TSIT5, _) => traced::<T<'_>, Tsit5>(equations, job),
        (Method::LEAPFROG, 0) => traced::<A<'_>, Leapfrog>(equations, job),
        (Method::LEAPFROG, _) => traced::<T<'_>, Leapfrog>(equations, job),
        (Method::FOREST_RUTH, 0) => traced::<A<'_>, ForestRuth>(equations, job),
        (Method::FOREST_RUTH, _) => traced::<T<'_>, ForestRuth>(equations, job),
        (Method::KAHAN_LI_8, 0) => traced::<A<'_>, KahanLi8>(equations, job),
        (Method::KAHAN_LI_8, _) => traced::<T<'_>, KahanLi8>(equations, job),
        (Method::ITERATION, 0) => traced::<A<'_>, Iteration>(equations, job),
        (Method::ITERATION, _) => traced::<T<'_>, Iteration>(equations, job),
        (_, 0) => traced::<A<'_>, Dop853>(equations, job),
        (_, _) => traced::<T<'_>, Dop853>(equations, job),
    }
}

/// The numbers of a course, the condition first, in an order of their own; absent numbers have none.
fn numbers<S: trisolar_equations::evolution::Vector<Symbol>>(
    course: &Course<Symbol, S>,
) -> Vec<Node> {
    let Course {
        open,
        outcome,
        time,
        steps,
        t,
        h,
        ..
    } = course;
    let found = RefCell::new(vec![open.0, outcome.0, time.0, steps.0, t.0, h.0]);
    let _ = course.state.map(|x| {
        if !x.is_absent() {
            found.borrow_mut().push(x.0);
        }
        x
    });
    found.into_inner()
}

/// A course whose numbers are inputs, or constants where these are known not to change.
fn course<S: trisolar_equations::evolution::Vector<Symbol>>(
    like: &Course<Symbol, S>,
    known: &BTreeMap<usize, Operation>,
) -> Course<Symbol, S> {
    let node = |place: usize| {
        let input = Operation::Input(MOVING + place as Input);
        add(*known.get(&place).unwrap_or(&input))
    };
    let place = Cell::new(6);
    Course {
        open: Condition(node(0)),
        outcome: Symbol(node(1)),
        time: Symbol(node(2)),
        steps: Symbol(node(3)),
        t: Symbol(node(4)),
        h: Symbol(node(5)),
        state: like.state.map(|x| match x.is_absent() {
            true => x,
            false => Symbol(node(place.replace(place.get() + 1))),
        }),
    }
}

fn traced<'a, E, M>(equations: &'a Equations, job: &Job) -> Traced
where
    E: Evolution<Symbol, MAX_NUMBERS, MAX_NUMBERS, System = Interpreter<'a>>,
    M: Scheme<Symbol, E>,
{
    let motion = || {
        let number = |list: &[Law; MAX_NUMBERS], k: usize, first: usize| {
            let law = &list[k];
            Symbol(add(match law.kind {
                Law::FIXED => Operation::Constant(law.low.to_bits()),
                _ => Operation::Input((first + k) as Input),
            }))
        };
        let or_absent =
            |known: bool, number: &dyn Fn() -> Symbol| if known { number() } else { ABSENT };
        let parameters = std::array::from_fn(|k| {
            or_absent(k < equations.parameters.len(), &|| {
                number(&job.parameters, k, 0)
            })
        });
        let start = std::array::from_fn(|k| {
            or_absent(k < equations.state.len(), &|| {
                number(&job.start, k, MAX_NUMBERS)
            })
        });
        (E::new(Interpreter(equations), parameters), start)
    };
    GRAPH.take();
    let (m, start) = motion();
    let may_end = follow::may_end::<Symbol, E, M, MAX_NUMBERS, MAX_NUMBERS>(&m);
    let mut begun = follow::begin(&m, job, start);
    // A tangent vector begins with as many numbers as there is room for.
    let place = Cell::new(0);
    let is_known = || {
        let place = place.replace(place.get() + 1);
        place >= 2 * MAX_NUMBERS || place % MAX_NUMBERS < equations.state.len()
    };
    begun.state = begun.state.map(|x| if is_known() { x } else { ABSENT });
    let outputs = numbers(&begun);
    let mut begin = Phase {
        graph: GRAPH.take(),
        outputs,
    };
    // Numbers that are the same in all items and in all steps. At first that is supposed of all that are constants at the start.
    let mut known = BTreeMap::new();
    for (place, node) in begin.outputs.iter().enumerate() {
        let operation = begin.graph.nodes()[*node as usize];
        if matches!(operation, Operation::Constant(_) | Operation::Holds(_)) {
            known.insert(place, operation);
        }
    }
    let mut step = loop {
        let (m, _) = motion();
        let mut moving = course(&begun, &known);
        let number = Symbol(add(Operation::Input(STEP)));
        follow::advance::<Symbol, E, M, MAX_NUMBERS, MAX_NUMBERS>(&m, job, number, &mut moving);
        let outputs = numbers(&moving);
        let graph = GRAPH.take();
        let count = known.len();
        known.retain(|place, operation| graph.nodes()[outputs[*place] as usize] == *operation);
        if known.len() == count {
            break Phase { graph, outputs };
        }
    };
    let moving = course(&begun, &known);
    let steps = Symbol(add(Operation::Input(STEP)));
    let (first, state) = follow::columns::<Symbol, E, M, MAX_NUMBERS, MAX_NUMBERS>(moving, steps);
    let asked = first.into_iter().chain(state).enumerate();
    let asked = asked.filter(|(column, _)| job.columns >> column & 1 == 1);
    let outputs = asked.map(|(_, x)| x.0).collect();
    let mut columns = Phase {
        graph: GRAPH.take(),
        outputs,
    };
    debug_assert_eq!(Column::STATE.0 as usize, first.len());
    only_needed(&mut begin, &mut step, &mut columns, may_end);
    Traced {
        begin,
        step,
        columns,
        steps: job.steps,
        may_end,
    }
}

/// Removes the numbers that change from step to step and that no column depends on, and numbers the others anew.
fn only_needed(begin: &mut Phase, step: &mut Phase, columns: &mut Phase, may_end: bool) {
    let inputs = |graph: &Graph, outputs: &[Node]| -> Vec<usize> {
        let nodes = graph.needed(outputs).into_iter();
        let input = |node: Node| match graph.nodes()[node as usize] {
            Operation::Input(k) if k >= MOVING => Some((k - MOVING) as usize),
            _ => None,
        };
        nodes.filter_map(input).collect()
    };
    let mut needed = vec![false; begin.outputs.len()];
    let mut open: Vec<usize> = inputs(&columns.graph, &columns.outputs);
    if may_end {
        open.push(0);
    }
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut needed[place], true) {
            open.extend(inputs(&step.graph, &[step.outputs[place]]));
        }
    }
    let mut places = vec![0; needed.len()];
    let mut next = 0;
    for (place, needed) in places.iter_mut().zip(&needed) {
        *place = next;
        next += Input::from(*needed);
    }
    for phase in [&mut *step, columns] {
        phase
            .graph
            .renumber_inputs(|k| match k.checked_sub(MOVING) {
                Some(place) => MOVING + places[place as usize],
                None => k,
            });
    }
    for phase in [begin, step] {
        let mut needed = needed.iter();
        phase.outputs.retain(|_| *needed.next().unwrap_or(&false));
    }
}
