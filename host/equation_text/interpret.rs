//! Follows a graph of equations with any numbers: symbols, or numbers with derivatives.

use trisolar_equations::system::{Iterates, Rates, Splits};
use trisolar_equations::{Dynamics, Outcomes, Scalar};

use super::Equations;
use super::graph::{Function, Node, Operation};

/// Equations as [`Dynamics`] for states of up to `D` numbers.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter<'a>(pub &'a Equations);

impl Interpreter<'_> {
    /// The values of these nodes.
    fn values<R: Scalar>(&self, t: R, state: &[R], parameters: &[R], wanted: &[Node]) -> Vec<R> {
        let Equations {
            graph,
            state: names,
            parameters: given,
            ..
        } = self.0;
        let mut known: Vec<R> = Vec::with_capacity(graph.nodes().len());
        for operation in graph.nodes() {
            let at = |node: Node| known[node as usize];
            let constant = |node: Node| graph.value(node);
            let value = match *operation {
                Operation::Constant(bits) => R::of(f64::from_bits(bits)),
                Operation::Input(k) => {
                    let k = k as usize;
                    match k.checked_sub(names.len()) {
                        None => state[k],
                        Some(k) if k < given.len() => parameters[k],
                        Some(_) => t,
                    }
                }
                Operation::Minus(x) => -at(x),
                // A constant has no derivative, which Rust code says by its type.
                Operation::Add(x, y) => match (constant(x), constant(y)) {
                    (_, Some(y)) => at(x) + y,
                    (Some(x), _) => at(y) + x,
                    _ => at(x) + at(y),
                },
                Operation::Subtract(x, y) => match (constant(x), constant(y)) {
                    (_, Some(y)) => at(x) - y,
                    (Some(x), _) => -at(y) + x,
                    _ => at(x) - at(y),
                },
                Operation::Multiply(x, y) => match (constant(x), constant(y)) {
                    (_, Some(y)) => at(x) * y,
                    (Some(x), _) => at(y) * x,
                    _ => at(x) * at(y),
                },
                Operation::Divide(x, y) => match constant(y) {
                    Some(y) => at(x) / y,
                    None => at(x) / at(y),
                },
                Operation::Call(Function::Abs, x) => at(x).abs(),
                Operation::Call(Function::Floor, x) => at(x).floor(),
                Operation::Call(Function::Sin, x) => at(x).sin(),
                Operation::Call(Function::Cos, x) => at(x).cos(),
                Operation::Call(Function::Exp, x) => at(x).exp(),
                Operation::Call(Function::Ln, x) => at(x).ln(),
                Operation::Call(Function::Sqrt, x) => at(x).sqrt(),
                Operation::Call(Function::Tanh, x) => at(x).tanh(),
                Operation::Angle(y, x) => at(y).atan2(at(x)),
                Operation::Select(mask, yes, no) => {
                    let Operation::Less(x, y) = graph.nodes()[mask as usize] else {
                        unreachable!("texts have no other conditions");
                    };
                    R::select(at(x).less(at(y)), at(yes), at(no))
                }
                // It is a part of the choice that depends on it.
                Operation::Less(..) => t,
                Operation::Holds(_) | Operation::Both(..) | Operation::Not(_) => {
                    unreachable!("texts have no other conditions")
                }
            };
            known.push(value);
        }
        wanted.iter().map(|node| known[*node as usize]).collect()
    }

    /// The right-hand sides; numbers that the equations do not have keep their value, which stands for 0.
    fn rates<R: Scalar, const D: usize>(&self, t: R, state: &[R; D], parameters: &[R]) -> [R; D] {
        let mut rates = *state;
        let values = self.values(t, state, parameters, &self.0.rates);
        rates[..values.len()].copy_from_slice(&values);
        rates
    }
}

impl<const D: usize, const P: usize> Dynamics<D, P> for Interpreter<'_> {
    fn dimension(&self) -> usize {
        self.0.state.len()
    }

    fn has_outcomes(&self) -> bool {
        !self.0.outcomes.is_empty()
    }

    fn outcomes<R: Scalar>(&self, state: &[R; D], parameters: &[R; P], found: &mut Outcomes<R>) {
        let margins: Vec<Node> = self.0.outcomes.iter().map(|(_, node)| *node).collect();
        for margin in self.values(R::of(0.0), state, parameters, &margins) {
            found.when(margin);
        }
    }
}

impl<const D: usize, const P: usize> Rates<D, P> for Interpreter<'_> {
    fn rate<R: Scalar>(&self, t: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.rates(t, x, p)
    }
}

impl Interpreter<'_> {
    /// The state after the time `h` in which one of the two groups of numbers stays.
    fn moved<R: Scalar, const D: usize>(&self, momenta: bool, h: R, x: &[R; D], p: &[R]) -> [R; D] {
        let Some(groups) = &self.0.momenta else {
            unreachable!("equations of one group have no such integrator");
        };
        let places = (0..groups.len()).filter(|k| groups[*k] == momenta);
        let wanted: Vec<Node> = places.clone().map(|k| self.0.rates[k]).collect();
        let mut moved = *x;
        for (k, rate) in places.zip(self.values(R::of(0.0), x, p, &wanted)) {
            moved[k] = x[k] + h * rate;
        }
        moved
    }
}

impl<const D: usize, const P: usize> Splits<D, P> for Interpreter<'_> {
    fn drift<R: Scalar>(&self, h: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.moved(false, h, x, p)
    }

    fn kick<R: Scalar>(&self, h: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.moved(true, h, x, p)
    }
}

impl<const D: usize, const P: usize> Iterates<D, P> for Interpreter<'_> {
    fn iterate<R: Scalar>(&self, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.rates(R::of(0.0), x, p)
    }
}
