//! Formulas of real variables: `40/2^(frame/30)`.

use trisolar_spec::formula::{FormulaParser, Terms};

/// The largest number of bytes of a formula.
const MAX_BYTES: usize = 4096;

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

/// The functions of one argument.
const UNARY: &[(&str, Unary)] = &[
    ("abs", f64::abs),
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cbrt", f64::cbrt),
    ("ceil", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("fract", f64::fract),
    ("ln", f64::ln),
    ("log", f64::ln),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("round", f64::round),
    ("signum", f64::signum),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("trunc", f64::trunc),
];

/// The functions of two arguments.
const BINARY: &[(&str, Binary)] = &[("atan2", f64::atan2), ("max", f64::max), ("min", f64::min)];

const CONSTANTS: &[(&str, f64)] = &[
    ("E", std::f64::consts::E),
    ("PI", std::f64::consts::PI),
    ("TAU", std::f64::consts::TAU),
    ("e", std::f64::consts::E),
    ("π", std::f64::consts::PI),
    ("τ", std::f64::consts::TAU),
];

/// A formula with its variables, in the notation of [`FormulaParser`], with functions and constants.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    root: Node,
    variables: Vec<String>,
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Variable(usize),
    Unary(fn(f64) -> f64, Box<Node>),
    Binary(fn(f64, f64) -> f64, Box<[Node; 2]>),
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let mut parser = FormulaParser::new(text, Variables::default());
        let root = parser.formula()?;
        match parser.peek() {
            None => Ok(Self {
                root,
                variables: parser.terms.0,
            }),
            Some(_) => Err(parser.expected("an operator")),
        }
    }

    /// The names of its variables, each once.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Its value for these values of the [`variables`](Self::variables).
    pub fn value(&self, variables: &[f64]) -> f64 {
        self.root.value(variables)
    }
}

impl Node {
    fn value(&self, variables: &[f64]) -> f64 {
        match self {
            Self::Number(x) => *x,
            Self::Variable(number) => variables[*number],
            Self::Unary(f, x) => f(x.value(variables)),
            Self::Binary(f, arguments) => {
                let [x, y] = &**arguments;
                f(x.value(variables), y.value(variables))
            }
        }
    }
}

/// The variables of a formula, in the order in which it names them first.
#[derive(Debug, Default)]
struct Variables(Vec<String>);

/// The entry of a table with this name.
fn entry<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, entry)| *entry)
}

impl Terms for Variables {
    type Term = Node;

    fn number(&mut self, x: f64) -> Node {
        Node::Number(x)
    }

    fn named(&mut self, name: &str) -> Result<Node, String> {
        if let Some(value) = entry(CONSTANTS, name) {
            return Ok(Node::Number(value));
        }
        let known = self.0.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        Ok(Node::Variable(number))
    }

    fn arguments(&self, function: &str) -> Option<usize> {
        let unary = entry(UNARY, function).map(|_| 1);
        unary.or_else(|| entry(BINARY, function).map(|_| 2))
    }

    fn call(&mut self, function: &str, arguments: Vec<Node>) -> Result<Node, String> {
        if let (Some(f), [x]) = (entry(UNARY, function), &arguments[..]) {
            return Ok(Node::Unary(f, Box::new(x.clone())));
        }
        let f = entry(BINARY, function).zip(arguments.try_into().ok());
        let (f, pair): (Binary, [Node; 2]) = f.ok_or("there is no such function")?;
        Ok(Node::Binary(f, Box::new(pair)))
    }

    fn minus(&mut self, x: Node) -> Node {
        Node::Unary(|x| -x, Box::new(x))
    }

    fn operation(&mut self, operator: char, x: Node, y: Node) -> Result<Node, String> {
        let f: Binary = match operator {
            '+' => |x, y| x + y,
            '-' => |x, y| x - y,
            '*' => |x, y| x * y,
            '/' => |x, y| x / y,
            _ => f64::powf,
        };
        Ok(Node::Binary(f, Box::new([x, y])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_spec::formula::MAX_DEPTH;

    fn value(text: &str) -> f64 {
        let formula = Formula::parse(text).expect(text);
        let values: Vec<f64> = (formula.variables().iter())
            .map(|name| name.len() as f64)
            .collect();
        formula.value(&values)
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, expected) in [
            ("1 + 2*3", 7.0),
            ("(1 + 2)*3", 9.0),
            ("2*3^2", 18.0),
            ("8/4/2", 1.0),
            ("8-4-2", 2.0),
            ("2-3+4", 3.0),
            ("2^-1", 0.5),
            ("-(2^2)", -4.0),
            ("(-2)^2", 4.0),
            ("3--2", 5.0),
            ("3*-2", -6.0),
            ("1e3 + 1.5E-1 + .5 + 2.", 1002.65),
            ("sqrt(16) + ln(e) + cos(2*PI)", 6.0),
            ("min(3, max(1, 2)) + atan2(0, 1)", 2.0),
            ("abs(-2) + floor(2.5) + ceil(2.5)", 7.0),
            ("abc + de*abc", 9.0),
            (" 2 ", 2.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, message) in [
            ("", "expected a number, a name or a parenthesis at the end"),
            (
                "2 +",
                "expected a number, a name or a parenthesis at the end",
            ),
            ("(2", "expected ) at the end"),
            ("2)", "expected an operator instead of ')' at character 2"),
            ("π 2", "expected an operator instead of '2' at character 3"),
            ("2x", "expected an operator instead of 'x' at character 2"),
            ("2e", "expected an operator instead of 'e' at character 2"),
            (".", "expected a number instead of '.' at character 1"),
            (
                "1.2.3",
                "expected an operator instead of '.' at character 4",
            ),
            ("sin 2", "expected ( instead of '2' at character 5"),
            ("min(2)", "expected a comma instead of ')' at character 6"),
            ("sin(2, 3)", "expected ) instead of ',' at character 6"),
            (
                "2^3^2",
                "x^y^z can mean (x^y)^z or x^(y^z); write the parentheses",
            ),
            (
                "-2^2",
                "-x^y can mean -(x^y) or (-x)^y; write the parentheses",
            ),
            (
                "2 § 3",
                "expected an operator instead of '§' at character 3",
            ),
        ] {
            assert_eq!(Formula::parse(text).unwrap_err(), message, "{text}");
        }
        let nested = |depth| "(".repeat(depth) + "1" + &")".repeat(depth);
        assert_eq!(value(&nested(MAX_DEPTH)), 1.0);
        assert!(Formula::parse(&nested(MAX_DEPTH + 1)).is_err());
        let long = |part: &str| part.repeat(MAX_BYTES / part.len() - 1) + "1";
        assert_eq!(value(&long("1+")), (MAX_BYTES / 2) as f64);
        assert_eq!(value(&long("-")), -1.0);
        assert!(Formula::parse(&long("1+").repeat(2)).is_err());
    }
}
