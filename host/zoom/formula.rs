//! Formulas of real variables: `40/2^(frame/30)`.

/// Limits, so that no formula exhausts the stack: levels of parentheses, and bytes.
const MAX_DEPTH: usize = 100;
const MAX_BYTES: usize = 4096;

/// The functions of one argument.
const UNARY: &[(&str, fn(f64) -> f64)] = &[
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
const BINARY: &[(&str, fn(f64, f64) -> f64)] =
    &[("atan2", f64::atan2), ("max", f64::max), ("min", f64::min)];

const CONSTANTS: &[(&str, f64)] = &[
    ("E", std::f64::consts::E),
    ("PI", std::f64::consts::PI),
    ("TAU", std::f64::consts::TAU),
    ("e", std::f64::consts::E),
    ("π", std::f64::consts::PI),
    ("τ", std::f64::consts::TAU),
];

/// A formula with its variables.
///
/// Numbers, variables, `+ - * / ^`, parentheses, functions and constants. `^` binds more tightly than `*` and `/`, and these more tightly
/// than `+` and `-`. Programs disagree on `-x^2` and `x^y^z`, which are refused: parentheses say what is meant.
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
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            variables: Vec::new(),
        };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Self {
                root,
                variables: parser.variables,
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

    fn binary(f: fn(f64, f64) -> f64, x: Self, y: Self) -> Self {
        Self::Binary(f, Box::new([x, y]))
    }
}

/// A parser by recursive descent.
struct Parser<'a> {
    text: &'a str,
    /// Bytes read.
    at: usize,
    depth: usize,
    variables: Vec<String>,
}

impl Parser<'_> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Reads one of these characters if it is the next.
    fn take(&mut self, wanted: &str) -> Option<char> {
        let next = self.peek().filter(|c| wanted.contains(*c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn expected(&mut self, what: &str) -> String {
        match self.peek() {
            Some(next) => {
                let before = self.text[..self.at].chars().count();
                format!(
                    "expected {what} instead of '{next}' at character {}",
                    before + 1
                )
            }
            None => format!("expected {what} at the end"),
        }
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut x = self.product()?;
        while let Some(operator) = self.take("+-") {
            let f = if operator == '+' {
                |x, y| x + y
            } else {
                |x: f64, y: f64| x - y
            };
            x = Node::binary(f, x, self.product()?);
        }
        Ok(x)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut x = self.signed()?;
        while let Some(operator) = self.take("*/") {
            let f = if operator == '*' {
                |x, y| x * y
            } else {
                |x: f64, y: f64| x / y
            };
            x = Node::binary(f, x, self.signed()?);
        }
        Ok(x)
    }

    /// A power with any number of signs.
    fn signed(&mut self) -> Result<Node, String> {
        let mut signs = 0;
        let mut negative = false;
        while let Some(sign) = self.take("+-") {
            negative ^= sign == '-';
            signs += 1;
        }
        let base = self.atom()?;
        let power = self.power(base, signs > 0)?;
        Ok(if negative {
            Node::Unary(|x| -x, Box::new(power))
        } else {
            power
        })
    }

    fn power(&mut self, base: Node, has_sign: bool) -> Result<Node, String> {
        if self.take("^").is_none() {
            return Ok(base);
        }
        if has_sign {
            return Err("-x^y can mean -(x^y) or (-x)^y; write the parentheses".into());
        }
        let negative = self.take("+-").map(|sign| sign == '-');
        let exponent = self.atom()?;
        if self.peek() == Some('^') {
            return Err("x^y^z can mean (x^y)^z or x^(y^z); write the parentheses".into());
        }
        let exponent = match negative {
            Some(true) => Node::Unary(|x| -x, Box::new(exponent)),
            _ => exponent,
        };
        Ok(Node::binary(f64::powf, base, exponent))
    }

    fn atom(&mut self) -> Result<Node, String> {
        match self.peek() {
            Some('(') => {
                let [x] = self.arguments()?;
                Ok(x)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.named(),
            _ => Err(self.expected("a number, a name or a parenthesis")),
        }
    }

    /// So many formulas in parentheses, separated by commas.
    fn arguments<const N: usize>(&mut self) -> Result<[Node; N], String> {
        if self.take("(").is_none() {
            return Err(self.expected("("));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} parentheses in each other"));
        }
        let mut arguments = Vec::with_capacity(N);
        for number in 0..N {
            if number > 0 && self.take(",").is_none() {
                return Err(self.expected("a comma"));
            }
            arguments.push(self.sum()?);
        }
        if self.take(")").is_none() {
            return Err(self.expected(")"));
        }
        self.depth -= 1;
        Ok(arguments.try_into().expect("so many were read"))
    }

    fn number(&mut self) -> Result<Node, String> {
        let rest = &self.text[self.at..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(rest);
        if rest[length..].starts_with('.') {
            length += 1;
            length += digits(&rest[length..]);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[length + 1 + sign..]);
            // Without digits it is a name, which cannot follow a number.
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        let number = rest[..length].parse();
        let number = number.map_err(|_| self.expected("a number"))?;
        self.at += length;
        Ok(Node::Number(number))
    }

    fn named(&mut self) -> Result<Node, String> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += name.len();
        if let Some((_, f)) = UNARY.iter().find(|(known, _)| *known == name) {
            let [x] = self.arguments()?;
            return Ok(Node::Unary(*f, Box::new(x)));
        }
        if let Some((_, f)) = BINARY.iter().find(|(known, _)| *known == name) {
            let [x, y] = self.arguments()?;
            return Ok(Node::binary(*f, x, y));
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return Ok(Node::Number(*value));
        }
        let known = self.variables.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        });
        Ok(Node::Variable(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
