//! The notation of formulas, such as `40/2^(frame/30)`, of all options and texts.

use core::ops::Range;

/// Levels of parentheses in each other, so that no formula exhausts the stack.
pub const MAX_DEPTH: usize = 100;

/// What the parts of a formula become: numbers, or the operations of a program.
pub trait Terms {
    /// A part.
    type Term;

    /// A number.
    fn number(&mut self, x: f64) -> Self::Term;

    /// A name without parentheses behind it.
    ///
    /// # Errors
    /// Why there is no such name.
    fn named(&mut self, name: &str) -> Result<Self::Term, String>;

    /// The number of arguments of a function; `None` if there is no function of this name.
    fn arguments(&self, function: &str) -> Option<usize>;

    /// A function of its arguments.
    ///
    /// # Errors
    /// Why these arguments are not allowed.
    fn call(&mut self, function: &str, arguments: Vec<Self::Term>) -> Result<Self::Term, String>;

    /// The opposite of a term.
    fn minus(&mut self, x: Self::Term) -> Self::Term;

    /// One of `+ - * / ^` between two terms.
    ///
    /// # Errors
    /// Why these terms are not allowed.
    fn operation(
        &mut self,
        operator: char,
        x: Self::Term,
        y: Self::Term,
    ) -> Result<Self::Term, String>;
}

/// A parser by recursive descent.
///
/// It reads numbers, names, `+ - * / ^`, parentheses and functions. `^` binds more tightly than `*` and `/`, and these more tightly
/// than `+` and `-`. Programs disagree on `-x^2` and `x^y^z`, which are refused: parentheses say what is meant.
#[derive(Debug)]
pub struct FormulaParser<'a, T> {
    text: &'a str,
    /// Bytes read.
    at: usize,
    depth: usize,
    /// What the parts become.
    pub terms: T,
}

impl<'a, T: Terms> FormulaParser<'a, T> {
    /// A parser at the beginning of a text.
    pub fn new(text: &'a str, terms: T) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            terms,
        }
    }

    /// A parser of a part of a text, whose messages count characters from the start of the text.
    pub fn of_part(text: &'a str, part: Range<usize>, terms: T) -> Self {
        Self {
            at: part.start,
            ..Self::new(&text[..part.end], terms)
        }
    }

    /// The next character that is no space.
    pub fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Reads one of these characters if it is the next.
    pub fn take(&mut self, wanted: &str) -> Option<char> {
        let next = self.peek().filter(|c| wanted.contains(*c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Reads a name if one is next: letters, digits and `_`, and no digit first.
    pub fn word(&mut self) -> Option<&'a str> {
        self.peek().filter(|c| c.is_alphabetic() || *c == '_')?;
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += name.len();
        Some(name)
    }

    /// The number of bytes that have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The number of the character at a position, counted from 1.
    pub fn character(&self, position: usize) -> usize {
        self.text[..position].chars().count() + 1
    }

    /// The refusal of what comes next.
    pub fn expected(&mut self, what: &str) -> String {
        match self.peek() {
            Some(next) => {
                let at = self.character(self.at);
                format!("expected {what} instead of '{next}' at character {at}")
            }
            None => format!("expected {what} at the end"),
        }
    }

    /// Reads a formula, up to what cannot be a part of it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn formula(&mut self) -> Result<T::Term, String> {
        let mut x = self.product()?;
        while let Some(operator) = self.take("+-") {
            let y = self.product()?;
            x = self.operation(operator, x, y)?;
        }
        Ok(x)
    }

    fn product(&mut self) -> Result<T::Term, String> {
        let mut x = self.signed()?;
        while let Some(operator) = self.take("*/") {
            let y = self.signed()?;
            x = self.operation(operator, x, y)?;
        }
        Ok(x)
    }

    fn operation(&mut self, operator: char, x: T::Term, y: T::Term) -> Result<T::Term, String> {
        let before = self.character(self.at) - 1;
        let made = self.terms.operation(operator, x, y);
        made.map_err(|reason| format!("{reason} (up to character {before})"))
    }

    /// A power with any number of signs.
    fn signed(&mut self) -> Result<T::Term, String> {
        let mut signs = 0;
        let mut negative = false;
        while let Some(sign) = self.take("+-") {
            negative ^= sign == '-';
            signs += 1;
        }
        let base = self.atom()?;
        let power = self.power(base, signs > 0)?;
        Ok(if negative {
            self.terms.minus(power)
        } else {
            power
        })
    }

    fn power(&mut self, base: T::Term, has_sign: bool) -> Result<T::Term, String> {
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
            Some(true) => self.terms.minus(exponent),
            _ => exponent,
        };
        self.operation('^', base, exponent)
    }

    fn atom(&mut self) -> Result<T::Term, String> {
        match self.peek() {
            Some('(') => {
                let mut one = self.arguments(1)?;
                Ok(one.remove(0))
            }
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let number = self.number()?;
                Ok(self.terms.number(number))
            }
            _ => {
                let position = self.at;
                let Some(name) = self.word() else {
                    return Err(self.expected("a number, a name or a parenthesis"));
                };
                self.name(name, position)
            }
        }
    }

    fn name(&mut self, name: &str, position: usize) -> Result<T::Term, String> {
        let made = match self.terms.arguments(name) {
            Some(count) => {
                let arguments = self.arguments(count)?;
                self.terms.call(name, arguments)
            }
            None => self.terms.named(name),
        };
        made.map_err(|reason| format!("{reason} (at character {})", self.character(position)))
    }

    /// So many formulas in parentheses, separated by commas.
    fn arguments(&mut self, count: usize) -> Result<Vec<T::Term>, String> {
        if self.take("(").is_none() {
            return Err(self.expected("("));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} parentheses in each other"));
        }
        let mut arguments = Vec::with_capacity(count);
        for number in 0..count {
            if number > 0 && self.take(",").is_none() {
                return Err(self.expected("a comma"));
            }
            arguments.push(self.formula()?);
        }
        if self.take(")").is_none() {
            return Err(self.expected(")"));
        }
        self.depth -= 1;
        Ok(arguments)
    }

    fn number(&mut self) -> Result<f64, String> {
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
        Ok(number)
    }
}
