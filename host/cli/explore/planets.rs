//! Maps of planetary systems.

use serde_json::{Value, json};
use trisolar::ensemble::Ensemble as _;
use trisolar::io::colour::{ColourRange, Spacing};
use trisolar::planets::files::{OUTCOMES, unit};
use trisolar::planets::{
    Course, ELEMENTS, Number, Observable, Outcome, Overrides, Record, Validated, step_check,
    with_half_the_step,
};
use trisolar::run::EngineError;
use trisolar::spec::{Declaration, SpecError};
use trisolar_explore::{Cancel, Ended, Orbit, ValueKind, Values};

use super::ensemble::{Axis, EnsembleMap, Given, Look, Shown, call, most_of, object, power_near};
use super::requests::{MAX_STEPS, StopWhenUnwanted};

/// The value of the key `system` for these maps.
pub(super) const PLANETS: &str = "planets";

/// The cost of a step of a planet in steps of a map of divergence, roughly.
const STEP: u64 = 8;

/// The presets.
pub(super) fn presets() -> [Value; 3] {
    let jupiter = "m=0.000954,a=5.204,e=0.048,omega=0.257,M=0.6";
    let saturn = "m=0.000285,a=8.5,e=0.05,omega=1.616,M=0.871";
    let preset = |name, title, help, specification: Value, [center, span]: [[f64; 2]; 2]| {
        let view = json!({ "center": center, "span": span });
        json!({
            "name": name, "title": title, "help": help, "specification": specification, "view": view, "scale": "linear",
        })
    };
    [
        preset(
            "planets",
            "Jupiter and a Saturn",
            "Where a planet of Saturn's mass is stable beside Jupiter, for 1000 years: its semi-major axis and eccentricity, as in REBOUND's tutorial.",
            json!({
                "system": PLANETS, "planet": [jupiter, saturn], "map": ["a2", "e2"], "years": 1000, "step": "0.79577", "stop": ["r>20"],
            }),
            [[1.0625, 0.25], [0.375, 0.5]],
        ),
        preset(
            "asteroids",
            "Asteroids",
            "Test particles inside of Jupiter's orbit, for 1000 years: resonances over semi-major axis and eccentricity.",
            json!({
                "system": PLANETS, "planet": ["a=3", jupiter], "map": ["a1", "e1"], "years": 1000,
            }),
            [[0.8125, 0.2], [0.625, 0.4]],
        ),
        preset(
            "kepler-36",
            "Kepler-36",
            "Two planets close to the resonance 7:6 (Carter et al. 2012), for 10 years: their eccentricities.",
            json!({ "system": PLANETS, "preset": "kepler-36", "map": ["e1", "e2"], "years": 10 }),
            [[0.03, 0.03], [0.06, 0.06]],
        ),
    ]
}

/// The axis of a number with this value: of the star, or of a planet among those with these semi-major axes, whose order is kept.
fn axis(kind: &str, planet: Option<usize>, value: f64, semi_major: &[f64]) -> Axis {
    let name = planet.map_or(kind.to_owned(), |i| format!("{kind}{}", i + 1));
    let outer = planet.and_then(|i| semi_major.get(i + 1));
    let inner = planet.and_then(|i| semi_major.get(i.checked_sub(1)?));
    let (range, factor) = match kind {
        "star" => ([1e-6, 1e6], power_near(value)),
        "m" if value == 0.0 => ([0.0, 1e6], 1.0 / 1024.0),
        "m" => ([0.0, 1e6], power_near(value)),
        "a" => {
            let most = outer.map_or(1e6, |outer| outer.next_down());
            ([*inner.unwrap_or(&1e-6), most], power_near(value))
        }
        "P" => ([1e-9, 1e9], power_near(value)),
        "e" => ([0.0, 0.999_999], most_of(0.999_999)),
        // Half a turn is somewhat less than 1.
        _ => ([-1e6, 1e6], 4.0),
    };
    let [low, high] = range.map(|x| x / factor);
    let usual = match kind {
        "e" => [0.0, 0.5],
        "m" if value == 0.0 => [0.0, 1.0],
        "star" | "m" | "a" | "P" => {
            [0.75, 1.25].map(|share| (share * value / factor).clamp(low, high))
        }
        _ => [0.0, std::f64::consts::TAU / factor],
    };
    Axis {
        unit: unit(&name),
        name,
        factor,
        low,
        high,
        above: kind == "a" && inner.is_some(),
        usual,
    }
}

/// The fixed value of a number.
fn fixed(number: &Number) -> Result<f64, SpecError> {
    match number {
        Number::Fixed(x) => Ok(*x),
        _ => {
            let allowed = "must be one number here; the axes of the map are chosen by their names";
            Err(SpecError::new("planet", number, allowed))
        }
    }
}

impl Shown for Overrides {
    const NOT_SHOWN: &'static [&'static str] = &["n", "seed", "max_error"];
    const ORDERED: bool = true;

    fn plane(&mut self) -> Result<(Vec<Axis>, [String; 2], Look), SpecError> {
        let valid = self.validated()?;
        let s = valid.specification();
        let (_, steps) = valid.plan().step(0);
        if u64::from(steps) > MAX_STEPS {
            let allowed = format!("the explorer takes up to {MAX_STEPS} steps, not {steps}");
            return Err(SpecError::new("years", s.years, allowed));
        }
        // Only those of which all have one are kept in order.
        let have_a = s.planets.iter().all(|planet| planet.names()[1] == "a");
        let semi_major = s.planets.iter().filter(|_| have_a);
        let semi_major = semi_major.map(|planet| fixed(&planet.0[1]));
        let semi_major: Vec<f64> = semi_major.collect::<Result<_, _>>()?;
        let mut all = vec![axis("star", None, fixed(&s.star)?, &[])];
        for (i, planet) in s.planets.iter().enumerate() {
            for (kind, number) in planet.names().into_iter().zip(&planet.0) {
                all.push(axis(kind, Some(i), fixed(number)?, &semi_major));
            }
        }
        let last = s.planets.len();
        let [label, unit] = s.observable.label();
        let (spacing, range) = s.observable.colours();
        let look = Look {
            kind: ValueKind::F64,
            steps: u64::from(steps) * STEP * last as u64,
            quantity: json!({
                "name": s.observable, "label": label, "unit": unit, "scale": scale(spacing),
                "range": self::range(range),
            }),
            warnings: valid.warnings(),
        };
        let names = s.planets.last().map_or(ELEMENTS, |planet| planet.names());
        let shown = [names[1], names[2]].map(|kind| format!("{kind}{last}"));
        Ok((all, shown, look))
    }

    fn on_map(&self, axes: [(&str, [f64; 2]); 2], size: [u64; 2]) -> Self {
        let mut on = self.clone();
        for ((name, [low, high]), n) in axes.into_iter().zip(size) {
            on.set.retain(|setting| setting.name() != name);
            // A map of one value is none.
            let number = match n {
                1 => Number::Fixed(low),
                _ => Number::Axis([low, high], n),
            };
            on.set.push((name, number).into());
        }
        on
    }

    fn values(&self, records: &[Record]) -> Values {
        let observable = self.observable.unwrap_or_default();
        Values::F64(records.iter().map(|r| observable.drawn(r)).collect())
    }

    fn orbit(
        _: &EnsembleMap<Self>,
        spec: &Validated,
        samples: usize,
        cancel: &dyn Cancel,
    ) -> Result<Orbit, Ended> {
        // The last moment comes in addition.
        let course = Course::of(spec, 0, samples - 1, || cancel.cancelled());
        let Course { record, places } = course.ok_or(Ended::Cancelled)?;
        let has_tangent = spec.specification().has_tangent();
        let count = spec.specification().planets.len();
        let kinds = ["a", "e", "inc"];
        let of = |kind: &str| {
            (1..=count)
                .map(|i| format!("{kind}{i}"))
                .collect::<Vec<_>>()
        };
        let mut plots: Vec<Value> = kinds
            .iter()
            .zip([
                "semi-major axes (au)",
                "eccentricities",
                "inclinations (radians)",
            ])
            .map(|(kind, label)| json!({ "label": label, "columns": of(kind) }))
            .collect();
        // Coplanar systems stay so.
        if places
            .iter()
            .all(|place| place.orbits.iter().all(|orbit| orbit[2] == 0.0))
        {
            plots.pop();
        }
        let mut columns = vec!["time".to_owned()];
        columns.extend((1..=count).flat_map(|i| kinds.map(|kind| format!("{kind}{i}"))));
        if has_tangent {
            columns.push("mean_megno".into());
            plots.push(json!({ "label": "mean MEGNO", "columns": ["mean_megno"] }));
        }
        let numbers = places.iter().flat_map(|place| {
            let megno = has_tangent.then_some(place.mean_megno);
            let orbits = place.orbits.iter().flatten().copied();
            [place.time].into_iter().chain(orbits).chain(megno)
        });
        let outcome = OUTCOMES
            .iter()
            .find(|(outcome, _)| *outcome == Outcome(record.outcome));
        let reals = spec.specification().observable.reals();
        Ok(Orbit {
            summary: json!({
                "title": outcome.map(|(_, name)| name),
                "record": object(reals.into_iter().map(|(name, _, of)| (name, json!(of(&record))))),
                "over": "time (years)",
                "plots": plots,
            }),
            samples: numbers.collect(),
            columns,
        })
    }

    fn accuracy(
        map: &EnsembleMap<Self>,
        spec: &Validated,
        cancel: &dyn Cancel,
    ) -> Result<Value, EngineError> {
        let records = map.compute(spec, &map.options, cancel)?;
        let (records, monitor) = (Validated::slice(&records), StopWhenUnwanted(cancel));
        let repeat = with_half_the_step(spec, records.len() as u64);
        let again = repeat.map(|r| r.compute(&map.options, &monitor, <[Record]>::to_vec));
        let check = again.transpose()?.map(|again| step_check(records, &again));
        let words =
            check.map(|check| check.in_words("systems", "have another verdict with half the step"));
        Ok(json!({ "words": words }))
    }

    fn scales(parameter: &Declaration) -> Value {
        if parameter.name != "observable" {
            return Value::Null;
        }
        let scales = Observable::all().map(|o| (o.name(), json!(scale(o.colours().0))));
        object(scales)
    }

    fn python(given: &[Given<'_>], _: bool) -> String {
        let argument = |(parameter, value): &Given<'_>| match parameter.name {
            "planet" => ("planets".to_owned(), value.to_string()),
            "set" => {
                let settings = value.as_array().into_iter().flatten();
                let pairs = settings.filter_map(|text| text.as_str()?.split_once('='));
                let pairs = pairs.map(|(name, number)| (name, json!(number)));
                let pairs: Vec<String> =
                    pairs.map(|(name, x)| format!("\"{name}\": {x}")).collect();
                ("set".to_owned(), format!("{{{}}}", pairs.join(", ")))
            }
            name => (name.to_owned(), value.to_string()),
        };
        call("found", "planets", given.iter().map(argument))
    }
}

/// The name of a scale on the page.
fn scale(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Logarithmic => "log",
        _ => "linear",
    }
}

/// A range of colours that does not depend on the values.
pub(super) fn range(colours: ColourRange) -> Option<[f64; 2]> {
    match colours {
        ColourRange::Fixed(low, high) => Some([low, high]),
        _ => None,
    }
}
