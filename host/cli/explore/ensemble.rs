//! Maps of ensembles for the explorer's server, written once for all of them: [`Shown`] is what an ensemble says of itself.
//!
//! The plane of such a map has coordinates of its own: the values of the two parameters in units that are short dyadic numbers or small
//! integers. Corners and sides of tiles are then exact in f64, as in other maps, and a pixel has the same start in every tile that
//! contains it.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map as Object, Value, json};
use trisolar::ensemble::{Devices, Ensemble, Executor as _, Sink, Task, compute};
use trisolar::run::partial::Contents as _;
use trisolar::run::{Backend, EngineError, RunOptions};
use trisolar::spec::{Declaration, Parameter, SpecError};
use trisolar_explore::{
    Cancel, Ended, Map, Orbit, OrbitEngine, Refusal, RequestEnd, Tile, TileEngine, TileSink,
    ValueKind, Values, View,
};

use super::certainty;
use super::requests::{StopWhenUnwanted, ended, read, refusal, refused};
use crate::records::RecordCommand;

/// The key of a specification that names the system of its map. Without it, the map is one of divergence.
pub(super) const SYSTEM: &str = "system";
/// The key of a specification that names the parameters along the axes.
const MAP: &str = "map";

/// A unit is an odd whole number of at most this many binary digits, times a power of two; see [`Axis::factor`].
const UNIT_DIGITS: i32 = 10;

/// A parameter that can be an axis of a map. Its range is in units of the plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Axis {
    pub name: String,
    /// The parameter's unit.
    pub unit: &'static str,
    /// The length of 1 along the axis in the parameter's unit: a short dyadic number or a small integer.
    pub factor: f64,
    /// The least and the greatest value.
    pub low: f64,
    pub high: f64,
    /// Whether the least value itself is excluded.
    pub above: bool,
    /// The range that is shown first.
    pub usual: [f64; 2],
}

impl Axis {
    /// The axis of a parameter, with a unit of this length.
    pub fn new(parameter: &Parameter, factor: f64, usual: [f64; 2]) -> Self {
        let [low, high] = parameter.allowed.map(|x| x / factor);
        Self {
            name: parameter.name.into(),
            unit: parameter.unit,
            factor,
            low,
            high,
            above: parameter.above,
            usual,
        }
    }

    /// Name and unit.
    fn label(&self) -> String {
        match self.unit {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// The power of two that is nearest to a number, 1 for 0.
pub(super) fn power_near(x: f64) -> f64 {
    let power = x.abs().log2().round().exp2();
    if (1e-12..1e12).contains(&power) {
        power
    } else {
        1.0
    }
}

/// The largest number of at most [`UNIT_DIGITS`] digits that is not above a greatest value below 1, which itself is not exact in products.
pub(super) fn most_of(greatest: f64) -> f64 {
    (greatest * 1024.0).floor() / 1024.0
}

/// What a map shows.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub kind: ValueKind,
    /// The cost of an item in steps of a map of divergence, roughly, from which the server plans its first work.
    pub steps: u64,
    /// The name, label, unit, scale, classes and range of the values, as the page needs them.
    pub quantity: Value,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What the explorer needs of the values that a user gives for an ensemble.
pub(super) trait Shown: RecordCommand + Send {
    /// Parameters that the view sets, that concern ensembles, or that concern commands.
    const NOT_SHOWN: &'static [&'static str];
    /// Parameters whose values are several lines of text.
    const LINES: &'static [&'static str] = &[];
    /// Whether the axes of a map have the order of [`axes`](Self::axes).
    const ORDERED: bool = false;

    /// The axes that a map may have, those of a map that names none, and what it shows. Values that cannot be shown are refused, and those
    /// that are needed in another form take it.
    fn plane(&mut self) -> Result<(Vec<Axis>, [String; 2], Look), SpecError>;

    /// These values with ranges of two parameters.
    fn on_map(&self, axes: [(&str, [f64; 2]); 2], size: [u64; 2]) -> Self;

    /// The values of a tile.
    fn values(&self, records: <Self::Of as Ensemble>::Slice<'_>) -> Values;

    /// Ensembles whose items, one after the other, are at these places; each has as many items as it can have.
    fn along(map: &EnsembleMap<Self>, places: &[[f64; 2]]) -> Result<Vec<Self::Of>, Refusal> {
        places.iter().map(|place| map.at(*place)).collect()
    }

    /// The orbit of the only item.
    fn orbit(
        map: &EnsembleMap<Self>,
        spec: &Self::Of,
        samples: usize,
        cancel: &dyn Cancel,
    ) -> Result<Orbit, Ended>;

    /// Finds the verdicts on items whose records are known, where the ensemble has certificates.
    fn certify() -> Option<Certify<Self>> {
        None
    }

    /// How accurate a view is; see [`TileEngine::accuracy`].
    fn accuracy(_: &EnsembleMap<Self>, _: &Self::Of, _: &dyn Cancel) -> Result<Value, EngineError> {
        Ok(Value::Null)
    }

    /// The default and the choices of a parameter, where they are not those of its declaration.
    fn choices(_: &Declaration) -> Option<(Value, Value)> {
        None
    }

    /// The scales of the colours that values of a parameter bring with them, by value.
    fn scales(_: &Declaration) -> Value {
        Value::Null
    }

    /// The call in Python with these values.
    fn python(given: &[Given<'_>], certain: bool) -> String;
}

/// Finds the [`Verdict`](trisolar::ensemble::Verdict)s on all items of an ensemble.
pub(super) type Certify<C> = fn(
    &EnsembleMap<C>,
    &<C as RecordCommand>::Of,
    <<C as RecordCommand>::Of as Ensemble>::Slice<'_>,
    &dyn Cancel,
) -> Result<Vec<u8>, EngineError>;

/// A parameter and its value.
pub(super) type Given<'a> = (&'static Declaration, &'a Value);

/// The name of an ensemble's command.
fn name<C: Shown>() -> &'static str {
    <C::Of as Ensemble>::Contents::COMMAND
}

/// The parameters on the page.
fn shown<C: Shown>() -> impl Iterator<Item = &'static Declaration> {
    let all = C::DECLARATIONS.iter();
    all.filter(|parameter| !C::NOT_SHOWN.contains(&parameter.name))
}

/// The description of an ensemble's maps for the page.
pub(super) fn declaration<C: Shown>(system: &str) -> Value {
    let parameters = shown::<C>().map(|parameter| {
        let (default, choices) = C::choices(parameter).unwrap_or_else(|| {
            let listed = parameter.choices.map(|choices| choices());
            // Without a choice, the default holds.
            let listed = listed.map(|names| [None].into_iter().chain(names.into_iter().map(Some)));
            (Value::Null, json!(listed.map(Iterator::collect::<Vec<_>>)))
        });
        let unit = Some(parameter.unit).filter(|unit| !unit.is_empty());
        let is_text = C::LINES.contains(&parameter.name);
        let kind = if is_text { "lines" } else { "free" };
        json!({
            "name": parameter.name, "kind": kind, "unit": unit, "placeholder": parameter.default,
            "separator": parameter.separator, "default": default, "choices": choices, "help": parameter.help(),
            "group": parameter.heading, "scales": C::scales(parameter),
        })
    });
    json!({
        "system": system,
        "parameters": parameters.collect::<Vec<_>>(),
        "certainty": C::certify().is_some(),
        "ordered": C::ORDERED,
    })
}

/// A map of an ensemble whose rectangle is not fixed yet.
pub(super) struct EnsembleMap<C: Shown> {
    content: String,
    pub overrides: C,
    axes: [Axis; 2],
    all: Vec<Axis>,
    /// Finds the verdicts, if they are the classes of pixels.
    certify: Option<Certify<C>>,
    pub look: Look,
    pub options: RunOptions,
    pub devices: Devices<C::Of>,
}

/// The map of a specification, which is an object.
///
/// # Errors
/// The first value that is not allowed.
pub(super) fn open<C: Shown>(
    specification: &Value,
    certain: bool,
    options: RunOptions,
    devices: &Devices<C::Of>,
) -> Result<Arc<dyn Map>, Refusal> {
    let certify = C::certify().filter(|_| certain);
    if certain && certify.is_none() {
        return Err(certainty::refused(name::<C>()));
    }
    let mut given = specification.as_object().cloned().unwrap_or_default();
    given.remove(SYSTEM);
    let names = given.remove(MAP);
    let known: Vec<String> = shown::<C>()
        .map(|parameter| parameter.name.into())
        .collect();
    let mut overrides: C = read(&Value::Object(given), &known)?;
    if let Some([first, second]) = overrides.conflict() {
        let allowed = format!("cannot be given together with {first}");
        return Err(Refusal::new(second, "", allowed));
    }
    let (all, usual, look) = overrides.plane().map_err(refusal)?;
    let names = names.unwrap_or_else(|| json!(usual));
    let place = |name: &Value| all.iter().position(|axis| name == &axis.name);
    let places = match names.as_array().map(Vec::as_slice) {
        Some([x, y]) => place(x).zip(place(y)),
        _ => None,
    };
    let ordered = |(x, y): &(usize, usize)| x != y && (x < y || !C::ORDERED);
    let Some((x, y)) = places.filter(ordered) else {
        let known: Vec<&str> = all.iter().map(|axis| axis.name.as_str()).collect();
        let order = if C::ORDERED { " in this order" } else { "" };
        let allowed = format!("must be two different of {}{order}", known.join(", "));
        return Err(Refusal::new(MAP, &names, allowed));
    };
    let text = overrides
        .toml()
        .map_err(|reason| Refusal::new("specification", "", reason))?;
    let axes = [x, y].map(|k| all[k].clone());
    Ok(Arc::new(EnsembleMap {
        content: format!(
            "{}{} {} {} {text}",
            name::<C>(),
            certainty::mark(certain),
            axes[0].name,
            axes[1].name
        ),
        overrides,
        axes,
        all,
        certify,
        look,
        options,
        devices: devices.clone(),
    }))
}

impl<C: Shown> EnsembleMap<C> {
    /// The options of the command for a map of this rectangle of the plane.
    fn rectangle(&self, low: [f64; 2], high: [f64; 2], size: [u64; 2]) -> C {
        let ([x, y], [far_x, far_y]) = (self.numbers(low), self.numbers(high));
        let axes = [(x.0, [x.1, far_x.1]), (y.0, [y.1, far_y.1])];
        self.overrides.on_map(axes, size)
    }

    fn tile(&self, tile: &Tile) -> Result<C::Of, Refusal> {
        let corner = [tile.x, tile.y].map(|k| k as f64 * tile.side());
        let far = corner.map(|x| x + tile.side());
        let overrides = self.rectangle(corner, far, [u64::from(tile.pixels); 2]);
        overrides.validate(None).map_err(refusal)
    }

    /// The ensemble of one item at this place of the plane: a map of one pixel starts at the low end of its ranges.
    pub fn at(&self, place: [f64; 2]) -> Result<C::Of, Refusal> {
        let far = place.map(|x| x + x.abs().max(1e-3) * 1e-9);
        let overrides = self.rectangle(place, far, [1, 1]);
        overrides.validate(None).map_err(refusal)
    }

    /// The parameters along the axes at a place of the plane.
    pub fn numbers(&self, place: [f64; 2]) -> [(&str, f64); 2] {
        [0, 1].map(|k| {
            let axis = &self.axes[k];
            (&*axis.name, place[k] * axis.factor)
        })
    }

    /// All values of an ensemble.
    pub fn compute(
        &self,
        spec: &C::Of,
        options: &RunOptions,
        cancel: &dyn Cancel,
    ) -> Result<<C::Of as Ensemble>::Values, EngineError> {
        let computed = compute(&self.devices, spec, options, &StopWhenUnwanted(cancel))?;
        Ok(computed.values)
    }

    /// The values of an ensemble with the verdicts on them.
    fn verdicts(
        &self,
        certify: Certify<C>,
        spec: &C::Of,
        cancel: &dyn Cancel,
    ) -> Result<Vec<[f64; 2]>, EngineError> {
        let found = self.compute(spec, &self.options, cancel)?;
        let records = C::Of::slice(&found);
        let verdicts = certify(self, spec, records, cancel)?;
        let numbers: Vec<f64> = match self.overrides.values(records) {
            Values::Pairs(pairs) => pairs.into_iter().map(|[_, number]| number).collect(),
            Values::F64(numbers) => numbers,
            Values::U32(numbers) => numbers.into_iter().map(f64::from).collect(),
        };
        Ok(certainty::pairs(&verdicts, numbers.into_iter()))
    }

    /// The part of a view in which the parameters are allowed, in so many pixels as it has there.
    fn allowed(&self, view: &View) -> C {
        let end = |k: usize, sign: f64| {
            let x = view.center[k] + sign * view.span[k] / 2.0;
            let axis = &self.axes[k];
            let least = if axis.above {
                axis.low.next_up()
            } else {
                axis.low
            };
            x.clamp(least, axis.high)
        };
        let [low, high] = [-1.0, 1.0].map(|sign| [end(0, sign), end(1, sign)]);
        let size = [0, 1].map(|k| {
            let share = (high[k] - low[k]) / view.span[k];
            ((view.size[k] as f64 * share).round() as u64).clamp(1, view.size[k].max(1))
        });
        self.rectangle(low, high, size)
    }
}

/// A value in the form that commands read.
pub(super) fn word(parameter: &Declaration, value: &Value) -> String {
    match value {
        Value::Array(parts) => {
            let separator = match parameter.separator {
                _ if parameter.name == "size" => 'x',
                _ if parts.iter().any(Value::is_array) => ':',
                separator => separator.unwrap_or(','),
            };
            let parts: Vec<String> = parts.iter().map(|part| word(parameter, part)).collect();
            parts.join(&separator.to_string())
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A word as shells read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:+/".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A command with these values.
pub(super) fn command(name: &str, given: &[Given<'_>]) -> String {
    let option = |(parameter, value): &Given<'_>| {
        let word = format!("--{}={}", parameter.option(), word(parameter, value));
        format!(" {}", quoted(&word))
    };
    let options: String = given.iter().map(option).collect();
    format!("trisolar {name}{options}")
}

/// Hands the values of a tile to the server.
struct ToTile<'a, C: Shown> {
    overrides: &'a C,
    tile: usize,
    sink: &'a dyn TileSink,
}

impl<C: Shown> Sink<C::Of> for ToTile<'_, C> {
    fn put(&self, first: u64, records: <C::Of as Ensemble>::Slice<'_>) -> Result<(), EngineError> {
        let values = self.overrides.values(records);
        self.sink.put(self.tile, first as usize, &values);
        Ok(())
    }
}

impl<C: Shown> TileEngine for EnsembleMap<C> {
    fn content(&self) -> &str {
        &self.content
    }

    fn kind(&self) -> ValueKind {
        match self.certify {
            Some(_) => ValueKind::Pair,
            None => self.look.kind,
        }
    }

    fn steps(&self) -> u64 {
        self.look.steps * certainty::cost(self.certify.is_some())
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
        let overrides = self.allowed(view);
        let [x, y] = &self.axes;
        let plane = json!({
            "axes": self.all, "names": [x.name, y.name],
            "quantity": self.look.quantity, "steps": self.look.steps,
        });
        // The page needs the plane even if nothing can be computed in this rectangle of it.
        if let Err(error) = overrides.validate(None) {
            return Ok(json!({ "plane": plane, "refusal": refusal(error) }));
        }
        let values = json!(overrides);
        let given = |name: &str| Some(&values[name]).filter(|v| !v.is_null() && **v != json!([]));
        let all = C::DECLARATIONS.iter();
        let all = all.filter_map(|parameter| Some((parameter, given(parameter.name)?)));
        let all: Vec<Given<'_>> = all.collect();
        let [label, unit] =
            ["label", "unit"].map(|key| self.look.quantity[key].as_str().unwrap_or_default());
        let value = match unit {
            "" => label.to_owned(),
            unit => format!("{label} ({unit})"),
        };
        Ok(json!({
            "command": certainty::command(command(name::<C>(), &all), self.certify.is_some()),
            "python": C::python(&all, self.certify.is_some()),
            "toml": overrides.toml().map_err(|reason| Refusal::new("specification", "", reason))?,
            "warnings": self.look.warnings,
            "labels": { "x": x.label(), "y": y.label(), "value": value },
            "plane": plane,
        }))
    }

    fn compute(
        &self,
        tiles: &[Tile],
        wanted: &[Vec<Range<usize>>],
        sink: &dyn TileSink,
        cancel: &dyn Cancel,
    ) -> Result<(), Ended> {
        if let Some(certify) = self.certify {
            return certainty::compute(tiles, wanted, sink, |tile| {
                let valid = self.tile(tile).map_err(refused)?;
                self.verdicts(certify, &valid, cancel).map_err(ended)
            });
        }
        for (number, (tile, wanted)) in tiles.iter().zip(wanted).enumerate() {
            let valid = self.tile(tile).map_err(refused)?;
            let spans: Vec<Range<u64>> = wanted
                .iter()
                .map(|r| r.start as u64..r.end as u64)
                .collect();
            if spans.is_empty() {
                continue;
            }
            let sink = ToTile {
                overrides: &self.overrides,
                tile: number,
                sink,
            };
            let task = Task::new(&valid, &spans, &sink);
            let ran = self
                .devices
                .stream(&task, &self.options, &StopWhenUnwanted(cancel));
            ran.map_err(ended)?;
        }
        Ok(())
    }

    fn accuracy(&self, view: &View, cancel: &dyn Cancel) -> Result<Value, RequestEnd> {
        let sample = View {
            size: [8, 8],
            ..*view
        };
        let spec = self.allowed(&sample).validate(None).map_err(refusal)?;
        Ok(C::accuracy(self, &spec, cancel).map_err(ended)?)
    }

    fn line(&self, positions: &[[f64; 2]], cancel: &dyn Cancel) -> Result<Values, RequestEnd> {
        let specs = C::along(self, positions)?;
        let options = match specs.len() {
            1 => self.options,
            // Single items are for the CPU.
            _ => RunOptions {
                backend: Backend::Cpu,
                threads: self.options.threads,
                simd: self.options.simd,
                ..RunOptions::default()
            },
        };
        let mut all = Values::none(self.look.kind);
        for spec in &specs {
            let values = self.compute(spec, &options, cancel).map_err(ended)?;
            all.append(self.overrides.values(C::Of::slice(&values)));
        }
        Ok(all)
    }
}

impl<C: Shown> OrbitEngine for EnsembleMap<C> {
    fn orbit(&self, tile: &Tile, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended> {
        let place = [tile.x, tile.y].map(|k| k as f64 * tile.side());
        let specs = C::along(self, &[place]).map_err(refused)?;
        let spec = specs.first().ok_or(Ended::Cancelled)?;
        C::orbit(self, spec, samples, cancel)
    }
}

/// Values by name as an object of JSON.
pub(super) fn object(values: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let named = values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Value::Object(named.collect::<Object<_, _>>())
}

/// A call of a function in Python, whose arguments are values by name and whose result has a name.
pub(super) fn call(
    result: &str,
    function: &str,
    arguments: impl IntoIterator<Item = (String, String)>,
) -> String {
    let arguments = arguments.into_iter();
    let lines = arguments.map(|(name, value)| format!("    {name}={value},\n"));
    format!(
        "import trisolar\n\n{result} = trisolar.{function}(\n{})\n",
        lines.collect::<String>()
    )
}
