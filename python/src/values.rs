//! Converts Python values to the plain data from which a specification is read: numbers, names and lists of them, of Python or NumPy.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};
use trisolar::config;
use trisolar::divergence::{self, Backend, Overrides};
use trisolar::io::picture::YDirection;
use trisolar::nbody::files::Carried;
use trisolar::run::{GpuChoice, MapBackend, RunOptions};
use trisolar::simd::Simd;
use trisolar::zoom::{SequenceParameter, Vary};

use crate::errors;

/// The options in `options` (names with underscores; `None` leaves the default).
pub(crate) fn overrides(options: &Bound<'_, PyDict>) -> PyResult<Overrides> {
    typed(table(options)?)
}

/// The direction of the vertical axis, if one is given.
pub(crate) fn direction(y_axis: Option<&str>) -> PyResult<Option<YDirection>> {
    y_axis
        .map(|y| option(y, "--y-axis", str::parse::<YDirection>))
        .transpose()
}

/// The options as plain data.
pub(crate) fn table(options: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new();
    for (name, value) in options {
        if value.is_none() {
            continue;
        }
        let name: String = name
            .extract()
            .map_err(|_| PyTypeError::new_err("the names of options must be strings"))?;
        let value = plain(&value, 0).map_err(|reason| match reason {
            Reason::Python(error) => error,
            Reason::Kind(kind) => PyTypeError::new_err(format!(
                "{name} must be a number, a name or a sequence of numbers, not {kind}"
            )),
            Reason::Range(number) => PyValueError::new_err(format!(
                "invalid value '{number}' for '--{}': whole numbers must be within 64 bits",
                name.replace('_', "-")
            )),
        })?;
        table.insert(name, value);
    }
    Ok(table)
}

/// Reads options of some type from plain data.
pub(crate) fn typed<T: DeserializeOwned>(table: Table) -> PyResult<T> {
    let names: Vec<String> = table.keys().cloned().collect();
    table.try_into().map_err(|e| {
        let error: toml::de::Error = e;
        let text = error.to_string();
        // serde names the key after the message; the user should read it first.
        let key = names
            .iter()
            .find(|name| text.contains(&format!("in `{name}`")));
        let place = key.map_or(String::new(), |key| format!("{key}: "));
        PyValueError::new_err(format!("{place}{}", in_words(error.message())))
    })
}

/// serde's message without Rust's names of numbers.
fn in_words(message: &str) -> String {
    let whole = ["u64", "u32", "u8", "usize", "i64"].map(|kind| (kind, "a whole number"));
    let kinds = whole.into_iter().chain([("f64", "a number")]);
    kinds.fold(message.to_owned(), |said, (kind, word)| {
        match said.strip_suffix(&format!("expected {kind}")) {
            Some(before) => format!("{before}expected {word}"),
            None => said,
        }
    })
}

/// Reads options of some type from TOML text; `file` is the source of the text, for messages.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str, file: Option<&str>) -> PyResult<T> {
    config::parse_as(text).map_err(|e| {
        PyValueError::new_err(match (file, &e.line) {
            (Some(file), Some((n, line))) => format!("{file}:{n}: {line}\n{}", e.message),
            (Some(file), None) => format!("{file}\n{}", e.message),
            (None, _) => e.to_string(),
        })
    })
}

/// Values as JSON.
pub(crate) fn json(values: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(values).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Values as TOML.
pub(crate) fn toml(values: &impl Serialize) -> PyResult<String> {
    toml::to_string(values).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Parses the text of an option. An error has the message of the command line.
pub(crate) fn option<T>(
    text: &str,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> PyResult<T> {
    parse(text).map_err(|allowed| errors::value(text, name, &allowed))
}

/// A backend by name.
pub(crate) fn backend(name: &str) -> PyResult<Backend> {
    option(name, "--backend", str::parse)
}

/// A number of threads.
pub(crate) fn threads(given: Option<i64>) -> PyResult<Option<usize>> {
    let parsed = |n: i64| option(&n.to_string(), "--threads", divergence::threads);
    given.map(parsed).transpose()
}

/// An instruction set by name, which this machine must have.
pub(crate) fn simd(given: Option<&str>) -> PyResult<Option<Simd>> {
    given
        .map(|name| option(name, "--simd", str::parse))
        .transpose()
}

/// A number of GPUs.
pub(crate) fn gpu_count(given: i64) -> PyResult<u32> {
    option(&given.to_string(), "--gpus", divergence::gpu_count)
}

/// The devices that compute an ensemble.
pub(crate) fn ensemble_options(
    backend: &str,
    threads: Option<i64>,
    simd: Option<&str>,
    gpus: Option<i64>,
) -> PyResult<RunOptions> {
    let MapBackend { backend, with_cpu } = option(backend, "--backend", str::parse)?;
    let gpus = gpus.map(gpu_count).transpose()?;
    Ok(RunOptions {
        backend: match (gpus, backend) {
            (Some(_), Backend::Auto) => Backend::Gpu,
            (_, backend) => backend,
        },
        with_cpu,
        threads: self::threads(threads)?,
        simd: self::simd(simd)?,
        gpus: gpus.map_or(GpuChoice::Auto, GpuChoice::First),
    })
}

/// The other values of bodies: the specification of a run, as JSON, and the time.
pub(crate) type Told = (Option<String>, Option<f64>);

/// These values in the library's form, and the number of dimensions.
pub(crate) fn carried(told: Option<Told>) -> PyResult<(Carried, Option<u8>)> {
    let (json, time) = told.unwrap_or_default();
    let mut found = (Carried::default(), None);
    if let Some(json) = json {
        let value = serde_json::from_str(&json)
            .map_err(|e| PyValueError::new_err(format!("bodies: specification.json: {e}")))?;
        found = Carried::from_specification(&value);
    }
    found.0.time = time;
    Ok(found)
}

/// The error for a value that cannot be converted.
enum Reason {
    Python(PyErr),
    Kind(String),
    Range(String),
}

impl From<PyErr> for Reason {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Arrays of positions have a depth of two.
const MAX_DEPTH: usize = 4;

fn plain(value: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Reason> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let range = |_| Reason::Range(value.to_string());
        return Ok(Value::Integer(value.extract().map_err(range)?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    let unfit = || Ok::<_, PyErr>(Reason::Kind(value.get_type().name()?.to_string()));
    if depth == MAX_DEPTH || value.is_instance_of::<PyDict>() {
        return Err(unfit()?);
    }
    // NumPy's arrays and scalars convert to Python's own numbers.
    if let Some(to_list) = value.getattr_opt("tolist")? {
        return plain(&to_list.call0()?, depth + 1);
    }
    let Ok(items) = value.try_iter() else {
        return Err(unfit()?);
    };
    let items = items.map(|item| plain(&item?, depth + 1));
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

/// The number of frames of a zoom.
pub(crate) fn frames(n: i64) -> PyResult<u32> {
    match n {
        1..=99_999 => Ok(n as u32),
        _ => {
            let allowed = "must be a whole number from 1 to 99999";
            Err(errors::value(&n.to_string(), "--frames", allowed))
        }
    }
}

/// A parameter of a sweep and its unit, which is empty for a number.
pub(crate) type ParameterUnit = (String, &'static str);

/// The parameters of a sweep (`NAME=VALUES`).
pub(crate) fn vary<P: SequenceParameter>(texts: &[String]) -> PyResult<Vec<Vary<P>>> {
    let parsed = |text: &String| option(text, "--vary", str::parse::<Vary<P>>);
    let all = texts.iter().map(parsed).collect::<PyResult<Vec<_>>>()?;
    if all.is_empty() {
        return Err(errors::value("", "--vary", "there must be a parameter"));
    }
    Vary::check(&all)
        .map_err(|(parameter, reason)| errors::value(&parameter.to_string(), "--vary", &reason))?;
    Ok(all)
}
