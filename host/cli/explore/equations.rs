//! Maps of equations that are given as text.

use serde_json::{Value, json};
use trisolar::divergence::{OneOrTwo, Quantity};
use trisolar::equation_text::Text;
use trisolar::equation_text::system::RANGE;
use trisolar::output::clipped_share;
use trisolar::planets::Observable;
use trisolar::run::EngineError;
use trisolar::spec::{Choice, Parameter, SpecError};
use trisolar::system::files::{STIFF, classes};
use trisolar::system::{self, Kind, Overrides, Rows, Validated};
use trisolar_explore::{Cancel, Ended, Orbit, Refusal, ValueKind, Values};

use super::ensemble::{Axis, EnsembleMap, Given, Look, Shown, call, power_near};
use super::planets::range;
use super::requests::{StopWhenUnwanted, refusal};

/// The value of the key `system` for these maps.
pub(super) const EQUATIONS: &str = "equations";

/// The cost of a step in steps of a map of divergence, roughly.
const STEP: u64 = 10;
/// The number of steps of their own that trajectories take, roughly.
const TYPICAL_STEPS: u64 = 2_000;
/// Largest number of steps or iterations: lanes look after all of them whether they are still wanted.
const MAX_STEPS: u64 = 1_000_000;

/// The columns of a map of outcomes.
const OUTCOME: [&str; 2] = ["outcome", "time"];

/// The presets.
pub(super) fn presets() -> [Value; 4] {
    let preset = |name, title, help, specification: Value, [center, span]: [[f64; 2]; 2]| {
        let mut specification = specification;
        specification["system"] = EQUATIONS.into();
        json!({
            "name": name, "title": title, "help": help, "specification": specification,
            "view": { "center": center, "span": span }, "scale": "linear",
        })
    };
    let root = |name: &str, re: &str, im: &str| {
        format!("{name}: (x - ({re}))^2 + (y - ({im}))^2 < 1e-6\n")
    };
    let half = "sqrt(3)/2";
    let roots = [("1", "0"), ("-1/2", half), ("-1/2", "0 - sqrt(3)/2")];
    let roots = roots.iter().zip(["one", "upper", "lower"]);
    let roots: String = roots.map(|((re, im), name)| root(name, re, im)).collect();
    [
        preset(
            "lorenz",
            "Lorenz",
            "The convection model of Lorenz (1963): the Lyapunov exponent over its parameters r and b.",
            json!({
                "ode": "x' = s*(y-x)\ny' = x*(r-z) - y\nz' = x*y - b*z", "set": ["s=10", "r=28", "b=8/3"], "map": ["r", "b"],
                "value": ["lyapunov"], "method": "rk4", "step": 0.01, "end": 10,
            }),
            [[1.75, 1.26], [3.0, 2.5]],
        ),
        preset(
            "newton",
            "Newton's method",
            "Which root of z^3 = 1 Newton's method finds, and how soon.",
            json!({
                "iterate": format!("p = x^2 - y^2\nq = 2*x*y\nn = p^2 + q^2\nx' = (2*x + p/n)/3\ny' = (2*y - q/n)/3\n{roots}").trim(),
                "map": ["x", "y"], "value": OUTCOME, "end": 60,
            }),
            [[0.0, 0.0], [4.0, 4.0]],
        ),
        preset(
            "standard-map",
            "Standard map",
            "The kicked rotor of Chirikov (1979): the Lyapunov exponent over its start.",
            json!({
                "iterate": "u = p + k*sin(x)\nx' = x + u\np' = u", "set": ["k=0.971635"], "map": ["x", "p"], "value": ["lyapunov"], "end": 200,
            }),
            [[std::f64::consts::PI; 2], [std::f64::consts::TAU; 2]],
        ),
        preset(
            "henon-heiles",
            "Henon and Heiles",
            "A star in a galaxy (Henon & Heiles 1964): MEGNO over the start.",
            json!({
                "ode": "x' = u\ny' = v\nu' = -x - 2*x*y\nv' = -y - x^2 + y^2", "set": ["x=0", "u=0.4"], "map": ["y", "v"],
                "value": ["megno"], "method": "rk4", "step": 0.1, "end": 100,
            }),
            [[0.05, 0.0], [1.1, 1.0]],
        ),
    ]
}

/// The axis of a parameter with this value, or of a number of the state.
fn axis(parameter: &Parameter, value: Option<f64>) -> Axis {
    let Some(value) = value else {
        return Axis::new(parameter, 1.0, RANGE);
    };
    let factor = power_near(value);
    let mut usual = [0.5, 1.5].map(|share| share * value / factor);
    usual.sort_by(f64::total_cmp);
    Axis::new(
        parameter,
        factor,
        if value == 0.0 { [-1.0, 1.0] } else { usual },
    )
}

impl Shown for Overrides {
    const NOT_SHOWN: &'static [&'static str] = &["map", "size", "draw", "n", "seed"];
    const LINES: &'static [&'static str] = &["ode", "iterate"];

    fn plane(&mut self) -> Result<(Vec<Axis>, [String; 2], Look), SpecError> {
        let one = Self {
            n: Some(1),
            ..self.clone()
        };
        let valid = Text::validated(&one)?;
        let (about, spec, job) = (valid.about(), valid.specification(), valid.job());
        if job.steps > MAX_STEPS {
            let option = match (about.kind, job.method.is_adaptive()) {
                (_, true) => "most-steps",
                (_, false) if about.kind == Kind::Map => "end",
                _ => "step",
            };
            let allowed = format!(
                "the explorer takes up to {MAX_STEPS} steps, not {}",
                job.steps
            );
            return Err(SpecError::new(option, "given", allowed));
        }
        let mut all: Vec<Axis> = about.state.iter().map(|p| axis(p, None)).collect();
        all.extend(about.parameters.iter().map(|p| {
            let value = spec
                .parameters
                .get(p.name)
                .map_or(0.0, |choice| choice.range()[0]);
            axis(p, Some(value))
        }));
        let usual = [0, 1].map(|k| all[k.min(all.len() - 1)].name.clone());
        let value = spec.values[0].clone();
        let is_outcome = value == OUTCOME[0];
        self.value = match is_outcome {
            true => OUTCOME.map(str::to_owned).to_vec(),
            false => vec![value.clone()],
        };
        let classes = is_outcome.then(|| {
            let class = |(k, class): (usize, &trisolar::io::picture::Class)| {
                let [r, g, b] = class.colour;
                json!({ "name": class.name, "colour": u32::from_be_bytes([0, r, g, b]), "flat": k < 3 })
            };
            classes(about).iter().enumerate().map(class).collect::<Vec<_>>()
        });
        let label = match &*value {
            "lyapunov" => "Lyapunov exponent",
            "megno" => "MEGNO",
            "outcome" => "time of the outcome",
            name => name,
        };
        let steps = if job.method.is_adaptive() {
            TYPICAL_STEPS
        } else {
            job.steps
        };
        let look = Look {
            kind: if is_outcome {
                ValueKind::Pair
            } else {
                ValueKind::F64
            },
            steps: steps * STEP,
            quantity: json!({
                "name": value, "label": label, "unit": "", "scale": "linear", "classes": classes,
                // Regular motion has 2 everywhere, and pictures of planets show it so.
                "range": (value == "megno").then(|| range(Observable::Megno.colours().1)),
                // Diverging trajectories have numbers far from those of others.
                "clipped": clipped_share(Quantity::Ftle),
            }),
            warnings: Vec::new(),
        };
        Ok((all, usual, look))
    }

    fn on_map(&self, axes: [(&str, [f64; 2]); 2], size: [u64; 2]) -> Self {
        let names = axes.map(|(name, _)| name);
        let is_free =
            |text: &&String| !names.contains(&text.split('=').next().unwrap_or_default().trim());
        let range = |(name, [low, high]): (&str, [f64; 2])| format!("{name}={low}:{high}");
        Self {
            set: self.set.iter().filter(is_free).cloned().collect(),
            map: axes.map(range).to_vec(),
            size: Some(OneOrTwo::Two(size)),
            ..self.clone()
        }
    }

    fn values(&self, rows: Rows<'_>) -> Values {
        match rows.width {
            2 => {
                let pairs = rows.numbers.as_chunks::<2>().0.iter();
                Values::Pairs(
                    pairs
                        .map(|[outcome, time]| [outcome - STIFF, *time])
                        .collect(),
                )
            }
            _ => Values::F64(rows.numbers.to_vec()),
        }
    }

    /// The items along a line: both parameters vary along the columns of a map of one row.
    fn along(
        map: &EnsembleMap<Self>,
        places: &[[f64; 2]],
    ) -> Result<Vec<Validated<Text>>, Refusal> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(Vec::new());
        };
        let valid = map.at(*first)?;
        let mut spec = valid.specification().clone();
        let n = places.len() as u64;
        let ends = map.numbers(*first).into_iter().zip(map.numbers(*last));
        for ((name, low), (_, last)) in ends {
            let choice = match low == last {
                true => Choice::Fixed(low),
                false => Choice::Columns([low, low + (last - low) * n as f64 / (n - 1) as f64]),
            };
            spec.parameters.insert(name.into(), choice);
        }
        let is_line = spec.axes()[0].is_some();
        (spec.n, spec.size) = (n, is_line.then_some([n, 1]));
        let valid = Validated::new(valid.equations().clone(), spec).map_err(refusal)?;
        Ok(vec![valid])
    }

    fn orbit(
        _: &EnsembleMap<Self>,
        spec: &Validated<Text>,
        samples: usize,
        cancel: &dyn Cancel,
    ) -> Result<Orbit, Ended> {
        let found = system::Orbit::of(spec, samples as u64 - 1, || cancel.cancelled());
        let found = found.ok_or(Ended::Cancelled)?;
        let names: Vec<&str> = spec
            .about()
            .state
            .iter()
            .map(|number| number.name)
            .collect();
        let plots = match names.len() {
            0..=4 => names
                .iter()
                .map(|name| json!({ "label": name, "columns": [name] }))
                .collect(),
            _ => json!([{ "label": "state", "columns": names }]),
        };
        let last = found.numbers.len() - found.width;
        let end = ["time"]
            .into_iter()
            .chain(names.iter().copied())
            .zip(&found.numbers[last..]);
        let record: serde_json::Map<String, Value> =
            end.map(|(name, x)| (name.to_owned(), json!(x))).collect();
        Ok(Orbit {
            summary: json!({ "title": found.outcome, "record": record, "over": "time", "plots": plots }),
            columns: ["time"]
                .into_iter()
                .chain(names)
                .map(str::to_owned)
                .collect(),
            samples: found.numbers,
        })
    }

    fn accuracy(
        map: &EnsembleMap<Self>,
        spec: &Validated<Text>,
        cancel: &dyn Cancel,
    ) -> Result<Value, EngineError> {
        let table = map.compute(spec, &map.options, cancel)?;
        let again = spec.sample(&map.options, &StopWhenUnwanted(cancel))?;
        let check = again.map(|again| spec.step_check(&table.numbers, &again));
        Ok(json!({ "words": check.map(|check| check.in_words("items", system::CHANGE)) }))
    }

    fn python(given: &[Given<'_>], _: bool) -> String {
        let argument = |(parameter, value): &Given<'_>| {
            let name = if parameter.name == "ode" {
                "equations"
            } else {
                parameter.name
            };
            (name.to_owned(), value.to_string())
        };
        call("found", "ode", given.iter().map(argument))
    }
}
