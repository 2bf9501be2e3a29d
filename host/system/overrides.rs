//! The values that a user gives, under the names of the command line, and the specification that they make.

use trisolar_equations::Method;
use trisolar_spec::{
    Choice, OneOrTwo, SpecError, each_once, one_or_more, optional_whole, parameters, read,
};

use crate::spec::name_of;
use crate::{Equations, Specification, Validated};

parameters! {
    /// Values of a [`Specification`], all of them optional.
    pub struct Overrides {
        "Equations" {
            /// Differential equations, such as "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z", separated by ; or line breaks. name = ... stands for a
            /// part, and name: x < 3 is an outcome
            ode: Option<String> = "TEXT" => read::parsed, where { conflicts: &["iterate"] };
            /// An iterated map, such as "x'=1-a*x^2+y; y'=b*x"
            iterate: Option<String> = "TEXT" => read::parsed;
        }
        "Items" {
            /// Parameters and start values that all items have; a number may be a fraction, such as beta=8/3
            #[serde(deserialize_with = "one_or_more")]
            set: Vec<String> = "NAME=NUMBER,..." => read::parsed, where { separator: Some(',') };
            /// Compute a map over two parameters or start values (columns, then rows) or one
            #[serde(deserialize_with = "one_or_more")]
            map: Vec<String> = "X=LOW:HIGH,Y=LOW:HIGH" => read::parsed, where { separator: Some(',') };
            /// Pixels of the map: W or WxH
            size: Option<OneOrTwo<u64>> = "W[xH]" => read::size,
                default "300; 100 for two axes of differential equations as text";
            /// Draw a parameter or a start value in each item: uniform, as in x=uniform:0:1
            #[serde(deserialize_with = "one_or_more")]
            draw: Vec<String> = "NAME=LAW:LOW:HIGH,..." => read::parsed, where { separator: Some(',') };
            /// Number of items, if they are not a map
            #[serde(deserialize_with = "optional_whole")]
            n: Option<u64> = "N" => |text| read::whole(text, 1..=1 << 40), default "1; with drawn numbers 1000",
                where { conflicts: &["map"] };
            /// Seed of all random numbers
            #[serde(deserialize_with = "optional_whole")]
            seed: Option<u64> = "SEED" => |text| read::whole(text, 0..=u64::MAX), default "1";
        }
        "Values" {
            /// What is returned of each item: outcome, time (of the end), steps, lyapunov (the exponent), megno, or a number of the state at the
            /// end; a picture shows the first one
            #[serde(deserialize_with = "one_or_more")]
            value: Vec<String> = "NAME,..." => read::parsed, default "outcome, or lyapunov if there are no outcomes",
                where { separator: Some(',') };
        }
        "Integration" {
            /// Integrator
            method: Option<String> = "NAME" => read::parsed;
            /// Time to which items are followed; iterations of a map
            end: Option<f64> = "TIME" => read::fraction;
            /// Longest step of integrators with a fixed one; a whole number of equal steps takes the time
            step: Option<f64> = "TIME" => read::fraction;
            /// Error that integrators with steps of their own may make in a step, relative to 1 + |y|
            tolerance: Option<f64> = "X" => read::number, default "1e-10";
            /// Steps of their own after which an item is called stiff
            #[serde(deserialize_with = "optional_whole")]
            most_steps: Option<u64> = "N" => |text| read::whole(text, 1..=1 << 40), default "1000000";
        }
    }
}

impl Overrides {
    /// The options, other than the equations, that make a specification.
    pub fn of(specification: &Specification) -> Self {
        let s = specification;
        let mut overrides = Self {
            seed: Some(s.seed),
            value: s.values.clone(),
            method: Some(s.method.clone()),
            end: Some(s.end),
            step: Some(s.step),
            tolerance: Some(s.tolerance),
            most_steps: Some(s.most_steps),
            n: s.size.is_none().then_some(s.n),
            size: s.size.map(OneOrTwo::Two),
            ..Self::default()
        };
        for (name, choice) in &s.parameters {
            let [low, high] = choice.range();
            match choice {
                Choice::Fixed(x) => overrides.set.push(format!("{name}={x}")),
                Choice::Columns(_) => overrides.map.insert(0, format!("{name}={low}:{high}")),
                Choice::Rows(_) => overrides.map.push(format!("{name}={low}:{high}")),
                drawn => overrides
                    .draw
                    .push(format!("{name}={}:{low}:{high}", drawn.name())),
            }
        }
        overrides
    }

    /// The specification of items of these equations.
    ///
    /// # Errors
    /// The first text that is not allowed, with the allowed values.
    pub fn specification(&self, equations: &impl Equations) -> Result<Specification, SpecError> {
        let about = equations.about();
        let find = |name: &str| about.find(name);
        let mut choices = Vec::new();
        for given in &self.set {
            let refuse = |allowed| SpecError::new("set", given, allowed);
            let (name, text) =
                (given.split_once('=')).ok_or_else(|| refuse("must be NAME=NUMBER".to_owned()))?;
            let parameter = find(name.trim()).map_err(refuse)?;
            let value = read::fraction(text).map_err(refuse)?;
            choices.push((parameter, Choice::Fixed(value)));
        }
        for given in &self.draw {
            let choice = Choice::parse_draw(given, find);
            choices.push(choice.map_err(|allowed| SpecError::new("draw", given, allowed))?);
        }
        let axes = Choice::parse_axes(&self.map, find);
        let axes = axes.map_err(|(given, allowed)| SpecError::new("map", given, allowed))?;
        choices.extend(axes);
        let options: [(_, &[String]); 3] =
            [("set", &self.set), ("draw", &self.draw), ("map", &self.map)];
        each_once(&choices, &options)?;
        let mut spec = Specification::of(equations);
        let drawn = !self.draw.is_empty();
        let choices = choices.into_iter();
        spec.parameters = choices.map(|(p, choice)| (p.name.into(), choice)).collect();
        if self.map.is_empty() {
            if self.size.is_some() {
                return Err(SpecError::new("size", "given", "needs --map"));
            }
            spec.n = self.n.unwrap_or(if drawn { 1000 } else { 1 });
        } else {
            if let Some(n) = self.n {
                let allowed =
                    "cannot be used with --map, whose --size determines the number of items";
                return Err(SpecError::new("n", n, allowed));
            }
            let [w, h] = match self.size {
                None => [300; 2],
                Some(OneOrTwo::One(side)) => [side; 2],
                Some(OneOrTwo::Two(sides)) => sides,
            };
            let size = if self.map.len() == 1 { [w, 1] } else { [w, h] };
            spec.n = size[0].saturating_mul(size[1]);
            spec.size = Some(size);
        }
        spec.seed = self.seed.unwrap_or(spec.seed);
        if !self.value.is_empty() {
            spec.values.clone_from(&self.value);
        }
        if let Some(method) = &self.method {
            spec.method.clone_from(method);
        }
        spec.end = self.end.unwrap_or(spec.end);
        spec.step = self.step.unwrap_or(spec.step);
        spec.tolerance = self.tolerance.unwrap_or(spec.tolerance);
        spec.most_steps = self.most_steps.unwrap_or(spec.most_steps);
        Ok(spec)
    }

    /// The validated specification.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validated<Q: Equations>(&self, equations: Q) -> Result<Validated<Q>, SpecError> {
        let specification = self.specification(&equations)?;
        Validated::new(equations, specification)
    }

    /// These values with this integrator.
    #[must_use]
    pub fn with_method(&self, method: Method) -> Self {
        Self {
            method: Some(name_of(method).into()),
            ..self.clone()
        }
    }
}
