//! Maps of the outcomes of encounters, for the explorer's server.
//!
//! The plane of such a map has coordinates of its own: the values of the two parameters in units that are short dyadic numbers or small
//! integers. Corners and sides of tiles are then exact in f64, as in other maps, and a pixel has the same start in every tile that
//! contains it.

use std::ops::Range;

use serde_json::{Value, json};
use trisolar::bodies::Points;
use trisolar::divergence::OneOrTwo;
use trisolar::encounters::{
    Course, Devices, Executor as _, Order, Overrides, Parameter, Record, Setup, Sink, Task,
    Validated, files, pictures, same_bits,
};
use trisolar::run::{EngineError, RunOptions};
use trisolar::spec::{Declaration, Parameters as _};
use trisolar_explore::{
    Cancel, Ended, Orbit, OrbitEngine, Refusal, RequestEnd, Tile, TileEngine, TileSink, ValueKind,
    Values, View,
};

use super::requests::{MAX_STEPS, StopWhenUnwanted, ended, read, refusal, refused};
use crate::records::RecordCommand as _;

/// The key of a specification that says of which system its map is, and its value for these maps.
pub(super) const SYSTEM: (&str, &str) = ("system", "encounters");

/// Parameters that the view sets, that concern ensembles, or that concern commands.
const NOT_SHOWN: [&str; 6] = ["n", "seed", "draw", "map", "size", "max_error"];

/// The cost of an encounter in steps of a map of divergence, roughly, from which the server plans its first work.
const TYPICAL_STEPS: u64 = 60_000;

/// Largest number of binary digits of a unit's odd part; see [`unit`].
const UNIT_DIGITS: i32 = 10;

/// The parameters on the page.
fn shown() -> impl Iterator<Item = &'static Declaration> {
    let all = Overrides::DECLARATIONS.iter();
    all.filter(|parameter| !NOT_SHOWN.contains(&parameter.name))
}

/// The length of 1 along an axis of the plane, in the parameter's unit.
fn unit(parameter: &Parameter) -> f64 {
    let [_, most] = parameter.allowed;
    match parameter.range {
        // Angles: half a turn.
        Some(_) if parameter.unit == "degrees" => 180.0,
        // The eccentricity: nearly all of its range.
        Some(_) if most < 1.0 => (most * 1024.0).floor() / 1024.0,
        Some(_) => 1.0,
        None if parameter.default > 0.0 => parameter.default,
        None => 1.0,
    }
}

/// The description of these maps for the page.
pub(super) fn declaration() -> Value {
    let parameters: Vec<Value> = shown()
        .map(|parameter| {
            let unit = Some(parameter.unit).filter(|unit| !unit.is_empty());
            let setups = || Setup::NAMED.iter().map(|s| s.name()).filter(|name| *name != "burrau");
            let choices = match parameter.name {
                "setup" => Some(setups().map(Value::from).collect()),
                "order" => Some([Order::Two, Order::Six, Order::Eight].map(|o| json!(o)).to_vec()),
                _ => None,
            };
            let group = match parameter.heading {
                "Start" => "Start of the encounters",
                _ => "Integration and ends",
            };
            json!({
                "name": parameter.name, "kind": "free", "unit": unit, "placeholder": parameter.default,
                "default": match parameter.name {
                    "setup" => json!(Setup::BinarySingle),
                    "order" => json!(Order::Six),
                    _ => Value::Null,
                },
                "choices": choices.map(Value::Array), "help": parameter.help(), "group": group,
            })
        })
        .collect();
    let axes = |setup: Setup| -> Vec<Value> {
        let axis = |parameter: &Parameter| {
            let unit = unit(parameter);
            let [low, high] = parameter.allowed.map(|x| x / unit);
            let usual = parameter
                .range
                .map_or([0.5, 1.5], |range| range.map(|x| x / unit));
            json!({
                "name": parameter.name, "unit": parameter.unit, "factor": unit,
                "low": low, "high": high, "above": parameter.above, "usual": usual,
            })
        };
        setup.parameters().iter().map(axis).collect()
    };
    let classes = pictures::CLASSES.iter().enumerate();
    let classes = classes.map(|(class, (name, [r, g, b]))| {
        let colour = u32::from_be_bytes([0, *r, *g, *b]);
        json!({ "name": name, "colour": colour, "flat": !pictures::is_shaded(class) })
    });
    let classes: Vec<Value> = classes.collect();
    json!({
        "system": SYSTEM.1,
        "parameters": parameters,
        "axes": {
            Setup::BinarySingle.name(): axes(Setup::BinarySingle),
            Setup::FreeFall.name(): axes(Setup::FreeFall),
        },
        "steps": TYPICAL_STEPS,
        "quantity": { "name": "outcome", "label": "time of the end", "unit": "time", "scale": "log", "classes": classes },
    })
}

/// The presets.
pub(super) fn presets() -> Vec<Value> {
    vec![
        json!({
            "name": "encounters", "title": "Encounters",
            "help": "Which body escapes when a single body meets a binary (Trani et al. 2024): phase and inclination of the binary.",
            "specification": { SYSTEM.0: SYSTEM.1, "map": ["phase", "inclination"] },
            "view": { "center": [1.0, 0.5], "span": [2.0, 1.0] },
        }),
        json!({
            "name": "free-fall", "title": "Free fall",
            "help": "Three equal masses at rest: which body escapes, over the position of the third (Agekyan & Anosova 1967).",
            "specification": { SYSTEM.0: SYSTEM.1, "setup": Setup::FreeFall, "map": ["x", "y"] },
            "view": { "center": [0.25, 0.5], "span": [0.5, 1.0] },
        }),
    ]
}

/// A map of outcomes whose rectangle is not fixed yet.
pub(super) struct OutcomeMap {
    content: String,
    overrides: Overrides,
    axes: [&'static Parameter; 2],
    options: RunOptions,
    devices: Devices,
}

impl OutcomeMap {
    /// The map of a specification.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn new(
        specification: &Value,
        options: RunOptions,
        devices: Devices,
    ) -> Result<Self, Refusal> {
        let mut given = specification.clone();
        let object = given.as_object_mut();
        let object = object.expect("an object names its system");
        object.remove(SYSTEM.0);
        let names = object
            .remove("map")
            .unwrap_or(json!(["phase", "inclination"]));
        let known: Vec<String> = shown().map(|parameter| parameter.name.into()).collect();
        let overrides: Overrides = read(&given, &known)?;
        if let Some(steps) = overrides.max_steps.filter(|steps| *steps > MAX_STEPS) {
            let allowed = format!("the explorer takes up to {MAX_STEPS}");
            return Err(Refusal::new("max_steps", steps, allowed));
        }
        let setup = overrides.setup.unwrap_or(Setup::BinarySingle);
        let wrong = || {
            let known: Vec<&str> = setup.parameters().iter().map(|p| p.name).collect();
            let allowed = format!("must be two different of {}", known.join(", "));
            Refusal::new("map", &names, allowed)
        };
        let named = |name: &Value| Some(setup.parameter(name.as_str()?)?.1);
        let axes = match names.as_array().map(Vec::as_slice) {
            Some([x, y]) if x != y => [named(x), named(y)],
            _ => [None, None],
        };
        let [Some(x), Some(y)] = axes else {
            return Err(wrong());
        };
        let text = overrides
            .toml()
            .map_err(|reason| Refusal::new("specification", "", reason))?;
        Ok(Self {
            content: format!("encounters {} {} {text}", x.name, y.name),
            overrides,
            axes: [x, y],
            options,
            devices,
        })
    }

    /// The values of a map of this rectangle of the plane.
    fn overrides(&self, low: [f64; 2], high: [f64; 2], size: [u64; 2]) -> Overrides {
        let axis = |k: usize| {
            let unit = unit(self.axes[k]);
            format!("{}={}:{}", self.axes[k].name, low[k] * unit, high[k] * unit)
        };
        Overrides {
            map: vec![axis(0), axis(1)],
            size: Some(OneOrTwo::Two(size)),
            ..self.overrides.clone()
        }
    }

    fn tile(&self, tile: &Tile) -> Result<Validated, Refusal> {
        let corner = [tile.x, tile.y].map(|k| k as f64 * tile.side());
        let far = corner.map(|x| x + tile.side());
        let overrides = self.overrides(corner, far, [u64::from(tile.pixels); 2]);
        overrides.validated(None).map_err(refusal)
    }
}

/// Class and time of a record, as tiles have them.
fn pair(record: &Record) -> [f64; 2] {
    [f64::from(pictures::class(record)), record.time]
}

/// The forms of a value that commands and Python read.
fn word(value: &Value) -> String {
    match value {
        Value::Array(parts) => parts.iter().map(word).collect::<Vec<_>>().join(","),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Hands the records of a tile to the server.
struct ToTile<'a> {
    tile: usize,
    sink: &'a dyn TileSink,
}

impl Sink<Validated> for ToTile<'_> {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        let values = Values::Pairs(records.iter().map(pair).collect());
        self.sink.put(self.tile, first as usize, &values);
        Ok(())
    }
}

impl TileEngine for OutcomeMap {
    fn content(&self) -> &str {
        &self.content
    }

    fn kind(&self) -> ValueKind {
        ValueKind::Pair
    }

    fn steps(&self) -> u64 {
        TYPICAL_STEPS
    }

    fn check(&self, tile: &Tile) -> Result<(), Refusal> {
        // The number of the last pixel times the unit must be exact.
        let pixels = i128::from(tile.x.abs().max(tile.y.abs()) + 1) * i128::from(tile.pixels);
        if pixels >= 1 << (53 - UNIT_DIGITS) {
            let given = format!("[{}, {}, {}, {}]", tile.level, tile.x, tile.y, tile.pixels);
            let allowed =
                "64-bit numbers end here: neighbouring pixels would not start at even distances";
            return Err(Refusal::new("tiles", given, allowed));
        }
        self.tile(tile).map(drop)
    }

    fn describe(&self, view: &View) -> Result<Value, Refusal> {
        // The part of the view in which the parameters are allowed.
        let end = |k: usize, sign: f64| {
            let x = view.center[k] + sign * view.span[k] / 2.0;
            let unit = unit(self.axes[k]);
            let [least, most] = self.axes[k].allowed.map(|x| x / unit);
            x.clamp(least, most)
        };
        let [low, high] = [-1.0, 1.0].map(|sign| [end(0, sign), end(1, sign)]);
        let size = [0, 1].map(|k| {
            let share = (high[k] - low[k]) / view.span[k];
            ((view.size[k] as f64 * share).round() as u64).clamp(1, view.size[k].max(1))
        });
        let overrides = self.overrides(low, high, size);
        overrides.validated(None).map_err(refusal)?;
        let values = json!(overrides);
        let given = |name: &str| Some(&values[name]).filter(|v| !v.is_null() && **v != json!([]));
        let all: Vec<(&str, &Value)> = Overrides::DECLARATIONS
            .iter()
            .filter_map(|parameter| Some((parameter.name, given(parameter.name)?)))
            .collect();
        let options = all.iter().map(|(name, value)| {
            let word = if *name == "size" {
                word(value).replace(',', "x")
            } else {
                word(value)
            };
            format!(" --{}={word}", name.replace('_', "-"))
        });
        let keywords = all.iter().map(|(name, value)| match *name {
            "map" => format!("    map={},\n", json!(word(value))),
            name => format!("    {name}={value},\n"),
        });
        let label = |k: usize| match self.axes[k].unit {
            "" => self.axes[k].name.to_owned(),
            unit => format!("{} ({unit})", self.axes[k].name),
        };
        Ok(json!({
            "command": format!("trisolar encounters{}", options.collect::<String>()),
            "python": format!("import trisolar\n\nencounters = trisolar.encounters(\n{})\n", keywords.collect::<String>()),
            "toml": overrides.toml().map_err(|reason| Refusal::new("specification", "", reason))?,
            "warnings": [],
            "labels": { "x": label(0), "y": label(1), "value": "time of the end (time)" },
        }))
    }

    fn compute(
        &self,
        tiles: &[Tile],
        wanted: &[Vec<Range<usize>>],
        sink: &dyn TileSink,
        cancel: &dyn Cancel,
    ) -> Result<(), Ended> {
        for (number, (tile, wanted)) in tiles.iter().zip(wanted).enumerate() {
            let valid = self.tile(tile).map_err(refused)?;
            let spans: Vec<Range<u64>> = wanted
                .iter()
                .map(|r| r.start as u64..r.end as u64)
                .collect();
            if spans.is_empty() {
                continue;
            }
            let sink = ToTile { tile: number, sink };
            let task = Task::new(&valid, &spans, &sink);
            let ran = self
                .devices
                .stream(&task, &self.options, &StopWhenUnwanted(cancel));
            ran.map_err(ended)?;
        }
        Ok(())
    }

    fn line(&self, positions: &[[f64; 2]], cancel: &dyn Cancel) -> Result<Values, RequestEnd> {
        let records = match self.starting_at(positions)? {
            Some(spec) => self.records(&spec, cancel)?,
            None => Vec::new(),
        };
        Ok(Values::Pairs(records.iter().map(pair).collect()))
    }
}

impl OutcomeMap {
    /// The encounters that start at these places of the plane, if there are any.
    fn starting_at(&self, places: &[[f64; 2]]) -> Result<Option<Validated>, Refusal> {
        let mut numbers = Vec::with_capacity(21 * places.len());
        let mut settings = None;
        for place in places {
            // A map of one pixel starts at the low end of its ranges.
            let overrides =
                self.overrides(*place, place.map(|x| x + x.abs().max(1e-3) * 1e-9), [1, 1]);
            let valid = overrides.validated(None).map_err(refusal)?;
            let bodies = valid.bodies(0);
            let vectors = bodies.positions.iter().chain(&bodies.velocities);
            numbers.extend(vectors.flatten().chain(&bodies.masses));
            settings.get_or_insert(valid);
        }
        let Some(settings) = settings else {
            return Ok(None);
        };
        let points = Points::new(&[places.len(), 21], numbers).map_err(refusal)?;
        let spec = settings.specification().clone().validate_points(&points);
        spec.map(Some).map_err(refusal)
    }

    /// The records of these encounters.
    fn records(&self, spec: &Validated, cancel: &dyn Cancel) -> Result<Vec<Record>, Ended> {
        let monitor = StopWhenUnwanted(cancel);
        let ran = trisolar::encounters::run_on(&self.devices, spec, &self.options, &monitor);
        Ok(ran.map_err(ended)?.records.to_vec())
    }
}

impl OrbitEngine for OutcomeMap {
    fn orbit(&self, tile: &Tile, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended> {
        let place = [tile.x, tile.y].map(|k| k as f64 * tile.side());
        let spec = self.starting_at(&[place]).map_err(refused)?;
        let spec = spec.ok_or(Ended::Cancelled)?;
        // The last place comes in addition.
        let course = Course::of(&spec, 0, samples - 1, || cancel.cancelled());
        let course = course.ok_or(Ended::Cancelled)?;
        // Devices may have another result than the orbit, which is integrated by the CPU.
        let record = match spec.specification().precision.is_portable() {
            true => course.record,
            false => *self
                .records(&spec, cancel)?
                .first()
                .ok_or(Ended::Cancelled)?,
        };
        let reals = files::REALS.map(|(name, of)| (name, json!(of(&record))));
        let wholes = files::WHOLES.map(|(name, of)| (name, json!(of(&record))));
        let values: serde_json::Map<String, Value> = (reals.into_iter().chain(wholes))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
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
                "record": values,
                "masses": spec.bodies(0).masses,
                "same": same_bits(&course.record, &record),
            }),
            columns: columns.into_iter().chain(positions).collect(),
            samples: numbers.collect(),
        })
    }
}
