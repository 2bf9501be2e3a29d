//! Maps one after the other, without files.

use super::{Cache, CacheReport, CachedMap, Computing, KnownPixels};
use crate::frame::Error;
use trisolar_map::{
    Devices, DivergenceMap, EngineError, Executor as _, Monitor, Ran, RunOptions, Streamed,
    Validated, Value as _,
};

/// Computes maps one after the other, each from pixels of those before, as [`run_cached`](super::run_cached) computes the frames of a
/// folder.
#[derive(Debug)]
pub struct CachedMaps {
    cache: Cache,
    known: KnownPixels,
    report: CacheReport,
}

impl CachedMaps {
    /// No maps yet.
    pub fn new(cache: Cache) -> Self {
        Self {
            cache,
            known: KnownPixels::new(cache),
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
        let computing = Computing {
            spec,
            options: *options,
            file: None,
            devices,
            monitor,
        };
        let CachedMap {
            times,
            effort,
            unresolved,
            report,
        } = self.known.plan(spec).compute(&computing)?;
        self.report.add(&report);
        let (engine, device) = match effort.engine {
            "" => ("cpu", "all pixels were known".to_owned()),
            engine => (engine, effort.device),
        };
        let streamed = Streamed {
            engine,
            device,
            ran: Ran {
                elapsed: effort.elapsed,
                notes: effort.notes,
                ..Ran::default()
            },
        };
        Ok(DivergenceMap::new(spec, u32::vec(times), streamed).with_resolution(unresolved))
    }
}
