//! A validated specification, from options and TOML text.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trisolar::config;
use trisolar::divergence::{
    self, Certificate, Checks, Devices, DivergenceMap, GpuChoice, MapBackend, Overrides, Points,
    Resolution, RunOptions, SpecError, StepCheck, Validated,
};
use trisolar::ensemble::Report;
use trisolar::ensemble::Verdict;
use trisolar::spec::Parameters as _;
use trisolar::zoom::{self, Cache, Preset, RoundedCache};

use crate::map::Map;
use crate::{errors, values, watch};

/// A validated divergence map that has not been computed.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Specification {
    valid: Arc<Validated>,
    /// The largest allowed share of unresolved pixels.
    max_error: Option<f64>,
}

#[pymethods]
impl Specification {
    /// The values of options override those of TOML text, which override those in `under`, of which values that points replace are not
    /// used, then a preset and the defaults. `file` is the source of the text, for messages. `points` are start states instead of a
    /// grid: the shape of an array and its f64 values.
    #[new]
    #[pyo3(signature = (options, toml=None, file=None, points=None, under=None, preset=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        toml: Option<&str>,
        file: Option<&str>,
        points: Option<(Vec<usize>, Bound<'_, PyBytes>)>,
        under: Option<&Bound<'_, PyDict>>,
        preset: Option<&str>,
    ) -> PyResult<Self> {
        let mut overrides = values::overrides(options)?;
        if let Some([one, other]) = overrides.conflict() {
            return Err(errors::bad_input(&format!(
                "'{one}' and '{other}' cannot be given together"
            )));
        }
        if let Some(under) = under {
            overrides = overrides.merged_over(values::overrides(under)?);
        }
        if let Some(text) = toml {
            overrides = overrides.merged_over(values::parsed(text, file)?);
        }
        if let Some(preset) = preset {
            let preset: divergence::Preset = values::option(preset, "--preset", str::parse)?;
            overrides = overrides.merged_over(preset.overrides());
        }
        let among_options = |name: &str| {
            let given = options.get_item(name.replace('-', "_"));
            given.is_ok_and(|value| value.is_some_and(|v| !v.is_none()))
        };
        let failed = |e: SpecError| {
            let file = file.filter(|_| e.option != "points" && !among_options(e.option));
            errors::specification(&e, file)
        };
        let max_error = overrides.checked_max_error().map_err(failed)?;
        let specification = divergence::Specification::from(overrides);
        let valid = match points {
            None => specification.validate(),
            Some((shape, values)) => {
                let values = bytemuck::pod_collect_to_vec(values.as_bytes());
                let points = Points::new(&shape, values).map_err(failed)?;
                let replaced = points.replaces().iter().chain(&["map", "draw", "seed"]);
                if let Some(key) = replaced.into_iter().find(|key| among_options(key)) {
                    return Err(PyValueError::new_err(format!(
                        "the points replace '{key}': remove one of the two"
                    )));
                }
                specification.validate_points(points)
            }
        };
        let valid = Arc::new(valid.map_err(failed)?);
        Ok(Self { valid, max_error })
    }

    /// Every value, as JSON.
    #[getter]
    fn json(&self) -> String {
        self.valid.json()
    }

    /// Every value, as TOML: a file for `trisolar divergence --config`.
    #[getter]
    fn toml(&self) -> String {
        let points = self.valid.points().map(AsRef::as_ref);
        config::to_text_for(self.valid.specification(), points)
    }

    /// Warnings before the map is computed.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.valid.warnings()
    }

    /// The share of unresolved pixels above which a map is a failure.
    #[getter]
    fn max_error(&self) -> Option<f64> {
        self.max_error
    }

    /// Computes the map; other Python threads run meanwhile. `progress(done, total)` is called some times a second
    /// in the calling thread, and signals are handled.
    #[pyo3(signature = (options, progress=None, certify=false))]
    fn run(
        &self,
        py: Python<'_>,
        options: &Options,
        progress: Option<Bound<'_, PyAny>>,
        certify: bool,
    ) -> PyResult<Map> {
        let (valid, devices) = (Arc::clone(&self.valid), options.devices.clone());
        let options = options.run;
        watch::run(py, progress.as_ref(), move |monitor| {
            let mut map = divergence::run_on(&devices, &valid, &options, monitor)?;
            if certify {
                map.certify(&devices, &valid, &options, monitor)?;
            }
            Ok(map)
        })
        .map(Map::new)
    }

    /// A map that was computed before: the bytes of its values, little-endian, and its report.
    #[pyo3(signature = (values, engine, device, seconds, notes, resolution=None, checks=[None; 2], verdicts=None))]
    #[allow(clippy::too_many_arguments)]
    fn restored(
        &self,
        values: &[u8],
        engine: &str,
        device: String,
        seconds: f64,
        notes: Vec<String>,
        resolution: Option<(u64, u64)>,
        checks: [Option<(u64, u64, u64)>; 2],
        verdicts: Option<Vec<u8>>,
    ) -> PyResult<Map> {
        let damaged = |what: &str| PyValueError::new_err(format!("no pickled map: {what}"));
        let engine = ["cpu", "gpu", "gpu+cpu"].into_iter().find(|e| *e == engine);
        let report = Report {
            engine: engine.ok_or_else(|| damaged("an engine that does not exist"))?,
            device,
            elapsed: Duration::try_from_secs_f64(seconds)
                .map_err(|_| damaged("seconds are out of range"))?,
            notes,
            ..Report::default()
        };
        let steps = self.valid.specification().steps;
        let of = self.valid.value_type();
        let values = of.from_le_bytes(values);
        let values = values.filter(|v| v.len() as u64 == self.valid.pixels());
        let values = values.ok_or_else(|| damaged("too many or too few values"))?;
        let steps_together = values.of::<u32>().unwrap_or_default();
        if steps_together.iter().any(|t| u64::from(*t) > steps) {
            return Err(damaged("step counts beyond the number of steps"));
        }
        let mut map = DivergenceMap::new(&self.valid, values, report);
        let [step, rounding] = checks.map(|found| {
            found.map(|(sample, compared, changed)| StepCheck::new(sample, compared, changed))
        });
        map.checks = Checks { step, rounding };
        if let Some(verdicts) = verdicts {
            let known = |v: &u8| usize::from(*v) < Verdict::ALL.len();
            if verdicts.len() != map.values.len() || !verdicts.iter().all(known) {
                return Err(damaged("too many or too few verdicts, or unknown ones"));
            }
            let values = map.values.as_slice();
            map.certificate = Some(Certificate::new(&self.valid, values, verdicts));
        }
        let found = resolution.map(|(sample, unresolved)| Resolution::new(sample, unresolved));
        Ok(Map::new(map.with_resolution(found)))
    }
}

/// Validated options of computations. Opened devices stay open for the next map.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct Options {
    run: RunOptions,
    devices: Devices,
}

#[pymethods]
impl Options {
    /// Reads the options in the form of the command line; `gpus` and `device` are texts.
    #[new]
    #[pyo3(signature = (backend, threads, simd, gpus, device))]
    fn new(
        backend: &str,
        threads: Option<i64>,
        simd: Option<&str>,
        gpus: Option<&str>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let MapBackend { backend, with_cpu } = values::option(backend, "--backend", str::parse)?;
        let how_many = gpus.map(|gpus| values::option(gpus, "--gpus", str::parse));
        let which = device.map(|device| values::option(device, "--device", GpuChoice::by_number));
        let (how_many, which) = (how_many.transpose()?, which.transpose()?);
        if let (Some(_), Some(given)) = (how_many, device) {
            let reason = "--gpus says how many GPUs, and --device which; give one of the two";
            return Err(errors::value(given, "--device", reason));
        }
        let run = RunOptions {
            backend,
            with_cpu,
            threads: values::threads(threads)?,
            simd: values::simd(simd)?,
            gpus: how_many.or(which).unwrap_or_default(),
        };
        let devices = Devices::new();
        Ok(Self { run, devices })
    }
}

/// The warning about the CPU of this machine, if a computation with this choice of devices may use it.
#[pyfunction]
pub(crate) fn cpu_warning(backend: &str) -> PyResult<Option<&'static str>> {
    let chosen: MapBackend = values::option(backend, "--backend", str::parse)?;
    Ok(divergence::cpu_warning(chosen.backend))
}

/// The maps of a zoom, every one of them checked: by the preset's formulas, and those of `set` (`NAME=FORMULA`), which override
/// them.
#[pyfunction]
#[pyo3(signature = (options, toml, file, preset, set, frames, cache))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
pub(crate) fn zoom_frames(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
    preset: &str,
    set: Vec<String>,
    frames: Option<i64>,
    cache: &str,
) -> PyResult<(Vec<Specification>, Vec<String>)> {
    let kept: Cache = values::option(cache, "--cache", str::parse)?;
    let preset: Preset = values::option(preset, "--preset", str::parse)?;
    let frames = frames.map(values::frames).transpose()?;
    let frames = frames.unwrap_or(preset.frames());
    let mut own = Vec::new();
    for text in &set {
        own.push(values::option(text, "--set", str::parse)?);
    }
    let mut overrides: Overrides = values::overrides(options)?;
    if let Some(text) = toml {
        overrides = overrides.merged_over(values::parsed(text, file)?);
    }
    overrides.center = overrides.center.or(preset.center());
    let max_error = overrides.checked_max_error();
    let max_error = max_error.map_err(|e| errors::specification(&e, None))?;
    let base = divergence::Specification::from(overrides);
    let found = zoom::zoom(&base, &preset.schedule(frames, own), frames)
        .map_err(|e| errors::bad_input(&e))?;
    let checked = kept.check(found.iter().map(|frame| &frame.specification));
    checked.map_err(|allowed| errors::value(cache, "--cache", allowed))?;
    let warnings = zoom::warnings(&found);
    let specification = |frame: zoom::Frame| Specification {
        valid: Arc::new(frame.specification),
        max_error,
    };
    Ok((found.into_iter().map(specification).collect(), warnings))
}

/// Maps that are computed one after the other, with the cache of rounded coordinates or without one.
#[pyclass(frozen, module = "trisolar._trisolar")]
pub(crate) struct ZoomCache(Option<Arc<Mutex<RoundedCache>>>);

#[pymethods]
impl ZoomCache {
    /// `cache` is "none" or "rounded".
    #[new]
    fn new(cache: &str) -> PyResult<Self> {
        let cache: Cache = values::option(cache, "--cache", str::parse)?;
        Ok(Self((cache == Cache::Rounded).then(Arc::default)))
    }

    /// Computes the next map, as [`Specification::run`].
    fn run(
        &self,
        py: Python<'_>,
        specification: &Specification,
        options: &Options,
    ) -> PyResult<Map> {
        let (cache, valid) = (self.0.clone(), Arc::clone(&specification.valid));
        let (devices, options) = (options.devices.clone(), options.run);
        watch::run(py, None, move |monitor| {
            let Some(cache) = cache else {
                return divergence::run_on(&devices, &valid, &options, monitor);
            };
            let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache.map(&devices, &valid, &options, monitor)
        })
        .map(Map::new)
    }
}

/// A map of a sweep, with the names and values of its parameters.
type Swept = (Specification, Vec<(String, f64)>);

/// The maps of a sweep, every one of them checked, with the values of their parameters: one for each value, or each pair of
/// values, of `vary` (`NAME=VALUES`); the units of these parameters, and warnings.
#[pyfunction]
#[pyo3(signature = (options, toml, file, vary))]
pub(crate) fn sweep_frames(
    options: &Bound<'_, PyDict>,
    toml: Option<&str>,
    file: Option<&str>,
    vary: Vec<String>,
) -> PyResult<(Vec<Swept>, Vec<values::ParameterUnit>, Vec<String>)> {
    let mut overrides: Overrides = values::overrides(options)?;
    if let Some(text) = toml {
        overrides = overrides.merged_over(values::parsed(text, file)?);
    }
    let all = values::vary(&vary)?;
    let max_error = overrides.checked_max_error();
    let max_error = max_error.map_err(|e| errors::specification(&e, None))?;
    let base = divergence::Specification::from(overrides);
    let found = zoom::sweep(&base, &all).map_err(|e| errors::bad_input(&e))?;
    let warnings = zoom::warnings(&found);
    let swept = |frame: zoom::Frame| {
        let set = frame.set.into_iter().map(|s| (s.name, s.value)).collect();
        let specification = Specification {
            valid: Arc::new(frame.specification),
            max_error,
        };
        (specification, set)
    };
    let unit = |vary: &zoom::Vary| (vary.parameter.to_string(), vary.parameter.unit());
    let units = all.iter().map(unit).collect();
    Ok((found.into_iter().map(swept).collect(), units, warnings))
}
