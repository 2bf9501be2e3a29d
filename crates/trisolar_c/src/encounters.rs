//! Encounters: an ensemble from TOML text or points, its records and their summary.

use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr::null;

use serde_json::json;
use trisolar::config;
use trisolar::divergence::{Backend, GpuChoice, Points, SpecError};
use trisolar::encounters::files::{Format, REALS, WHOLES};
use trisolar::encounters::pictures::Look;
use trisolar::encounters::{self, Devices, Encounters as Computed, Overrides, Summary, Validated};
use trisolar::io::atomic::check_writable;

use crate::boundary::{self, CallFailure, Status, guard, input, text};
use crate::{Options, keep_kernels, max_error_of, refused, run_and_monitor};

/// `trisolar_encounters`.
pub struct Encounters {
    valid: Validated,
    ensemble: Computed,
    records: Vec<EncounterRecord>,
    json: CString,
}

/// `trisolar_encounter_record`: the columns of a record, as in files.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncounterRecord {
    reals: [f64; REALS.len()],
    wholes: [u32; WHOLES.len()],
    unused: u32,
}

// The size that the header declares.
const _: () = assert!(size_of::<EncounterRecord>() == 96);

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_run(
    toml: *const c_char,
    options: *const Options,
    found: *mut *mut Encounters,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the library; options may be NULL.
        let (toml, options, out) = unsafe {
            (
                input(toml, "toml")?,
                options.as_ref(),
                boundary::output(found, "found")?,
            )
        };
        compute(text(toml, "toml")?, None, options, out)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_points(
    toml: *const c_char,
    points: *const f64,
    count: usize,
    options: *const Options,
    found: *mut *mut Encounters,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the library; options may be NULL.
        let (toml, points, options, out) = unsafe {
            (
                input(toml, "toml")?,
                boundary::object(points, "points")?,
                options.as_ref(),
                boundary::output(found, "found")?,
            )
        };
        if count > isize::MAX as usize / (21 * 8) {
            return Err(CallFailure::input(format!(
                "invalid value '{count}' for 'count': more points than memory can hold"
            )));
        }
        // SAFETY: the caller promises `count` points of 21 numbers each.
        let values = unsafe { std::slice::from_raw_parts(points, count * 21) };
        let points = Points::new(&[count, 21], values.to_vec()).map_err(refused)?;
        compute(text(toml, "toml")?, Some(&points), options, out)
    })
}

/// Integrates encounters and returns them, even if their error exceeds the limit.
fn compute(
    toml: &str,
    points: Option<&Points>,
    options: Option<&Options>,
    out: &mut *mut Encounters,
) -> Result<(), CallFailure> {
    let overrides: Overrides = config::parse_as(toml)
        .map_err(|e: config::ParseError| CallFailure::input(e.to_string()))?;
    let valid = overrides
        .validated(points)
        .map_err(|e: SpecError| refused(e))?;
    let most = max_error_of(options, overrides.max_error)?;
    // SAFETY: the caller guarantees this, see the library.
    let (mut run, callback) = unsafe { run_and_monitor(options)? };
    if run.backend == Backend::Auto && run.gpus != GpuChoice::Auto {
        // Naming GPUs selects the GPU backend.
        run.backend = Backend::Gpu;
    }
    keep_kernels();
    let ensemble = encounters::run_on(&Devices::new(), &valid, &run, &callback)?;
    let summary = Summary::of(&ensemble);
    let found = Encounters::new(valid, ensemble, &summary);
    *out = Box::into_raw(Box::new(found));
    summary.check(most).map_err(CallFailure::failed)
}

impl Encounters {
    fn new(valid: Validated, ensemble: Computed, summary: &Summary) -> Self {
        let record = |record| EncounterRecord {
            reals: REALS.map(|(_, value)| value(record)),
            wholes: WHOLES.map(|(_, value)| value(record)),
            unused: 0,
        };
        let streamed = &ensemble.report;
        let json = json!({
            "specification": ensemble.specification,
            "engine": streamed.engine,
            "device": streamed.device,
            "devices": streamed.portions_json("runs"),
            "seconds": streamed.elapsed.as_secs_f64(),
            "summary": summary,
            "warnings": summary.warnings(),
            "notes": streamed.notes,
        });
        Self {
            records: ensemble.records.iter().map(record).collect(),
            json: boundary::c_string(&json.to_string()),
            valid,
            ensemble,
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_records(
    found: *const Encounters,
    count: *mut usize,
) -> *const EncounterRecord {
    // SAFETY: the caller guarantees this, see the library; both may be NULL.
    let (found, count) = unsafe { (found.as_ref(), boundary::place(count, "count")) };
    let records = found.map_or(&[][..], |found| &found.records);
    if let Ok(count) = count {
        count.write(records.len());
    }
    found.map_or(null(), |found| found.records.as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_json(found: *const Encounters) -> *const c_char {
    // SAFETY: the caller guarantees this, see the library.
    unsafe { found.as_ref() }.map_or(null(), |found| found.json.as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_save(
    found: *const Encounters,
    path: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: the caller guarantees this, see the library.
        let (found, path) = unsafe { (boundary::object(found, "found")?, input(path, "path")?) };
        let path = Path::new(text(path, "path")?);
        let format = Format::of(path, &found.valid).map_err(|reason| {
            CallFailure::input(format!(
                "invalid value '{}' for 'path': {reason}",
                path.display()
            ))
        })?;
        check_writable(path)?;
        format.write(path, &found.valid, &found.ensemble, &Look::default())?;
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trisolar_encounters_free(found: *mut Encounters) {
    // SAFETY: the caller guarantees this, see the library: from Box::into_raw, not freed before.
    unsafe { boundary::free(found) }
}
