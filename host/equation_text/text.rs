//! Reads equations.
//!
//! Equations are separated by `;` or line breaks. `x' = …` is the rate of change of x, or its next value in an iterated map; `r2 = …` names
//! a part, for the equations below it; `left: x < -40` is an outcome, which ends an item. Formulas have the notation of all others
//! ([`FormulaParser`]), with integer and half-integer powers.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use trisolar_spec::formula::{FormulaParser, Terms};

use super::graph::{Function, Graph, Node, Operation};

/// The largest number of bytes of a text.
pub const MAX_BYTES: usize = 1 << 16;
/// The largest number of equations.
pub const MAX_STATE: usize = 32;
/// The largest number of operations.
const MAX_OPERATIONS: usize = 10_000;
/// The largest power.
const MAX_POWER: f64 = 64.0;
/// The name of the time.
const TIME: &str = "t";
/// The name of π.
const PI: &str = "pi";

/// A function that is made of operations of a graph.
type Made = fn(&mut Graph, &[Node]) -> Node;

/// The functions that are made of others, with their numbers of arguments.
const MADE: [(&str, usize, Made); 8] = [
    ("atan2", 2, |graph, x| {
        graph.add(Operation::Angle(x[0], x[1]))
    }),
    ("atan", 1, |graph, x| {
        let one = graph.constant(1.0);
        graph.add(Operation::Angle(x[0], one))
    }),
    ("tan", 1, |graph, x| {
        let [sine, cosine] =
            [Function::Sin, Function::Cos].map(|f| graph.add(Operation::Call(f, x[0])));
        graph.add(Operation::Divide(sine, cosine))
    }),
    ("cosh", 1, |graph, x| {
        mean_of_exponentials(graph, x[0], Operation::Add)
    }),
    ("sinh", 1, |graph, x| {
        mean_of_exponentials(graph, x[0], Operation::Subtract)
    }),
    ("sign", 1, |graph, x| {
        let [zero, one, opposite] = [0.0, 1.0, -1.0].map(|x| graph.constant(x));
        let [below, above] =
            [(x[0], zero), (zero, x[0])].map(|(x, y)| graph.add(Operation::Less(x, y)));
        let sign = graph.add(Operation::Select(above, one, x[0]));
        graph.add(Operation::Select(below, opposite, sign))
    }),
    ("max", 2, |graph, x| {
        let less = graph.add(Operation::Less(x[1], x[0]));
        graph.add(Operation::Select(less, x[0], x[1]))
    }),
    ("min", 2, |graph, x| {
        let less = graph.add(Operation::Less(x[0], x[1]));
        graph.add(Operation::Select(less, x[0], x[1]))
    }),
];

/// Half the sum or the difference of exp(x) and exp(-x).
fn mean_of_exponentials(graph: &mut Graph, x: Node, of: fn(Node, Node) -> Operation) -> Node {
    let opposite = graph.add(Operation::Minus(x));
    let [grows, falls] = [x, opposite].map(|x| graph.add(Operation::Call(Function::Exp, x)));
    let both = graph.add(of(grows, falls));
    let half = graph.constant(0.5);
    graph.add(Operation::Multiply(both, half))
}

/// The names of all functions.
pub fn functions() -> impl Iterator<Item = &'static str> {
    let made = MADE.iter().map(|(name, _, _)| *name);
    Function::ALL.iter().map(|(name, _)| *name).chain(made)
}

/// Why a text is not a system of equations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError(String);

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

/// Equations as a graph. Its inputs are the state, then the parameters, then the time.
#[derive(Clone, Debug)]
pub struct Equations {
    /// The operations.
    pub graph: Graph,
    /// The names of the state, in the order of the equations.
    pub state: Vec<String>,
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The rate of change, or the next value, of each number of the state.
    pub rates: Vec<Node>,
    /// The names of the outcomes, each with a number that is above 0 where it is reached.
    pub outcomes: Vec<(String, Node)>,
    /// Whether the time occurs.
    pub has_time: bool,
    /// Whether each number of the state is a momentum, if the equations are in two groups, each of which changes by the other alone. Then the
    /// others are coordinates; the first of the numbers that belong together is one.
    pub momenta: Option<Vec<bool>>,
}

impl Equations {
    /// Reads equations with parameters of these names.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(text: &str, parameters: &[&str]) -> Result<Self, TextError> {
        read(text, parameters).map_err(TextError)
    }
}

/// What a line of a text gives a name to.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Rate,
    Part,
    Outcome,
}

impl Line {
    /// What stands behind the name.
    fn mark(self) -> &'static str {
        match self {
            Self::Rate => "'",
            Self::Part => "",
            Self::Outcome => ":",
        }
    }
}

/// An equation of a text: its name, and where that and the formula begin and the formula ends.
struct Equation<'a> {
    name: &'a str,
    line: Line,
    at: usize,
    formula: Range<usize>,
}

/// The equations of a text, whose formulas are not read.
fn equations(text: &str) -> Result<Vec<Equation<'_>>, String> {
    let mut found = Vec::new();
    let mut end = 0;
    for piece in text.split_inclusive([';', '\n']) {
        let start = end;
        end += piece.len();
        let formula_end = start + piece.trim_end_matches([';', '\n']).len();
        let mut parser = FormulaParser::of_part(text, start..formula_end, Names::default());
        if parser.peek().is_none() {
            continue;
        }
        let at = parser.position();
        let Some(name) = parser.word() else {
            return Err(parser.expected("the name of a variable, as in x' = ..."));
        };
        let line = match parser.take("'′:=") {
            Some('=') => Line::Part,
            Some(':') => Line::Outcome,
            Some(_) => match parser.take("=") {
                Some(_) => Line::Rate,
                None if parser.take("'′").is_some() => {
                    let first = "a second derivative is the rate of another variable";
                    return Err(format!("{first}: {name}' = v; v' = ..."));
                }
                None => return Err(parser.expected("=")),
            },
            None => {
                let refused = parser.expected("', = or :");
                // dx/dt = ...
                return Err(match name.strip_prefix('d').filter(|x| !x.is_empty()) {
                    Some(x) if parser.take("/").is_some() => format!("{refused}: write {x}' = ..."),
                    _ => refused,
                });
            }
        };
        found.push(Equation {
            name,
            line,
            at,
            formula: parser.position()..formula_end,
        });
    }
    Ok(found)
}

fn read(text: &str, parameters: &[&str]) -> Result<Equations, String> {
    if text.len() > MAX_BYTES {
        let bytes = text.len();
        return Err(format!(
            "the text has {bytes} bytes, and at most {MAX_BYTES} are allowed"
        ));
    }
    if text.contains("**") {
        return Err("powers are written ^, not **".into());
    }
    let equations = equations(text)?;
    let mut known: Vec<&str> = Vec::new();
    for Equation { name, line, at, .. } in &equations {
        let place = format!("at character {}", text[..*at].chars().count() + 1);
        if is_reserved(name) {
            let reason = "has a meaning of its own and cannot be the name of a variable";
            return Err(format!("{name} {reason} ({place})"));
        }
        if parameters.contains(name) {
            return Err(format!(
                "{name} is a parameter and cannot be a variable ({place})"
            ));
        }
        if known.contains(name) {
            return Err(format!(
                "{name}{} is given twice (again {place})",
                line.mark()
            ));
        }
        known.push(name);
    }
    if let Some(name) = parameters.iter().find(|name| is_reserved(name)) {
        return Err(format!("{name} cannot be the name of a parameter"));
    }
    let state = equations
        .iter()
        .filter(|equation| equation.line == Line::Rate);
    let state: Vec<String> = state.map(|equation| equation.name.to_owned()).collect();
    if state.is_empty() {
        return Err("there is no equation of the form x' = ...".into());
    }
    if state.len() > MAX_STATE {
        let count = state.len();
        return Err(format!(
            "there are {count} equations, and at most {MAX_STATE} are allowed"
        ));
    }
    let parameters: Vec<String> = parameters.iter().map(|name| (*name).to_owned()).collect();
    let mut names = Names::default();
    for name in state
        .iter()
        .chain(&parameters)
        .cloned()
        .chain([TIME.into()])
    {
        let node = names.graph.add(Operation::Input(names.known.len() as u32));
        names.known.push((name, node));
    }
    let (mut rates, mut outcomes) = (Vec::new(), Vec::new());
    for Equation {
        name,
        line,
        formula,
        ..
    } in equations
    {
        let mut parser = FormulaParser::of_part(text, formula, names);
        let read = match line {
            Line::Outcome => condition(&mut parser),
            _ => parser.formula(),
        };
        let node = read.and_then(|node| match parser.peek() {
            None => Ok(node),
            Some(_) => Err(parser.expected("an operator, ; or a new line")),
        });
        let node = node.map_err(|reason| match line {
            Line::Rate => format!("{name}': {reason}"),
            _ => format!("{name}: {reason}"),
        })?;
        names = parser.terms;
        match line {
            Line::Rate => rates.push(node),
            Line::Part => names.known.push((name.to_owned(), node)),
            Line::Outcome => outcomes.push((name.to_owned(), node)),
        }
        if names.graph.nodes().len() > MAX_OPERATIONS {
            return Err(format!(
                "the equations have more than {MAX_OPERATIONS} operations"
            ));
        }
    }
    let time = (state.len() + parameters.len()) as u32;
    let is_time = |node: &Node| names.graph.nodes()[*node as usize] == Operation::Input(time);
    for (name, node) in &outcomes {
        if names.graph.needed(&[*node]).iter().any(is_time) {
            return Err(format!("{name}: an outcome must not depend on the time"));
        }
    }
    if let Some(name) = parameters.iter().find(|name| !names.used.contains(*name)) {
        return Err(match names.nearest(name) {
            Some(other) => format!("{name} does not occur in the equations: did you mean {other}?"),
            None => format!("{name} does not occur in the equations"),
        });
    }
    let needed = names.graph.needed(&rates);
    let has_time = needed.iter().any(is_time);
    let momenta = momenta(&names.graph, &rates).filter(|_| !has_time);
    Ok(Equations {
        outcomes,
        has_time,
        momenta,
        graph: names.graph,
        state,
        parameters,
        rates,
    })
}

/// Which numbers of a state are momenta, if each rate depends on numbers of the other group alone and there are two groups.
fn momenta(graph: &Graph, rates: &[Node]) -> Option<Vec<bool>> {
    let count = rates.len();
    let mut related = vec![vec![false; count]; count];
    for (of, rate) in rates.iter().enumerate() {
        for node in graph.needed(&[*rate]) {
            if let Operation::Input(by) = graph.nodes()[node as usize]
                && (by as usize) < count
            {
                related[of][by as usize] = true;
                related[by as usize][of] = true;
            }
        }
    }
    let mut found: Vec<Option<bool>> = vec![None; count];
    for first in 0..count {
        if found[first].is_some() {
            continue;
        }
        found[first] = Some(false);
        let mut open = vec![first];
        while let Some(one) = open.pop() {
            for other in (0..count).filter(|other| related[one][*other]) {
                if found[other] == found[one] {
                    return None;
                }
                if found[other].is_none() {
                    found[other] = found[one].map(|momentum| !momentum);
                    open.push(other);
                }
            }
        }
    }
    let found: Vec<bool> = found.into_iter().flatten().collect();
    found.contains(&true).then_some(found)
}

/// A number that is above 0 where one formula is less than another.
fn condition(parser: &mut FormulaParser<'_, Names>) -> Result<Node, String> {
    let left = parser.formula()?;
    let Some(sign) = parser.take("<>") else {
        return Err(parser.expected("< or >"));
    };
    let right = parser.formula()?;
    let (less, more) = if sign == '<' {
        (left, right)
    } else {
        (right, left)
    };
    Ok(parser.terms.graph.add(Operation::Subtract(more, less)))
}

fn is_reserved(name: &str) -> bool {
    [TIME, PI].contains(&name) || functions().any(|function| function == name)
}

/// The names that a formula may use, with the graph that is made of it.
#[derive(Debug, Default)]
struct Names {
    graph: Graph,
    known: Vec<(String, Node)>,
    /// The names that formulas have.
    used: BTreeSet<String>,
}

impl Names {
    /// The other name that is most like a name.
    fn nearest(&self, name: &str) -> Option<&str> {
        let mut all: Vec<&str> = self.known.iter().map(|(known, _)| &**known).collect();
        all.extend(functions().chain([PI]).map(|known| -> &str { known }));
        let distance = |known: &&str| strsim::osa_distance(name, known);
        all.retain(|known| *known != name);
        let nearest = all.into_iter().min_by_key(distance);
        nearest.filter(|known| distance(known) <= 2 && distance(known) < name.chars().count())
    }

    /// The refusal of an unknown name.
    fn unknown(&self, name: &str) -> String {
        match (name, self.nearest(name)) {
            ("log", _) => "there is no log: the natural logarithm is ln".into(),
            ("pow", _) => "there is no pow: powers are written x^3".into(),
            (_, Some(known)) => format!("there is no {name}: did you mean {known}?"),
            _ => format!("there is no {name}: parameters need values"),
        }
    }
}

impl Terms for Names {
    type Term = Node;

    fn number(&mut self, x: f64) -> Node {
        self.graph.constant(x)
    }

    fn named(&mut self, name: &str) -> Result<Node, String> {
        if name == PI {
            return Ok(self.graph.constant(std::f64::consts::PI));
        }
        self.used.insert(name.to_owned());
        let known = self.known.iter().find(|(known, _)| known == name);
        known
            .map(|(_, node)| *node)
            .ok_or_else(|| self.unknown(name))
    }

    fn arguments(&self, function: &str) -> Option<usize> {
        let made = MADE.iter().find(|(name, ..)| *name == function);
        let one = Function::ALL.iter().any(|(name, _)| *name == function);
        made.map(|(_, count, _)| *count).or(one.then_some(1))
    }

    fn call(&mut self, function: &str, arguments: Vec<Node>) -> Result<Node, String> {
        if let Some((_, function)) = Function::ALL.iter().find(|(name, _)| *name == function) {
            return Ok(self.graph.add(Operation::Call(*function, arguments[0])));
        }
        let made = MADE.iter().find(|(name, ..)| *name == function);
        let (_, _, make) = made.ok_or_else(|| self.unknown(function))?;
        Ok(make(&mut self.graph, &arguments))
    }

    fn minus(&mut self, x: Node) -> Node {
        self.graph.add(Operation::Minus(x))
    }

    fn operation(&mut self, operator: char, x: Node, y: Node) -> Result<Node, String> {
        let operation = match operator {
            '+' => Operation::Add(x, y),
            '-' => Operation::Subtract(x, y),
            '*' => Operation::Multiply(x, y),
            '/' => Operation::Divide(x, y),
            _ => return self.power(x, y),
        };
        Ok(self.graph.add(operation))
    }
}

impl Names {
    /// An integer or half-integer power.
    fn power(&mut self, x: Node, exponent: Node) -> Result<Node, String> {
        let halves = self.graph.value(exponent).map(|n| 2.0 * n);
        let fits = |n: &f64| n.fract() == 0.0 && n.abs() <= 2.0 * MAX_POWER;
        let Some(halves) = halves.filter(fits) else {
            return Err(format!(
                "powers must be whole or half-integer numbers up to {MAX_POWER}; exp(y*ln(x)) is any other power"
            ));
        };
        let twice = halves.abs() as u32;
        let mut power = self.graph.power(x, twice / 2);
        if twice % 2 == 1 {
            let root = self.graph.add(Operation::Call(Function::Sqrt, x));
            power = match twice {
                1 => root,
                _ => self.graph.add(Operation::Multiply(power, root)),
            };
        }
        if halves < 0.0 {
            let one = self.graph.constant(1.0);
            power = self.graph.add(Operation::Divide(one, power));
        }
        Ok(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LORENZ: &str = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z";

    #[test]
    fn equal_parts_are_one_operation() {
        let found = Equations::parse(LORENZ, &["s", "r", "b"]).unwrap();
        assert_eq!(found.state, ["x", "y", "z"]);
        // Seven inputs, of which the time is not used, and eight operations.
        assert_eq!(found.graph.needed(&found.rates).len(), 6 + 8);
        assert!(!found.has_time);
        let text =
            "r3 = (x^2 + y^2)^1.5\nx' = u\ny' = v\nu' = -x/r3\nv' = -y/(x^2 + y^2)^1.5 + 0*t";
        let found = Equations::parse(text, &[]).unwrap();
        assert!(found.has_time);
        // x, y, u, v, t; two squares and their sum, its root and 3/2 power, two opposites, quotients; 0, 0 t and a sum.
        assert_eq!(found.graph.needed(&found.rates).len(), 5 + 5 + 4 + 3);
    }

    #[test]
    fn equations_of_two_groups_have_momenta() {
        let momenta = |text| Equations::parse(text, &[]).unwrap().momenta;
        let found = |text| momenta(text).map(|all| all.iter().map(|m| u8::from(*m)).collect());
        assert_eq!(found("x'=u; y'=v; u'=-x; v'=-y-x"), Some(vec![0, 0, 1, 1]));
        assert_eq!(found("u'=2*x^2; x'=u; z'=1"), Some(vec![0, 1, 0]));
        for text in [
            "x'=u; u'=-x-u",
            "x'=u; u'=-x+cos(t)",
            "x'=1; y'=2",
            "x'=y; y'=z; z'=x",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, words) in [
            ("", "no equation of the form x' = ..."),
            ("a = 1", "no equation of the form x' = ..."),
            (
                "x' = ",
                "x': expected a number, a name or a parenthesis at the end",
            ),
            ("x' = (1; y' = 2", "x': expected ) at the end"),
            ("x' = 1; x' = 2", "x' is given twice (again at character 9)"),
            ("x' = 1; x = 2", "x is given twice (again at character 9)"),
            (
                "x' = yy; y' = 1",
                "x': there is no yy: did you mean y? (at character 6)",
            ),
            ("x' = sinn*2", "there is no sinn: did you mean sin?"),
            ("x' = log(x)", "the natural logarithm is ln"),
            (
                "x' = omega",
                "there is no omega: parameters need values (at character 6)",
            ),
            ("x' = y; y = 1", "there is no y"),
            (
                "x' = 2 x",
                "expected an operator, ; or a new line instead of 'x' at character 8",
            ),
            (
                "x = 1; 2' = x",
                "expected the name of a variable, as in x' = ... instead of '2' at character 8",
            ),
            ("x 2", "expected ', = or : instead of '2' at character 3"),
            ("x' 2", "expected = instead of '2' at character 4"),
            (
                "x'' = -x",
                "a second derivative is the rate of another variable: x' = v; v' = ...",
            ),
            (
                "dx/dt = y",
                "expected ', = or : instead of '/' at character 3: write x' = ...",
            ),
            ("x' = y**2", "powers are written ^, not **"),
            (
                "x' = pow(x, 2)",
                "x': there is no pow: powers are written x^3 (at character 6)",
            ),
            ("t' = 1", "t has a meaning of its own"),
            ("sin' = 1", "sin has a meaning of its own"),
            ("r' = 1", "r is a parameter"),
            ("x' = x^1.3", "powers must be whole or half-integer"),
            ("x' = x^x", "powers must be whole or half-integer"),
            ("x' = -x^2", "write the parentheses"),
            ("x' = atan2(x)", "expected a comma"),
            ("x' = 1; a: x", "a: expected < or > at the end"),
            (
                "x' = 1; a: t < 1",
                "a: an outcome must not depend on the time",
            ),
            (
                "x' = 1; x: x < 1",
                "x: is given twice (again at character 9)",
            ),
        ] {
            let said = Equations::parse(text, &["r"]).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
        let many: String = (0..33).map(|i| format!("x{i}' = 1;")).collect();
        let said = Equations::parse(&many, &[]).unwrap_err().to_string();
        assert!(said.contains("33 equations, and at most 32"), "{said}");
        let said = Equations::parse(&"x' = 1;".repeat(1 << 18), &[]).unwrap_err();
        assert!(said.to_string().contains("at most 65536"), "{said}");
        let deep = format!("x' = {}1{}", "(".repeat(30_000), ")".repeat(30_000));
        let said = Equations::parse(&deep, &[]).unwrap_err().to_string();
        assert!(said.contains("more than 100 parentheses"), "{said}");
        let long: String = (0..12_000).map(|i| format!("+{i}")).collect();
        assert!(Equations::parse(&format!("x' = x{long}"), &[]).is_err());
    }
}
