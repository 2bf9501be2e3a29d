//! Maps one after the other, without files.

use std::time::Duration;

use super::{Cache, CacheReport, Computing, exact, rounded};
use crate::frame::{Error, Style};
use crate::runner::Settings;
use trisolar_io::IoError;
use trisolar_map::{
    Devices, DivergenceMap, EngineError, Executor as _, Monitor, Ran, RunOptions, Streamed,
    Validated, Value as _, beside,
};

/// Computes maps one after the other, each from pixels of those before, as [`run_cached`](super::run_cached) computes the frames of a
/// folder.
#[derive(Debug)]
pub struct CachedMaps {
    cache: Cache,
    exact: exact::Layers,
    rounded: rounded::RoundedCache,
    report: CacheReport,
}

impl CachedMaps {
    /// No maps yet.
    pub fn new(cache: Cache) -> Self {
        Self {
            cache,
            exact: exact::Layers::default(),
            rounded: rounded::RoundedCache::default(),
            report: CacheReport::default(),
        }
    }

    /// The effect of the cache so far.
    pub fn report(&self) -> CacheReport {
        self.report
    }

    /// Computes the next map.
    ///
    /// # Errors
    /// Those of the engine; [`EngineError::Refused`] for a map whose pixels cannot be reused.
    pub fn compute(
        &mut self,
        spec: &Validated,
        options: &RunOptions,
        devices: &Devices,
        monitor: &dyn Monitor,
    ) -> Result<DivergenceMap, Error> {
        devices.check(options)?;
        self.cache
            .check([spec])
            .map_err(|allowed| EngineError::refused("cache", self.cache, allowed))?;
        if self.cache == Cache::None {
            return Ok(devices.run(spec, options, monitor)?);
        }
        let folder = tempfile::tempdir()
            .map_err(|e| IoError::system(&std::env::temp_dir(), "create a folder in", e))?;
        let path = folder.path().join("map.part");
        let settings = Settings {
            options: *options,
            // What is computed is not resumed.
            checkpoint: Duration::MAX,
            style: Style::default(),
            in_flight: 1,
            part: None,
        };
        let computing = Computing {
            spec,
            settings: &settings,
            devices,
            monitor,
        };
        let mut report = CacheReport {
            pixels: spec.pixels(),
            ..CacheReport::default()
        };
        let ((times, effort), resolution) = match self.cache {
            Cache::Rounded => {
                let plan = self.rounded.plan(spec);
                let work = || plan.compute(&computing, &path, &mut report);
                beside(spec, options, monitor, work)
            }
            _ => {
                let plan = self.exact.plan(spec);
                let work = || plan.compute(&computing, &path, &mut report);
                beside(spec, options, monitor, work)
            }
        }?;
        self.report.add(&report);
        let computed = effort.engine.split_once(": ");
        let known = ("cpu", "all pixels were known");
        let (engine, device) = computed.unwrap_or(known);
        let streamed = Streamed {
            engine: ["gpu", "gpu+cpu"]
                .into_iter()
                .find(|name| *name == engine)
                .unwrap_or("cpu"),
            device: device.to_owned(),
            ran: Ran {
                elapsed: effort.elapsed,
                notes: effort.notes,
                ..Ran::default()
            },
        };
        Ok(DivergenceMap::new(spec, u32::vec(times), streamed).with_resolution(resolution))
    }
}
