//! A graph of operations on real numbers. Equal operations are one node, operations on constants are computed, and those that return an
//! argument are that argument; nothing else is rearranged, so that all who follow the graph get the same bits.

use std::collections::HashMap;

use trisolar_equations::Scalar;

/// The number of an operation. Its arguments have lower numbers.
pub type Node = u32;

/// The functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// The absolute value.
    Abs,
    /// The largest whole number not above x.
    Floor,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The exponential function.
    Exp,
    /// The natural logarithm.
    Ln,
    /// The square root.
    Sqrt,
    /// The hyperbolic tangent.
    Tanh,
}

impl Function {
    /// All functions with their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("abs", Self::Abs),
        ("floor", Self::Floor),
        ("sin", Self::Sin),
        ("cos", Self::Cos),
        ("exp", Self::Exp),
        ("ln", Self::Ln),
        ("sqrt", Self::Sqrt),
        ("tanh", Self::Tanh),
    ];

    /// The function of a number.
    #[inline(always)]
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Abs => Scalar::abs(x),
            Self::Floor => Scalar::floor(x),
            Self::Sin => Scalar::sin(x),
            Self::Cos => Scalar::cos(x),
            Self::Exp => Scalar::exp(x),
            Self::Ln => Scalar::ln(x),
            Self::Sqrt => Scalar::sqrt(x),
            Self::Tanh => Scalar::tanh(x),
        }
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The number with these bits.
    Constant(u64),
    /// An input by its number.
    Input(u32),
    /// -x
    Minus(Node),
    /// x + y
    Add(Node, Node),
    /// x - y
    Subtract(Node, Node),
    /// x · y
    Multiply(Node, Node),
    /// x / y
    Divide(Node, Node),
    /// A function of x.
    Call(Function, Node),
    /// The angle of the point (y, x): `atan2(y, x)`.
    Angle(Node, Node),
    /// A condition that is known.
    Holds(bool),
    /// Whether x < y.
    Less(Node, Node),
    /// Whether both conditions hold.
    Both(Node, Node),
    /// Whether a condition does not hold.
    Not(Node),
    /// The first number where a condition holds, otherwise the second.
    Select(Node, Node, Node),
}

impl Operation {
    /// Its arguments.
    pub fn arguments(mut self) -> impl Iterator<Item = Node> {
        let mut found = [None; 3];
        let mut places = found.iter_mut();
        self.each_argument(|argument| {
            if let Some(place) = places.next() {
                *place = Some(*argument);
            }
        });
        found.into_iter().flatten()
    }

    /// The operation with other arguments.
    #[must_use]
    pub fn with_arguments(mut self, with: impl Fn(Node) -> Node) -> Self {
        self.each_argument(|argument| *argument = with(*argument));
        self
    }

    fn each_argument(&mut self, mut f: impl FnMut(&mut Node)) {
        match self {
            Self::Constant(_) | Self::Input(_) | Self::Holds(_) => {}
            Self::Minus(x) | Self::Call(_, x) | Self::Not(x) => f(x),
            Self::Add(x, y)
            | Self::Subtract(x, y)
            | Self::Multiply(x, y)
            | Self::Divide(x, y)
            | Self::Less(x, y)
            | Self::Both(x, y)
            | Self::Angle(x, y) => {
                f(x);
                f(y);
            }
            Self::Select(x, y, z) => {
                f(x);
                f(y);
                f(z);
            }
        }
    }

    /// Whether it is a condition.
    pub fn is_condition(self) -> bool {
        matches!(
            self,
            Self::Holds(_) | Self::Less(..) | Self::Both(..) | Self::Not(_)
        )
    }
}

/// 1/x if it is exact, so that a product with it has the bits of a quotient.
fn exact_inverse(x: f64) -> Option<f64> {
    const DIGITS: u64 = (1 << 52) - 1;
    let inverse = 1.0 / x;
    let is_power_of_two = x.to_bits() & DIGITS == 0;
    (is_power_of_two && x.is_normal() && inverse.is_normal()).then_some(inverse)
}

/// Operations, the arguments of each before it.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Operation>,
    known: HashMap<Operation, Node>,
}

impl Graph {
    /// The operations.
    pub fn nodes(&self) -> &[Operation] {
        &self.nodes
    }

    /// The node of an operation, which is added unless it is known.
    pub fn add(&mut self, operation: Operation) -> Node {
        if let Operation::Divide(x, y) = operation
            && self.value(x).is_none()
            && let Some(inverse) = self.value(y).and_then(exact_inverse)
        {
            let inverse = self.constant(inverse);
            return self.add(Operation::Multiply(x, inverse));
        }
        let operation = match self.simpler(operation) {
            Ok(node) => return node,
            Err(operation) => operation,
        };
        *self.known.entry(operation).or_insert_with(|| {
            self.nodes.push(operation);
            self.nodes.len() as Node - 1
        })
    }

    /// A node that has the same bits as an operation, or a simpler operation that has them.
    fn simpler(&self, operation: Operation) -> Result<Node, Operation> {
        use Operation as O;
        let value = |x: Node| self.value(x);
        let both = |x, y| value(x).zip(value(y));
        let condition = |x: Node| match self.nodes[x as usize] {
            O::Holds(holds) => Some(holds),
            _ => None,
        };
        let computed = match operation {
            O::Minus(x) => value(x).map(|x| -x),
            O::Add(x, y) => both(x, y).map(|(x, y)| x + y),
            O::Subtract(x, y) => both(x, y).map(|(x, y)| x - y),
            O::Multiply(x, y) => both(x, y).map(|(x, y)| x * y),
            O::Divide(x, y) => both(x, y).map(|(x, y)| x / y),
            O::Call(function, x) => value(x).map(|x| function.of(x)),
            O::Angle(y, x) => both(y, x).map(|(y, x)| Scalar::atan2(y, x)),
            _ => None,
        };
        if let Some(x) = computed {
            return Err(O::Constant(x.to_bits()));
        }
        match operation {
            O::Minus(x) => match self.nodes[x as usize] {
                O::Minus(x) => Ok(x),
                _ => Err(operation),
            },
            O::Subtract(x, y) if value(y).is_some_and(|y| y.to_bits() == 0) => Ok(x),
            O::Multiply(x, y) if value(y) == Some(1.0) => Ok(x),
            O::Multiply(x, y) if value(x) == Some(1.0) => Ok(y),
            O::Divide(x, y) if value(y) == Some(1.0) => Ok(x),
            O::Less(x, y) => Err(both(x, y).map_or(operation, |(x, y)| O::Holds(x < y))),
            O::Both(x, y) => match (condition(x), condition(y)) {
                (Some(false), _) | (_, Some(true)) => Ok(x),
                (Some(true), _) | (_, Some(false)) => Ok(y),
                _ if x == y => Ok(x),
                _ => Err(operation),
            },
            O::Not(x) => match self.nodes[x as usize] {
                O::Not(x) => Ok(x),
                O::Holds(holds) => Err(O::Holds(!holds)),
                _ => Err(operation),
            },
            O::Select(mask, yes, no) => match condition(mask) {
                Some(true) => Ok(yes),
                Some(false) => Ok(no),
                None if yes == no => Ok(yes),
                None => Err(operation),
            },
            _ => Err(operation),
        }
    }

    /// The node of a number.
    pub fn constant(&mut self, x: f64) -> Node {
        self.add(Operation::Constant(x.to_bits()))
    }

    /// The value of a node that does not depend on inputs or functions.
    pub fn value(&self, node: Node) -> Option<f64> {
        match self.nodes[node as usize] {
            Operation::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Gives the inputs other numbers, which must differ from each other.
    pub fn renumber_inputs(&mut self, number: impl Fn(u32) -> u32) {
        self.known.clear();
        for (node, operation) in self.nodes.iter_mut().enumerate() {
            if let Operation::Input(k) = operation {
                *k = number(*k);
            }
            self.known.insert(*operation, node as Node);
        }
    }

    /// xⁿ by repeated squaring, from the lowest bit of n on.
    pub fn power(&mut self, x: Node, n: u32) -> Node {
        let (mut square, mut product, mut rest) = (x, None, n);
        while rest > 0 {
            if rest % 2 == 1 {
                product = Some(match product {
                    Some(product) => self.add(Operation::Multiply(product, square)),
                    None => square,
                });
            }
            rest /= 2;
            if rest > 0 {
                square = self.add(Operation::Multiply(square, square));
            }
        }
        product.unwrap_or_else(|| self.constant(1.0))
    }

    /// The nodes on which these depend, in ascending order, with these.
    pub fn needed(&self, outputs: &[Node]) -> Vec<Node> {
        let mut used = vec![false; self.nodes.len()];
        outputs.iter().for_each(|node| used[*node as usize] = true);
        for node in (0..self.nodes.len()).rev() {
            if used[node] {
                let arguments = self.nodes[node].arguments();
                arguments.for_each(|argument| used[argument as usize] = true);
            }
        }
        (0..self.nodes.len() as Node)
            .filter(|node| used[*node as usize])
            .collect()
    }
}
