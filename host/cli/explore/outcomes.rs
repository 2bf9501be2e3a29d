//! Maps of the outcomes of encounters.

use serde_json::{Value, json};
use trisolar::bodies::Points;
use trisolar::divergence::OneOrTwo;
use trisolar::encounters::{
    Certificate, Course, Order, Overrides, Parameter, Record, Setup, Validated, files, pictures,
    same_bits,
};
use trisolar::ensemble::{Ensemble as _, Verdict};
use trisolar::spec::{Declaration, SpecError};
use trisolar_explore::{Cancel, Ended, Orbit, Refusal, ValueKind, Values};

use super::certainty;
use super::ensemble::{
    Axis, Certify, EnsembleMap, Given, Look, Shown, call, most_of, object, word,
};
use super::requests::{MAX_STEPS, StopWhenUnwanted, ended, refusal};

/// The value of the key `system` for these maps.
pub(super) const ENCOUNTERS: &str = "encounters";

/// The cost of an encounter in steps of a map of divergence, roughly.
const TYPICAL_STEPS: u64 = 60_000;

/// The axis of a parameter.
fn axis(parameter: &Parameter) -> Axis {
    let [_, most] = parameter.allowed;
    let factor = match parameter.range {
        // Angles: half a turn.
        Some(_) if parameter.unit == "degrees" => 180.0,
        Some(_) if most < 1.0 => most_of(most),
        Some(_) => 1.0,
        None if parameter.default > 0.0 => parameter.default,
        None => 1.0,
    };
    let usual = parameter.range.map(|range| range.map(|x| x / factor));
    Axis::new(parameter, factor, usual.unwrap_or([0.5, 1.5]))
}

/// The presets.
pub(super) fn presets() -> [Value; 2] {
    [
        json!({
            "name": "encounters", "title": "Encounters", "scale": "log",
            "help": "Which body escapes when a single body meets a binary (Trani et al. 2024): phase and inclination of the binary.",
            "specification": { "system": ENCOUNTERS, "map": ["phase", "inclination"] },
            "view": { "center": [1.0, 0.5], "span": [2.0, 1.0] },
        }),
        json!({
            "name": "free-fall", "title": "Free fall", "scale": "log",
            "help": "Three equal masses at rest: which body escapes, over the position of the third (Agekyan & Anosova 1967).",
            "specification": { "system": ENCOUNTERS, "setup": Setup::FreeFall, "map": ["x", "y"] },
            "view": { "center": [0.25, 0.5], "span": [0.5, 1.0] },
        }),
    ]
}

/// Class and time of a record, as tiles have them.
fn pair(record: &Record) -> [f64; 2] {
    [f64::from(pictures::class(record)), record.time]
}

impl Shown for Overrides {
    const NOT_SHOWN: &'static [&'static str] = &["n", "seed", "draw", "map", "size", "max_error"];

    fn plane(&mut self) -> Result<(Vec<Axis>, [String; 2], Look), SpecError> {
        if let Some(steps) = self.max_steps.filter(|steps| *steps > MAX_STEPS) {
            let allowed = format!("the explorer takes up to {MAX_STEPS}");
            return Err(SpecError::new("max-steps", steps, allowed));
        }
        let setup = self.setup.unwrap_or(Setup::BinarySingle);
        let usual = match setup {
            Setup::FreeFall => ["x", "y"],
            _ => ["phase", "inclination"],
        };
        let classes = pictures::CLASSES.iter().enumerate();
        let classes = classes.map(|(class, (name, [r, g, b]))| {
            let colour = u32::from_be_bytes([0, *r, *g, *b]);
            json!({ "name": name, "colour": colour, "flat": !pictures::is_shaded(class) })
        });
        let look = Look {
            kind: ValueKind::Pair,
            steps: TYPICAL_STEPS,
            quantity: json!({
                "name": "outcome", "label": "time of the end", "unit": "time", "scale": "log",
                "classes": classes.collect::<Vec<_>>(),
            }),
            warnings: Vec::new(),
        };
        let all = setup.parameters().iter().map(axis).collect();
        Ok((all, usual.map(str::to_owned), look))
    }

    fn on_map(&self, axes: [(&str, [f64; 2]); 2], size: [u64; 2]) -> Self {
        let range = |(name, [low, high]): (&str, [f64; 2])| format!("{name}={low}:{high}");
        Self {
            map: axes.map(range).to_vec(),
            size: Some(OneOrTwo::Two(size)),
            ..self.clone()
        }
    }

    fn values(&self, records: &[Record]) -> Values {
        Values::Pairs(records.iter().map(pair).collect())
    }

    /// The encounters that start at these places.
    fn along(map: &EnsembleMap<Self>, places: &[[f64; 2]]) -> Result<Vec<Validated>, Refusal> {
        let mut numbers = Vec::with_capacity(21 * places.len());
        let mut settings = None;
        for place in places {
            let valid = map.at(*place)?;
            let bodies = valid.bodies(0);
            let vectors = bodies.positions.iter().chain(&bodies.velocities);
            numbers.extend(vectors.flatten().chain(&bodies.masses));
            settings.get_or_insert(valid);
        }
        let Some(settings) = settings else {
            return Ok(Vec::new());
        };
        let points = Points::new(&[places.len(), 21], numbers).map_err(refusal)?;
        let spec = settings.specification().clone().validate_points(&points);
        Ok(vec![spec.map_err(refusal)?])
    }

    fn certify() -> Option<Certify<Self>> {
        Some(|map, spec, records, cancel| {
            let monitor = StopWhenUnwanted(cancel);
            let found = Certificate::of(&map.devices, spec, records, &map.options, &monitor)?;
            let undecided = || vec![Verdict::Undecided as u8; records.len()];
            Ok(found.map_or_else(undecided, |(found, _)| found.of_runs))
        })
    }

    fn orbit(
        map: &EnsembleMap<Self>,
        spec: &Validated,
        samples: usize,
        cancel: &dyn Cancel,
    ) -> Result<Orbit, Ended> {
        // The last place comes in addition.
        let course = Course::of(spec, 0, samples - 1, || cancel.cancelled());
        let course = course.ok_or(Ended::Cancelled)?;
        // Devices may have another result than the orbit, which is integrated by the CPU.
        let record = if spec.specification().precision.is_portable() {
            course.record
        } else {
            let found = map.compute(spec, &map.options, cancel).map_err(ended)?;
            *Validated::slice(&found).first().ok_or(Ended::Cancelled)?
        };
        let reals = files::REALS.map(|(name, of)| (name, json!(of(&record))));
        let wholes = files::WHOLES.map(|(name, of)| (name, json!(of(&record))));
        let columns = ["steps", "time", "jumps", "energy_error"].map(str::to_owned);
        let positions =
            (1..=3).flat_map(|body| ["x", "y", "z"].map(|axis| format!("{axis}{body}")));
        let numbers = course.places.iter().flat_map(|place| {
            let head = [
                place.steps as f64,
                place.time,
                place.jumps.into(),
                place.energy_error,
            ];
            head.into_iter()
                .chain(place.positions.into_iter().flatten())
        });
        Ok(Orbit {
            summary: json!({
                "class": pictures::class(&record),
                "record": object(reals.into_iter().chain(wholes)),
                "masses": spec.bodies(0).masses,
                "same": same_bits(&course.record, &record),
            }),
            columns: columns.into_iter().chain(positions).collect(),
            samples: numbers.collect(),
        })
    }

    fn choices(parameter: &Declaration) -> Option<(Value, Value)> {
        match parameter.name {
            "setup" => Some((
                json!(Setup::BinarySingle),
                json!([Setup::BinarySingle, Setup::FreeFall]),
            )),
            "order" => Some((
                json!(Order::Six),
                json!([Order::Two, Order::Six, Order::Eight]),
            )),
            _ => None,
        }
    }

    fn python(given: &[Given<'_>], certain: bool) -> String {
        let argument = |(parameter, value): &Given<'_>| {
            let value = match parameter.name {
                "map" => json!(word(parameter, value)).to_string(),
                _ => value.to_string(),
            };
            (parameter.name.to_owned(), value)
        };
        let arguments = given.iter().map(argument);
        call(
            "found",
            "encounters",
            arguments.chain(certainty::argument(certain)),
        )
    }
}
