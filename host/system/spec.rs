//! The specification of an ensemble of own equations, validated once.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trisolar_equations::job::MAX_NUMBERS;
use trisolar_equations::{Column, Job, Kind, Law, Method};
use trisolar_spec::{Choice, Parameter, SpecError};

use crate::{About, Equations};

/// What each item is, and what is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Specification {
    /// The [source](Equations::source) of the equations.
    pub system: String,
    /// Parameters and start values that are not the defaults, by name.
    pub parameters: BTreeMap<String, Choice>,
    /// Columns and rows of a map.
    pub size: Option<[u64; 2]>,
    /// Number of items.
    pub n: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The names of the columns that are returned.
    pub values: Vec<String>,
    /// The name of the integrator.
    pub method: String,
    /// The time to which items are followed; iterations of a map.
    pub end: f64,
    /// The longest step of methods with a fixed one: it is shortened so that a whole number of them takes the time.
    pub step: f64,
    /// The error that methods with steps of their own may make in a step, relative to 1 + |y|.
    pub tolerance: f64,
    /// The most steps that a trajectory with steps of its own may take; one that needs more is called stiff.
    pub most_steps: u64,
}

impl Specification {
    /// The defaults of a system: one item. The outcome is measured if it has outcomes, otherwise the Lyapunov exponent.
    pub fn of(equations: &impl Equations) -> Self {
        let about = equations.about();
        let value = match about.outcomes.is_empty() {
            true => Column::LYAPUNOV,
            false => Column::OUTCOME,
        };
        Self {
            system: equations.source(),
            parameters: BTreeMap::new(),
            size: None,
            n: 1,
            seed: 1,
            values: vec![Column::NAMES[value.0 as usize].into()],
            method: name_of(about.kind.methods()[0]).into(),
            end: about.end,
            step: about.step,
            tolerance: 1e-10,
            most_steps: 1_000_000,
        }
    }

    /// The axes of a map, that of the columns first: names and ranges.
    pub fn axes(&self) -> [Option<(&str, [f64; 2])>; 2] {
        let axis = |is: fn(&Choice) -> bool| {
            let mut all = self.parameters.iter();
            let found = all.find(|(_, choice)| is(choice));
            found.map(|(name, choice)| (name.as_str(), choice.range()))
        };
        [
            axis(|choice| matches!(choice, Choice::Columns(_))),
            axis(|choice| matches!(choice, Choice::Rows(_))),
        ]
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a specification is JSON")
    }
}

/// The name of an integrator.
pub(crate) fn name_of(method: Method) -> &'static str {
    let row = Method::ALL.iter().find(|(known, ..)| *known == method);
    row.map_or("", |(_, name, _)| name)
}

/// A validated specification with its equations.
#[derive(Clone, Debug)]
pub struct Validated<Q> {
    equations: Q,
    about: About,
    specification: Specification,
    job: Job,
}

/// A number that must be above 0.
fn positive(option: &'static str, x: f64, most: f64) -> Result<(), SpecError> {
    match x > 0.0 && x <= most {
        true => Ok(()),
        false => {
            let allowed = format!("must be above 0, at most {most:e}");
            Err(SpecError::new(option, x, allowed))
        }
    }
}

impl<Q: Equations> Validated<Q> {
    /// Validates a specification.
    ///
    /// # Errors
    /// The first value that is not allowed, with what is.
    pub fn new(equations: Q, specification: Specification) -> Result<Self, SpecError> {
        let about = equations.about();
        let s = &specification;
        check_names(&about)?;
        let methods = about.kind.methods();
        let method = methods.iter().find(|method| name_of(**method) == s.method);
        let method = *method.ok_or_else(|| {
            let names: Vec<&str> = methods.iter().map(|m| name_of(*m)).collect();
            let mut allowed = format!("must be one of {}", names.join(", "));
            let of_split = Kind::SplitFlow.methods();
            if about.kind == Kind::Flow && of_split.iter().any(|m| name_of(*m) == s.method) {
                allowed += "; symplectic integrators need two groups of numbers, each of which changes by the other alone, and no time t";
            }
            SpecError::new("method", &s.method, allowed)
        })?;
        positive("end", s.end, 1e12)?;
        positive("tolerance", s.tolerance, 1e-2)?;
        if s.tolerance < 1e-15 {
            let allowed = "must be at least 1e-15";
            return Err(SpecError::new("tolerance", s.tolerance, allowed));
        }
        if s.most_steps == 0 {
            return Err(SpecError::new("most-steps", 0, "must be at least 1"));
        }
        let (steps, step) = steps(&about, s, method)?;
        let columns = columns(&about, &s.values)?;
        let chaos = 1 << Column::LYAPUNOV.0 | 1 << Column::MEGNO.0;
        let law = |parameter: &Parameter| {
            let given = s.parameters.get(parameter.name).copied();
            given
                .unwrap_or(Choice::Fixed(parameter.default))
                .law(parameter)
        };
        let laws = |list: &[Parameter]| {
            let mut laws = [Law::default(); MAX_NUMBERS];
            for (to, parameter) in laws.iter_mut().zip(list) {
                *to = law(parameter);
            }
            laws
        };
        let job = Job {
            parameters: laws(&about.parameters),
            start: laws(&about.state),
            seed: s.seed,
            size: s.size.unwrap_or([1, 1]),
            steps,
            step,
            tolerance: s.tolerance,
            begin: 0.0,
            end: s.end,
            columns,
            method,
            tangent: u32::from(columns & chaos != 0),
        };
        for (name, choice) in &s.parameters {
            let refuse = |allowed| SpecError::new("set", name, allowed);
            let parameter = about.find(name).map_err(refuse)?;
            let allowed = choice.range().iter().all(|x| parameter.allows(*x));
            if !allowed || *choice == Choice::Region {
                return Err(refuse(parameter.allowed_in_words()));
            }
        }
        check_items(s)?;
        Ok(Self {
            equations,
            about,
            specification,
            job,
        })
    }

    /// The equations.
    pub fn equations(&self) -> &Q {
        &self.equations
    }

    /// The system in words.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The specification as plain data.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Number of items.
    pub fn count(&self) -> u64 {
        self.specification.n
    }

    /// The names of the columns in the order in which items have them.
    pub fn columns(&self) -> Vec<&'static str> {
        let known = self.about.columns().enumerate();
        let asked = known.filter(|(i, _)| self.job.columns >> i & 1 == 1);
        asked.map(|(_, name)| name).collect()
    }
}

/// The number of steps, at most that for steps of its own, and the step.
fn steps(about: &About, s: &Specification, method: Method) -> Result<(u64, f64), SpecError> {
    if about.kind == Kind::Map {
        return match s.end.fract() == 0.0 {
            true => Ok((s.end as u64, 1.0)),
            false => {
                let allowed = "must be a whole number of iterations";
                Err(SpecError::new("end", s.end, allowed))
            }
        };
    }
    if method.is_adaptive() {
        return Ok((s.most_steps, s.end));
    }
    positive("step", s.step, s.end)?;
    // A step that divides the time but for rounding is kept.
    let steps = (s.end / s.step - 1e-6).ceil().max(1.0);
    match steps <= 1e12 {
        true => Ok((steps as u64, s.end / steps)),
        false => {
            let allowed = "must be at least 1e-12 of --end";
            Err(SpecError::new("step", s.step, allowed))
        }
    }
}

/// The columns with these names, as bits.
fn columns(about: &About, names: &[String]) -> Result<u64, SpecError> {
    let mut bits = 0_u64;
    for name in names {
        let place = about.columns().position(|known| known == name);
        let place = place.ok_or_else(|| {
            let known: Vec<&str> = about.columns().collect();
            let allowed = format!("must be one of {}", known.join(", "));
            SpecError::new("value", name, allowed)
        })?;
        if bits >> place & 1 == 1 {
            return Err(SpecError::new("value", name, "is given twice"));
        }
        bits |= 1 << place;
    }
    match bits {
        0 => {
            let allowed = "must name at least one number";
            Err(SpecError::new("value", "none", allowed))
        }
        bits => Ok(bits),
    }
}

/// Checks the number of items, and that it is that of the map's pixels.
fn check_items(s: &Specification) -> Result<(), SpecError> {
    let wrong = |allowed: &str| Err(SpecError::new("size", s.n, allowed));
    match (s.axes(), s.size) {
        ([None, None], None) => {}
        ([Some(_), None], Some([_, 1])) | ([Some(_), Some(_)], Some(_)) => {
            let [w, h] = s.size.unwrap_or_default();
            if w.checked_mul(h) != Some(s.n) {
                return wrong("must be at most 2^40 pixels together");
            }
        }
        _ => return wrong("a map has one or two axes, and a row for each value of the second"),
    }
    match (1..=1 << 40).contains(&s.n) {
        true => Ok(()),
        false if s.size.is_some() => wrong("must be from 1 to 2^40 pixels together"),
        false => Err(SpecError::new("n", s.n, "must be from 1 to 2^40 items")),
    }
}

/// Checks the numbers and the names of a system.
fn check_names(about: &About) -> Result<(), SpecError> {
    let refuse = |allowed| Err(SpecError::new("system", &about.name, allowed));
    let (state, parameters) = (about.state.len(), about.parameters.len());
    if state == 0 || state > MAX_NUMBERS || parameters > MAX_NUMBERS {
        return refuse(format!(
            "must have 1 to {MAX_NUMBERS} numbers of its state and at most {MAX_NUMBERS} parameters, not {state} and {parameters}"
        ));
    }
    let mut names: BTreeSet<&str> = Column::NAMES.into_iter().collect();
    for number in about.numbers() {
        if !names.insert(number.name) {
            return refuse(format!(
                "has the name {} twice; {} are taken",
                number.name,
                Column::NAMES.join(", ")
            ));
        }
    }
    Ok(())
}
