//! Maps of the library for the explorer's server: tiles, lines, and a view in other forms.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};
use trisolar::bodies::Points;
use trisolar::divergence::{
    Center, Certificate, Devices, Executor as _, Overrides, Sink, Specification, Task, Validated,
    ValueSlice, ValueType, resolution_of, step_check,
};
use trisolar::ensemble::compute;
use trisolar::equation_text::Text;
use trisolar::gpu::{self, DeviceInfo};
use trisolar::output::Shown;
use trisolar::run::{Backend, EngineError, RunOptions};
use trisolar::simd::Simd;
use trisolar::{config, machine, output};
use trisolar::{encounters, planets, system};
use trisolar_explore::{
    Cancel, Ended, Engine, Map, Orbit, OrbitEngine, Refusal, RequestEnd, Tile, TileEngine,
    TileSink, ValueKind, Values, View,
};

use super::super::Failure;
use super::ensemble::{SYSTEM, open};
use super::equations::EQUATIONS;
use super::outcomes::ENCOUNTERS;
use super::planets::PLANETS;
use super::requests::{MAX_STEPS, StopWhenUnwanted, ended, read, refusal, refused};
use super::{certainty, declaration, orbit};

/// Largest number of pixels of a view whose values are checked with a finer step.
const CHECKED_PIXELS: u64 = 256;
/// Pixel-steps of the view that this check may repeat; with the finer step it takes five times as many.
const CHECKED_PIXEL_STEPS: u64 = 32_000_000;

/// The devices, and their expected speed.
enum NamedDevices {
    Cpu { threads: usize, simd: Simd },
    Gpus { names: Vec<String> },
}

/// Opens maps of this process's devices.
pub(super) struct Maps {
    devices: Devices,
    encounters: encounters::Devices,
    planets: planets::Devices,
    equations: trisolar::ensemble::Devices<system::Validated<Text>>,
    options: RunOptions,
    place: NamedDevices,
}

impl Maps {
    /// # Errors
    /// Requested GPUs do not exist, or contradict the backend.
    pub fn new(options: RunOptions) -> Result<Self, Failure> {
        options.check()?;
        let listed = match options.backend {
            Backend::Cpu => Ok(Vec::new()),
            Backend::Auto | Backend::Gpu => gpu::devices(),
        };
        if options.gpus.is_definite() {
            options.check_with(listed.as_deref())?;
        }
        let listed = match options.backend {
            Backend::Gpu => listed.map_err(EngineError::from)?,
            Backend::Auto | Backend::Cpu => listed.unwrap_or_default(),
        };
        let chosen = |gpu: &DeviceInfo| {
            let mut numbers = options.gpus.numbers();
            !options.gpus.is_definite() || numbers.any(|number| number == gpu.index)
        };
        let listed = listed.into_iter();
        let names: Vec<String> = listed.filter(chosen).map(|gpu| gpu.name).collect();
        let place = if names.is_empty() {
            let threads = options.threads.unwrap_or_else(machine::threads);
            let simd = options.simd.unwrap_or_else(Simd::best);
            NamedDevices::Cpu { threads, simd }
        } else {
            NamedDevices::Gpus { names }
        };
        Ok(Self {
            devices: Devices::new(),
            encounters: encounters::Devices::new(),
            planets: planets::Devices::new(),
            equations: trisolar::ensemble::Devices::new(),
            options,
            place,
        })
    }

    /// The devices in words.
    pub fn device(&self) -> String {
        match &self.place {
            NamedDevices::Cpu { threads, simd } => {
                let s = if *threads == 1 { "" } else { "s" };
                format!("{}, {simd}, {threads} thread{s}", machine::cpu_name())
            }
            NamedDevices::Gpus { names } if names.len() == 1 => names[0].clone(),
            NamedDevices::Gpus { names } => format!("{} x {}", names.len(), names[0]),
        }
    }

    /// Opens the devices before the first request for a tile. An error is ignored here, because the request repeats and reports it.
    pub fn warm_up(self: &Arc<Self>) {
        let maps = self.clone();
        std::thread::spawn(move || {
            let small = Specification {
                size: [16, 16],
                steps: 16,
                ..Specification::default()
            };
            if let Ok(valid) = small.validate() {
                drop(all(&valid, &maps.devices, &maps.options, &Always));
            }
        });
    }
}

struct Always;

impl Cancel for Always {
    fn cancelled(&self) -> bool {
        false
    }
}

impl Engine for Maps {
    fn declaration(&self) -> Value {
        declaration::of(
            &self.device(),
            matches!(self.place, NamedDevices::Gpus { .. }),
        )
    }

    fn map(&self, specification: &Value) -> Result<Arc<dyn Map>, Refusal> {
        let mut specification = specification.clone();
        let certain = certainty::wanted(&mut specification)?;
        let (s, options) = (&specification, self.options);
        match s.get(SYSTEM).and_then(Value::as_str) {
            Some(ENCOUNTERS) => {
                return open::<encounters::Overrides>(s, certain, options, &self.encounters);
            }
            Some(PLANETS) => {
                return open::<planets::Overrides>(s, certain, options, &self.planets);
            }
            Some(EQUATIONS) => {
                return open::<system::Overrides>(s, certain, options, &self.equations);
            }
            _ => {}
        }
        let overrides: Overrides = read(s, &declaration::accepted())?;
        let origin = overrides.center.unwrap_or_default();
        let mut specification = Specification {
            size: [1, 1],
            center: origin,
            span: [1.0, 1.0],
            ..Specification::from(overrides)
        };
        // The page counts from a place of its own where 64-bit numbers do not tell pixels apart.
        if origin != Center::default() {
            specification = specification.in_double_double().unwrap_or(specification);
        }
        if specification.steps > MAX_STEPS {
            let allowed = format!("the explorer takes up to {MAX_STEPS}");
            return Err(Refusal::new("steps", specification.steps, allowed));
        }
        let mut content = json!(specification);
        if let Some(object) = content.as_object_mut() {
            declaration::RECTANGLE
                .iter()
                .for_each(|key| drop(object.remove(*key)));
            if origin != Center::default() {
                object.insert("center".into(), json!(origin));
            }
        }
        // Values whose bits depend on the device get cache keys of their own.
        let device = match (&self.place, specification.precision.is_portable()) {
            (_, true) => String::new(),
            (_, false) => format!(" on {}", self.device()),
        };
        Ok(Arc::new(OneMap {
            content: format!("divergence{}{device} {content}", certainty::mark(certain)),
            specification,
            certain,
            devices: self.devices.clone(),
            options: self.options,
        }))
    }

    fn concurrency(&self) -> usize {
        match self.place {
            NamedDevices::Cpu { .. } => 1,
            NamedDevices::Gpus { .. } => 2,
        }
    }

    fn takes_single_pixels(&self) -> bool {
        matches!(self.place, NamedDevices::Cpu { .. })
    }

    fn expected_rate(&self) -> f64 {
        match &self.place {
            NamedDevices::Cpu { threads, .. } => 1e8 * *threads as f64,
            NamedDevices::Gpus { names } => 5e10 * names.len() as f64,
        }
    }
}

/// Values in the form of the server.
fn values_of(values: ValueSlice<'_>) -> Values {
    match values {
        ValueSlice::U32(values) => Values::U32(values.to_vec()),
        ValueSlice::F64(values) => Values::F64(values.to_vec()),
    }
}

/// All values of a map, without the checks of accuracy that a command makes beside it.
fn all(
    spec: &Validated,
    devices: &Devices,
    options: &RunOptions,
    cancel: &dyn Cancel,
) -> Result<Values, EngineError> {
    let computed = compute(devices, spec, options, &StopWhenUnwanted(cancel))?;
    Ok(values_of(computed.values.as_slice()))
}

/// A map whose rectangle is not fixed yet.
struct OneMap {
    content: String,
    specification: Specification,
    /// Whether pixels have verdicts.
    certain: bool,
    devices: Devices,
    options: RunOptions,
}

impl OneMap {
    fn rectangle(
        &self,
        center: [f64; 2],
        span: [f64; 2],
        size: [u64; 2],
    ) -> Result<Validated, Refusal> {
        let specification = Specification {
            size,
            center: self.specification.center.moved(center),
            span,
            ..self.specification.clone()
        };
        specification.validate().map_err(refusal)
    }

    fn tile(&self, tile: &Tile) -> Result<Validated, Refusal> {
        let pixels = u64::from(tile.pixels);
        self.rectangle(tile.center(), [tile.side(); 2], [pixels; 2])
    }

    /// The values of a map with the verdicts on them.
    fn verdicts(
        &self,
        valid: &Validated,
        cancel: &dyn Cancel,
    ) -> Result<Vec<[f64; 2]>, EngineError> {
        let monitor = StopWhenUnwanted(cancel);
        let values = compute(&self.devices, valid, &self.options, &monitor)?.values;
        let values = values.as_slice();
        let (found, _) = Certificate::of(&self.devices, valid, values, &self.options, &monitor)?;
        Ok(certainty::pairs(&found.of_pixels, values.numbers()))
    }
}

impl TileEngine for OneMap {
    fn content(&self) -> &str {
        &self.content
    }

    fn kind(&self) -> ValueKind {
        match self.specification.quantity.value_type() {
            _ if self.certain => ValueKind::Pair,
            ValueType::U32 => ValueKind::U32,
            ValueType::F64 => ValueKind::F64,
        }
    }

    fn steps(&self) -> u64 {
        self.specification.steps * certainty::cost(self.certain)
    }

    fn check(&self, tile: &Tile) -> Result<(), Refusal> {
        self.tile(tile).map(drop)
    }

    fn describe(&self, view: &View) -> Result<Value, Refusal> {
        let valid = self.rectangle(view.center, view.span, view.size)?;
        let [command, python] = declaration::forms(valid.specification(), self.certain);
        // The page says itself from where it counts.
        let near_zero = Specification {
            center: Center::default(),
            ..valid.specification().clone()
        };
        let labels = output::labels(&near_zero, "");
        let value = if valid.specification().quantity.counts_steps() {
            Shown::Time.label()
        } else {
            None
        };
        let [value, unit] = value.unwrap_or([&labels.value, &labels.unit]);
        Ok(json!({
            "command": command,
            "python": python,
            "toml": config::to_text(valid.specification()),
            "method": valid.specification().method(),
            "warnings": valid.warnings(),
            "labels": {
                "x": format!("{} ({})", labels.x.name, labels.x.unit),
                "y": format!("{} ({})", labels.y.name, labels.y.unit),
                "value": format!("{value} ({unit})"),
            },
        }))
    }

    fn compute(
        &self,
        tiles: &[Tile],
        wanted: &[Vec<Range<usize>>],
        sink: &dyn TileSink,
        cancel: &dyn Cancel,
    ) -> Result<(), Ended> {
        if self.certain {
            return certainty::compute(tiles, wanted, sink, |tile| {
                let valid = self.tile(tile).map_err(refused)?;
                self.verdicts(&valid, cancel).map_err(ended)
            });
        }
        let block = TileBlock::around(tiles);
        let valid = self.rectangle(block.center(), [block.span(); 2], [block.width(); 2]);
        let valid = valid.map_err(refused)?;
        let spans = block.spans(tiles, wanted);
        if spans.is_empty() {
            return Ok(());
        }
        let to_tiles = ToTiles {
            places: block.places(tiles),
            block,
            sink,
        };
        let task = Task::new(&valid, &spans, &to_tiles);
        let ran = self
            .devices
            .stream(&task, &self.options, &StopWhenUnwanted(cancel));
        ran.map(drop).map_err(ended)
    }

    fn accuracy(&self, view: &View, cancel: &dyn Cancel) -> Result<Value, RequestEnd> {
        let valid = self.rectangle(view.center, view.span, view.size)?;
        let monitor = StopWhenUnwanted(cancel);
        let RunOptions { threads, simd, .. } = self.options;
        let unresolved = resolution_of(&valid, threads, simd, &|| cancel.cancelled());
        let unresolved = unresolved.map_err(ended)?;
        let affordable = CHECKED_PIXEL_STEPS / valid.specification().steps;
        let most = affordable.clamp(1, CHECKED_PIXELS);
        let step = match affordable {
            0 => None,
            _ => step_check(&self.devices, &valid, most, &self.options, &monitor).map_err(ended)?,
        };
        Ok(json!({ "unresolved": unresolved, "step": step }))
    }

    fn line(&self, positions: &[[f64; 2]], cancel: &dyn Cancel) -> Result<Values, RequestEnd> {
        let s = &self.specification;
        let grid_body = s.positions[usize::from(s.body) - 1];
        let axes = s.plane.axes();
        let states = positions.iter().map(|position| {
            let mut state = grid_body.to_array().map(|x| [x, 0.0]);
            let place = s.center.moved(*position).long();
            axes.into_iter()
                .zip(place)
                .for_each(|(axis, x)| state[axis] = x);
            state
        });
        let points = Points::of_places(&states.collect::<Vec<_>>()).map_err(refusal)?;
        let valid = s.clone().validate_points(points).map_err(refusal)?;
        Ok(all(&valid, &self.devices, &self.options, cancel).map_err(ended)?)
    }
}

impl OrbitEngine for OneMap {
    fn orbit(&self, tile: &Tile, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended> {
        orbit::of(&self.tile(tile).map_err(refused)?, samples, cancel)
    }
}

/// The smallest square of 2ᵏ × 2ᵏ tiles that holds some tiles. Its pixels have the coordinates of theirs, bit for bit: corners and
/// sides are dyadic numbers, and so are all quotients of a pixel's number and their count.
#[derive(Clone, Copy)]
struct TileBlock {
    first: Tile,
    /// Tiles along a side.
    tiles: u64,
}

impl TileBlock {
    fn around(tiles: &[Tile]) -> Self {
        let low = |of: fn(&Tile) -> i64| tiles.iter().map(of).min().unwrap_or(0);
        let high = |of: fn(&Tile) -> i64| tiles.iter().map(of).max().unwrap_or(0);
        let (x, y) = (low(|t| t.x), low(|t| t.y));
        let extent = (high(|t| t.x) - x).max(high(|t| t.y) - y) as u64 + 1;
        Self {
            first: Tile { x, y, ..tiles[0] },
            tiles: extent.next_power_of_two(),
        }
    }

    /// Pixels of a tile along a side.
    fn pixels(&self) -> u64 {
        u64::from(self.first.pixels)
    }

    /// Pixels along a side.
    fn width(&self) -> u64 {
        self.tiles * self.pixels()
    }

    fn span(&self) -> f64 {
        self.first.side() * self.tiles as f64
    }

    fn center(&self) -> [f64; 2] {
        [self.first.x, self.first.y]
            .map(|k| (k as f64 + self.tiles as f64 / 2.0) * self.first.side())
    }

    /// Column and row of a tile in the block.
    fn place(&self, tile: &Tile) -> [u64; 2] {
        [tile.x - self.first.x, tile.y - self.first.y].map(|k| k as u64)
    }

    /// The tile at each place, row by row.
    fn places(&self, tiles: &[Tile]) -> Vec<Option<usize>> {
        let mut places = vec![None; (self.tiles * self.tiles) as usize];
        for (number, tile) in tiles.iter().enumerate() {
            let [column, row] = self.place(tile);
            places[(row * self.tiles + column) as usize] = Some(number);
        }
        places
    }

    /// The wanted pixels of all tiles as numbers of the block's, in ascending order.
    fn spans(&self, tiles: &[Tile], wanted: &[Vec<Range<usize>>]) -> Vec<Range<u64>> {
        let n = self.pixels();
        let mut spans = Vec::new();
        for (tile, ranges) in tiles.iter().zip(wanted) {
            let [column, row] = self.place(tile);
            for range in ranges {
                let (mut start, end) = (range.start as u64, range.end as u64);
                while start < end {
                    let stop = end.min((start / n + 1) * n);
                    let at = (row * n + start / n) * self.width() + column * n + start % n;
                    spans.push(at..at + (stop - start));
                    start = stop;
                }
            }
        }
        spans.sort_by_key(|span| span.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if last.end == span.start => last.end = span.end,
                _ => merged.push(span),
            }
        }
        merged
    }
}

/// Hands a block's results to its tiles.
struct ToTiles<'a> {
    block: TileBlock,
    places: Vec<Option<usize>>,
    sink: &'a dyn TileSink,
}

impl Sink<Validated> for ToTiles<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let (n, width) = (self.block.pixels(), self.block.width());
        let mut at = 0;
        while at < values.len() {
            let pixel = first + at as u64;
            let (row, column) = (pixel / width, pixel % width);
            let left = (values.len() - at) as u64;
            // In a block of a single tile the rows are consecutive.
            let run = if width == n {
                left
            } else {
                left.min(n - column % n)
            };
            let run = values.range(at..at + run as usize);
            let place = row / n * self.block.tiles + column / n;
            if let Some(tile) = self.places[place as usize] {
                let start = row % n * n + column % n;
                self.sink.put(tile, start as usize, &values_of(run));
            }
            at += run.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wanted_pixel_of_every_tile_comes_back_once_and_in_its_place() {
        use std::sync::Mutex;
        struct Recorder(Mutex<Vec<Vec<u32>>>);
        impl TileSink for Recorder {
            fn put(&self, tile: usize, first: usize, values: &Values) {
                let Values::U32(values) = values else {
                    panic!("counts");
                };
                let mut tiles = self.0.lock().unwrap();
                for (k, value) in values.iter().enumerate() {
                    assert_eq!(tiles[tile][first + k], 0, "once");
                    tiles[tile][first + k] = *value;
                }
            }
        }
        let at = |x, y| Tile {
            level: 9,
            x,
            y,
            pixels: 8,
        };
        for tiles in [
            vec![at(-3, 5)],
            vec![at(-3, 5), at(-2, 5)],
            vec![at(2, 2), at(-1, 0), at(0, 1)],
        ] {
            let block = TileBlock::around(&tiles);
            let wanted = vec![vec![0..3, 5..29, 40..64]; tiles.len()];
            let spans = block.spans(&tiles, &wanted);
            let record = Recorder(Mutex::new(vec![vec![0; 64]; tiles.len()]));
            let to_tiles = ToTiles {
                places: block.places(&tiles),
                block,
                sink: &record,
            };
            for span in spans {
                let values: Vec<u32> = span.clone().map(|pixel| pixel as u32 + 1).collect();
                to_tiles.put(span.start, ValueSlice::U32(&values)).unwrap();
            }
            let corner = [0, 1].map(|k| block.center()[k] - block.span() / 2.0);
            for (tile, values) in tiles.iter().zip(record.0.into_inner().unwrap()) {
                for (pixel, value) in values.into_iter().enumerate() {
                    assert_eq!(
                        value > 0,
                        wanted[0].iter().any(|r| r.contains(&pixel)),
                        "{pixel}"
                    );
                    if value == 0 {
                        continue;
                    }
                    let number = [
                        (value - 1) as u64 % block.width(),
                        (value - 1) as u64 / block.width(),
                    ];
                    for k in 0..2 {
                        let in_block =
                            corner[k] + block.span() * (number[k] as f64 / block.width() as f64);
                        let in_tile = [pixel % 8, pixel / 8][k] as f64 / 8.0;
                        let in_tile = tile.center()[k] - tile.side() / 2.0 + tile.side() * in_tile;
                        assert_eq!(in_block.to_bits(), in_tile.to_bits());
                    }
                }
            }
        }
    }
}
