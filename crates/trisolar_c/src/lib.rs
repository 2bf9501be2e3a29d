//! Trisolar for C. The header `include/trisolar.h` documents the functions; this file converts pointers to references and failures
//! to a status.
//!
//! The caller of every function satisfies the conditions of the header: a pointer is NULL where that is allowed; otherwise it comes from
//! this library and has not been freed, or points at memory of its type.

#![allow(
    clippy::missing_safety_doc,
    reason = "the conditions are the header's, said once for all above"
)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::null;

use trisolar::config;
use trisolar::divergence::{
    self, Backend, DivergenceMap, GpuChoice, Points, RunOptions, SpecError, Specification,
    Validated, Value, ValueType,
};
use trisolar::io::atomic::check_writable;
use trisolar::output::{Output, Style};

mod boundary;
mod encounters;
mod monitor;

use boundary::{CallFailure, Status, guard, input, text};
use monitor::Callback;

pub use encounters::{EncounterRecord, Encounters};

/// `trisolar_spec`.
pub struct Spec {
    valid: Validated,
    /// The largest allowed share of unresolved pixels, if the text has one.
    max_error: Option<f64>,
}

/// `trisolar_map`.
pub struct Map {
    map: DivergenceMap,
    engine: CString,
    device: CString,
    warnings: CString,
    notes: CString,
    spec_json: CString,
}

/// `trisolar_progress`.
pub type Progress = Option<unsafe extern "C" fn(done: u64, total: u64, user: *mut c_void) -> i32>;

/// `trisolar_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `TRISOLAR_AUTO`, `TRISOLAR_CPU`, `TRISOLAR_GPU` or `TRISOLAR_GPU_AND_CPU`.
    pub backend: i32,
    /// Threads of the CPU engine; 0 for as many as the process may use.
    pub threads: u32,
    /// Called during the run.
    pub progress: Progress,
    /// Passed to `progress`.
    pub user: *mut c_void,
    /// How many GPUs, as on the command line; NULL for as many as the map can keep busy.
    pub gpus: *const c_char,
    /// The share of unresolved pixels above which a map is a failure; 0 for the limit of the specification, if it has one.
    pub max_error: f64,
    /// Which GPUs, by number, as on the command line, instead of `gpus`; NULL for none in particular.
    pub device: *const c_char,
}

/// `trisolar_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Number of pixels along this axis.
    pub width: u32,
    /// Number of pixels along this axis.
    pub height: u32,
    /// Steps taken; of divergence the sum of `steps_together`.
    pub pixel_steps: u64,
    /// Pixels whose twins never parted; 0 for other quantities.
    pub never_parted: u64,
    /// Time of the computation itself.
    pub seconds: f64,
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: *const c_char,
    /// Description of the device.
    pub device: *const c_char,
    /// One per line.
    pub notes: *const c_char,
    /// Every value of the specification.
    pub spec_json: *const c_char,
    /// The share of unresolved pixels of a sample.
    pub unresolved: f64,
    /// One per line.
    pub warnings: *const c_char,
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn trisolar_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no NUL in it"),
        };
    VERSION.as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn trisolar_last_error() -> *const c_char {
    boundary::last_error()
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_spec_from_toml(
    toml: *const c_char,
    spec: *mut *mut Spec,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module.
        let (toml, out) = unsafe { (input(toml, "toml")?, boundary::output(spec, "spec")?) };
        let given =
            config::parse(text(toml, "toml")?).map_err(|e| CallFailure::input(e.to_string()))?;
        let max_error = given.checked_max_error().map_err(refused)?;
        let valid = Specification::from(given).validate().map_err(refused)?;
        *out = Box::into_raw(Box::new(Spec { valid, max_error }));
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_spec_size(
    spec: *const Spec,
    width: *mut u32,
    height: *mut u32,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module.
        let (spec, width, height) = unsafe {
            (
                boundary::object(spec, "spec")?,
                boundary::place(width, "width")?,
                boundary::place(height, "height")?,
            )
        };
        let [w, h] = spec.valid.size();
        width.write(w);
        height.write(h);
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_spec_free(spec: *mut Spec) {
    // SAFETY: the caller guarantees this, see the module: from Box::into_raw, not freed before.
    unsafe { boundary::free(spec) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_divergence_run(
    spec: *const Spec,
    options: *const Options,
    map: *mut *mut Map,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module; options may be NULL.
        let (spec, options, out) = unsafe {
            (
                boundary::object(spec, "spec")?,
                options.as_ref(),
                boundary::output(map, "map")?,
            )
        };
        compute(&spec.valid, spec.max_error, options, out)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_divergence_points(
    spec: *const Spec,
    points: *const f64,
    count: usize,
    numbers: usize,
    options: *const Options,
    map: *mut *mut Map,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module; options may be NULL.
        let (spec, points, options, out) = unsafe {
            (
                boundary::object(spec, "spec")?,
                boundary::object(points, "points")?,
                options.as_ref(),
                boundary::output(map, "map")?,
            )
        };
        let allowed = matches!(numbers, 3 | 9 | 18 | 21) && count <= isize::MAX as usize / (21 * 8);
        if !allowed {
            return Err(CallFailure::input(format!(
                "invalid value '{count} x {numbers}' for 'points': each point needs 3, 9, 18 or 21 numbers"
            )));
        }
        // SAFETY: the caller promises `count` points of this many numbers each.
        let values = unsafe { std::slice::from_raw_parts(points, count * numbers) };
        let states = Points::new(&[count, numbers], values.to_vec()).map_err(refused)?;
        let valid = spec.valid.specification().clone().validate_points(states);
        compute(&valid.map_err(refused)?, spec.max_error, options, out)
    })
}

/// Computes a map and returns it, even if its error exceeds the limit.
fn compute(
    spec: &Validated,
    max_error: Option<f64>,
    options: Option<&Options>,
    out: &mut *mut Map,
) -> Result<(), CallFailure> {
    let most = max_error_of(options, max_error)?;
    // SAFETY: the caller guarantees this, see the module.
    let (run, callback) = unsafe { run_and_monitor(options)? };
    keep_kernels();
    let computed = divergence::run(spec, &run, &callback)?;
    let checked = computed.check(most);
    *out = Box::into_raw(Box::new(Map::new(computed)?));
    checked.map_err(CallFailure::failed)
}

/// The largest allowed error: that of the options, or else that of the specification.
fn max_error_of(
    options: Option<&Options>,
    specification: Option<f64>,
) -> Result<Option<f64>, CallFailure> {
    match options.map(|options| options.max_error) {
        None | Some(0.0) => Ok(specification),
        Some(most) => {
            let refused = |allowed| {
                CallFailure::input(format!("invalid value '{most}' for 'max_error': {allowed}"))
            };
            divergence::max_error(most).map_err(refused)?;
            Ok(Some(most))
        }
    }
}

/// The options of a computation, and the monitor that receives its progress.
///
/// # Safety
/// Texts are NULL or end with NUL, and `progress` can be called with `user` as the header describes.
unsafe fn run_and_monitor(
    options: Option<&Options>,
) -> Result<(RunOptions, Callback), CallFailure> {
    match options {
        None => Ok((RunOptions::default(), Callback::none())),
        // SAFETY: the caller guarantees this.
        Some(options) => unsafe {
            let callback = Callback::new(options.progress, options.user);
            Ok((run_options(options)?, callback))
        },
    }
}

/// An error of a specification's value, named by its key.
fn refused(error: SpecError) -> CallFailure {
    let key = error.option.replace('-', "_");
    let SpecError { given, allowed, .. } = error;
    CallFailure::input(format!("invalid value '{given}' for '{key}': {allowed}"))
}

/// # Safety
/// The texts of `options` are NULL or end with NUL.
unsafe fn run_options(options: &Options) -> Result<RunOptions, CallFailure> {
    let (backend, with_cpu) = match options.backend {
        0 => (Backend::Auto, false),
        1 => (Backend::Cpu, false),
        2 => (Backend::Gpu, false),
        3 => (Backend::Gpu, true),
        other => {
            return Err(CallFailure::input(format!(
                "invalid value '{other}' for 'backend': must be TRISOLAR_AUTO (0), TRISOLAR_CPU (1), \
                 TRISOLAR_GPU (2) or TRISOLAR_GPU_AND_CPU (3)"
            )));
        }
    };
    let threads = match options.threads {
        0 => None,
        n => Some(divergence::threads(&n.to_string()).map_err(|allowed| {
            CallFailure::input(format!(
                "invalid value '{n}' for 'threads': {allowed}, or 0 for as many as the process may use"
            ))
        })?),
    };
    // SAFETY: the caller guarantees this.
    let (gpus, device) = unsafe {
        (
            named(options.gpus, "gpus", str::parse)?,
            named(options.device, "device", GpuChoice::by_number)?,
        )
    };
    if gpus.is_some() && device.is_some() {
        let reason = "invalid value for 'device': 'gpus' says how many GPUs, and 'device' which; set one of the two to NULL";
        return Err(CallFailure::input(reason.into()));
    }
    Ok(RunOptions {
        backend,
        threads,
        simd: None,
        with_cpu,
        gpus: gpus.or(device).unwrap_or_default(),
    })
}

/// The value of an option that is a text; `None` for NULL.
///
/// # Safety
/// `pointer` is NULL or a text that ends with NUL.
unsafe fn named<T>(
    pointer: *const c_char,
    name: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, CallFailure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller guarantees this.
    let given = text(unsafe { input(pointer, name)? }, name)?;
    let refused =
        |allowed| CallFailure::input(format!("invalid value '{given}' for '{name}': {allowed}"));
    read(given).map(Some).map_err(refused)
}

impl Map {
    fn new(map: DivergenceMap) -> Result<Self, CallFailure> {
        let json = map.specification_json();
        Ok(Self {
            engine: boundary::c_string(map.report.engine),
            device: boundary::c_string(&map.report.device),
            warnings: boundary::c_string(&map.warnings.join("\n")),
            notes: boundary::c_string(&map.report.notes.join("\n")),
            spec_json: boundary::c_string(&json),
            map,
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_info(map: *const Map, info: *mut Info) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module.
        let (map, info) = unsafe {
            (
                boundary::object(map, "map")?,
                boundary::place(info, "info")?,
            )
        };
        let [width, height] = map.map.specification.size.map(|n| n as u32);
        info.write(Info {
            width,
            height,
            pixel_steps: map.map.statistics.pixel_steps,
            never_parted: map.map.statistics.never_parted.unwrap_or(0),
            seconds: map.map.report.elapsed.as_secs_f64(),
            engine: map.engine.as_ptr(),
            device: map.device.as_ptr(),
            notes: map.notes.as_ptr(),
            spec_json: map.spec_json.as_ptr(),
            unresolved: map.map.resolution.map_or(f64::NAN, |found| found.share),
            warnings: map.warnings.as_ptr(),
        });
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_steps_together(map: *const Map) -> *const u32 {
    // SAFETY: the caller guarantees this, see the module.
    unsafe { values(map) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_copy_steps_together(
    map: *const Map,
    steps_together: *mut u32,
    count: usize,
) -> Status {
    // SAFETY: the caller guarantees this.
    guard(|| unsafe { copy_values(map, steps_together, "steps_together", count) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_values_f64(map: *const Map) -> *const f64 {
    // SAFETY: the caller guarantees this, see the module.
    unsafe { values(map) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_copy_values_f64(
    map: *const Map,
    to: *mut f64,
    count: usize,
) -> Status {
    // SAFETY: the caller guarantees this.
    guard(|| unsafe { copy_values(map, to, "values", count) })
}

/// The address of a map's values of this type; null if they are of another type.
///
/// # Safety
/// `map` is null or a map.
unsafe fn values<T: Value>(map: *const Map) -> *const T {
    // SAFETY: the caller guarantees this.
    let map = unsafe { map.as_ref() };
    let values = map.and_then(|map| map.map.values.of::<T>());
    values.map_or(null(), <[T]>::as_ptr)
}

/// Copies a map's values of this type.
///
/// # Safety
/// See the module; `to`, the parameter of this name, has room for `count` values and is not part of the map.
unsafe fn copy_values<T: Value>(
    map: *const Map,
    to: *mut T,
    name: &str,
    count: usize,
) -> Result<(), CallFailure> {
    // SAFETY: the caller guarantees this.
    let (map, to) = unsafe { (boundary::object(map, "map")?, boundary::place(to, name)?) };
    let quantity = map.map.specification.quantity;
    let values = map.map.values.of::<T>().ok_or_else(|| {
        let (is, other) = match quantity.value_type() {
            ValueType::U32 => ("uint32_t", "trisolar_map_copy_steps_together"),
            ValueType::F64 => ("double", "trisolar_map_copy_values_f64"),
        };
        CallFailure::input(format!(
            "invalid value 'map' for 'map': the values of {quantity} are of type {is}; use {other}()"
        ))
    })?;
    if count < values.len() {
        return Err(CallFailure::input(format!(
            "invalid value '{count}' for 'count': the map has {} values",
            values.len()
        )));
    }
    // SAFETY: the caller guarantees this.
    unsafe {
        values
            .as_ptr()
            .copy_to_nonoverlapping(to.as_mut_ptr(), values.len())
    };
    Ok(())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_save(map: *const Map, path: *const c_char) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module.
        let (map, path) = unsafe { (boundary::object(map, "map")?, input(path, "path")?) };
        let path = Path::new(text(path, "path")?);
        let output = Output::new(path)?;
        check_writable(path)?;
        output.write(&map.map, &Style::default())?;
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_map_free(map: *mut Map) {
    // SAFETY: the caller guarantees this, see the module: from Box::into_raw, not freed before.
    unsafe { boundary::free(map) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_devices(json: *mut *mut c_char) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the module.
        let out = unsafe { boundary::output(json, "json")? };
        keep_kernels();
        *out = boundary::c_string(&trisolar::machine::inventory().to_string()).into_raw();
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_string_free(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: the caller guarantees this, see the module: from CString::into_raw, not freed before.
        drop(unsafe { CString::from_raw(string) });
    }
}

/// Refers to the kernels, because linkers only take referenced objects from a static library.
fn keep_kernels() {
    #[cfg(feature = "gpu")]
    std::hint::black_box(&trisolar::KERNELS);
}
