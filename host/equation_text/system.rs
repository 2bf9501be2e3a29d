//! Equations as text as an ensemble of own equations: the files, axes and engines are those of equations in Rust.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trisolar_device::{Device, GpuError, Grid};
use trisolar_equations::job::MAX_NUMBERS;
use trisolar_equations::system::Rates as _;
use trisolar_equations::{Column, DeviceJob, Job, Kind};
use trisolar_simd::Simd;
use trisolar_spec::{OneOrTwo, Parameter, SpecError, UNBOUNDED};
use trisolar_system::{About, Overrides, Specification, Validated};

use super::interpret::Interpreter;
use super::text::MAX_STATE;
use super::{Equations, Program, Traced, block, ptx, trace};

/// The start of a number that no option names.
pub const START: f64 = 1.0;
/// The axes of a map that no option names: the first two numbers of the state in this range.
pub const RANGE: [f64; 2] = [-2.0, 2.0];
/// Columns and rows of a map of differential equations that has two axes and no size: two cores need about ten seconds for the Lorenz model.
pub const SIDE: u64 = 100;

/// The options of equations, which are also the first words of their [source](trisolar_system::Equations::source).
const OPTIONS: [(&str, Kind); 2] = [("ode", Kind::Flow), ("iterate", Kind::Map)];

/// Equations as text with their parameters.
#[derive(Clone, Debug)]
pub struct Text(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    option: &'static str,
    text: String,
    equations: Equations,
    about: About,
    /// What was made for a job.
    made: Mutex<Option<Arc<Made>>>,
}

/// What engines need for a job.
#[derive(Debug)]
struct Made {
    job: Job,
    traced: Traced,
    program: Program,
    kernel: OnceLock<Result<String, String>>,
}

/// The same name as a static one. There are as many as users have given.
pub fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match all.get(name) {
        Some(known) => known,
        None => {
            let name = name.to_owned().leak();
            all.insert(name);
            name
        }
    }
}

impl Text {
    /// Reads equations of an option (`ode` or `iterate`) with parameters of these names.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn new(option: &str, text: &str, parameters: &[&str]) -> Result<Self, SpecError> {
        let known = OPTIONS.iter().find(|(known, _)| *known == option);
        let (option, kind) = *known
            .ok_or_else(|| SpecError::new("system", option, "must be equations: ode or iterate"))?;
        let shown = shortened(text, 40);
        let refuse = |reason: String| SpecError::new(option, format!("'{shown}'"), reason);
        let equations = Equations::parse(text, parameters).map_err(|e| refuse(e.to_string()))?;
        if kind == Kind::Map && equations.has_time {
            return Err(refuse("an iterated map has no time t".into()));
        }
        if parameters.len() > MAX_NUMBERS {
            let count = parameters.len();
            return Err(refuse(format!(
                "there are {count} parameters, and at most {MAX_NUMBERS} are allowed"
            )));
        }
        let kind = match kind {
            Kind::Flow if equations.momenta.is_some() => Kind::SplitFlow,
            kind => kind,
        };
        let results = Column::NAMES;
        let mut names = equations.state.iter().chain(&equations.parameters);
        if let Some(name) = names.find(|name| results.contains(&name.as_str())) {
            let all = results.join(", ");
            return Err(refuse(format!(
                "{name} cannot be the name of a variable, because {all} are results"
            )));
        }
        let numbers = |names: &[String], default| -> Vec<Parameter> {
            let number = |name: &String| Parameter {
                default,
                ..Parameter::new(kept(name), "", [-UNBOUNDED, UNBOUNDED])
            };
            names.iter().map(number).collect()
        };
        let about = About {
            name: "equations".into(),
            label: shortened(text, 60),
            kind,
            parameters: numbers(&equations.parameters, f64::NAN),
            state: numbers(&equations.state, START),
            outcomes: equations
                .outcomes
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            end: 100.0,
            step: 0.01,
        };
        Ok(Self(Arc::new(Inner {
            option,
            text: text.to_owned(),
            equations,
            about,
            made: Mutex::default(),
        })))
    }

    /// The validated specification of these options, which name the equations. Where they name neither axes nor draws nor a number of items,
    /// it is a map over the first two numbers of the state that have no value.
    ///
    /// # Errors
    /// The first text that is not allowed, with the allowed values.
    pub fn validated(overrides: &Overrides) -> Result<Validated<Self>, SpecError> {
        let (option, text) = match (&overrides.ode, &overrides.iterate) {
            (Some(text), None) => ("ode", text),
            (None, Some(text)) => ("iterate", text),
            (None, None) => {
                let allowed = "the equations are missing: --ode TEXT or --iterate TEXT";
                return Err(SpecError::new("ode", "is not given", allowed));
            }
            (Some(_), Some(text)) => {
                let allowed = "cannot be used with --ode";
                return Err(SpecError::new("iterate", shortened(text, 40), allowed));
            }
        };
        let given = [&overrides.set, &overrides.draw, &overrides.map];
        let given = given.into_iter().flatten();
        let mut names: Vec<&str> = Vec::new();
        for name in given.map(|text| named_in(text)) {
            if !names.contains(&name) && !is_rate(text, name) {
                names.push(name);
            }
        }
        // Options in another order are the same equations.
        names.sort_unstable();
        let equations = Self::new(option, text, &names)?;
        let mut complete = overrides.clone();
        let is_map = overrides.draw.is_empty() && overrides.n.is_none();
        if is_map && overrides.map.is_empty() {
            let is_set = |name: &str| overrides.set.iter().any(|text| named_in(text) == name);
            let [low, high] = RANGE;
            let state = equations.0.equations.state.iter();
            let free = state.filter(|name| !is_set(name)).take(2);
            complete.map = free.map(|name| format!("{name}={low}:{high}")).collect();
        }
        if option == "ode" && complete.map.len() == 2 && complete.size.is_none() {
            complete.size = Some(OneOrTwo::One(SIDE));
        }
        let specification = complete.specification(&equations)?;
        equations.with(specification)
    }

    /// These equations with a specification.
    ///
    /// # Errors
    /// The first value that is not allowed, or a start without finite rates.
    pub fn with(self, specification: Specification) -> Result<Validated<Self>, SpecError> {
        let valid = Validated::new(self, specification)?;
        check_start(&valid)?;
        Ok(valid)
    }

    /// The options that make a specification.
    pub fn overrides(specification: &Specification) -> Overrides {
        let (option, _, text) = parts(&specification.system).unwrap_or_default();
        Overrides {
            ode: (option == "ode").then(|| text.to_owned()),
            iterate: (option == "iterate").then(|| text.to_owned()),
            ..Overrides::of(specification)
        }
    }

    fn made(&self, job: &Job) -> Arc<Made> {
        let mut made = self.0.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(made) if made.job == *job => made.clone(),
            _ => {
                let traced = trace(&self.0.equations, job);
                let new = Arc::new(Made {
                    job: *job,
                    program: Program::new(&traced),
                    traced,
                    kernel: OnceLock::new(),
                });
                *made = Some(new.clone());
                new
            }
        }
    }
}

/// The name that an option such as `x=1` or `x=-2:2` is about.
fn named_in(option: &str) -> &str {
    option.split('=').next().unwrap_or_default().trim()
}

/// Whether a text has an equation for the rate of change of this name.
fn is_rate(text: &str, name: &str) -> bool {
    let mut lines = text.split([';', '\n']);
    lines.any(|line| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['\'', '′']))
    })
}

/// The first characters of a text in one line.
fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The option, the parameters and the text of a source.
fn parts(source: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (option, rest) = source.split_once('(')?;
    let (names, text) = rest.split_once(") ")?;
    let names = names.split(',').filter(|name| !name.is_empty());
    Some((option, names.collect(), text))
}

/// Refuses equations that have no finite value at the start of any of some items.
fn check_start(valid: &Validated<Text>) -> Result<(), SpecError> {
    let (inner, items) = (&valid.equations().0, valid.count());
    let mut found = None;
    for item in [0, items / 3, items / 2, items - 1] {
        let number = |place| valid.job().number(place, item);
        let parameters: [f64; MAX_NUMBERS] = std::array::from_fn(number);
        let state: [f64; MAX_NUMBERS] = std::array::from_fn(|k| number(MAX_NUMBERS + k));
        let rates = Interpreter(&inner.equations).rate(0.0, &state, &parameters);
        let rates = &rates[..inner.equations.state.len()];
        match rates.iter().position(|rate| !rate.is_finite()) {
            None => return Ok(()),
            Some(k) => found = found.or(Some((k, rates[k]))),
        }
    }
    let Some((k, rate)) = found else {
        return Ok(());
    };
    let allowed = format!(
        "is {rate} at the start: other values of --set or --map avoid a division by zero, or a root or logarithm of a negative number"
    );
    Err(SpecError::new(
        inner.option,
        format!("{}'", inner.equations.state[k]),
        allowed,
    ))
}

impl trisolar_system::Equations for Text {
    fn about(&self) -> About {
        self.0.about.clone()
    }

    fn source(&self) -> String {
        let names = self.0.equations.parameters.join(",");
        format!("{}({names}) {}", self.0.option, self.0.text)
    }

    fn of_source(text: &str) -> Result<Self, SpecError> {
        let (option, names, text) = parts(text).ok_or_else(|| {
            SpecError::new(
                "system",
                text,
                "must be ode(NAMES) TEXT or iterate(NAMES) TEXT",
            )
        })?;
        Self::new(option, text, &names)
    }

    fn lanes(&self, _: Simd) -> usize {
        block::LANES
    }

    fn follow(
        &self,
        simd: Simd,
        job: &Job,
        items: &[u64],
        write: &mut dyn FnMut(usize, usize, f64),
    ) {
        self.made(job).program.follow(simd, job, items, write);
    }

    unsafe fn launch(
        &self,
        device: &Arc<dyn Device>,
        job: &Job,
        grid: Grid,
        mut items: DeviceJob,
    ) -> Result<(), GpuError> {
        let made = self.made(job);
        let kernel = made.kernel.get_or_init(|| ptx::kernel(&made.traced, job));
        let kernel = kernel.as_ref().map_err(|what| {
            GpuError::Unavailable(format!(
                "GPUs do not compute equations with {what}, but --backend cpu does"
            ))
        })?;
        let items = (&raw mut items).cast();
        // SAFETY: the kernel's argument is this one, and the caller guarantees the rest.
        unsafe { device.start_text(kernel, ptx::FUNCTIONS, ptx::KERNEL, grid, &mut [items]) }
    }
}

const _: () = assert!(MAX_STATE == MAX_NUMBERS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_two_axes_without_a_size_is_small() {
        let size = |change: fn(&mut Overrides)| {
            let mut overrides = Overrides {
                ode: Some("x'=y; y'=-x".into()),
                ..Overrides::default()
            };
            change(&mut overrides);
            Text::validated(&overrides).unwrap().specification().size
        };
        assert_eq!(size(|_| ()), Some([SIDE; 2]));
        let sized = size(|o| o.size = Some(OneOrTwo::One(300)));
        assert_eq!(sized, Some([300; 2]));
        let of_one_axis = size(|o| o.map = vec!["x=0:1".into()]);
        assert_eq!(of_one_axis, Some([300, 1]));
        let iterated = size(|o| o.iterate = o.ode.take());
        assert_eq!(iterated, Some([300; 2]));
        assert_eq!(size(|o| o.n = Some(3)), None);
    }
}
