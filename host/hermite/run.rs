//! Runs from a start to an end, with diagnostics at equal intervals of time.

use super::{Binaries, Cluster, Energies, HermiteError, Shape, Star, StepCheck};
use trisolar_run::{EngineError, Monitor};

/// The particles at one time, with their diagnostics.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The time on the clock of the file, which shows [`start_time`](super::Specification::start_time) at the run's time 0.
    pub time: f64,
    /// All particles at that time.
    pub stars: Vec<Star>,
    /// Their energies.
    pub energy: Energies,
    /// Their shape.
    pub shape: Shape,
    /// Their binaries, if close pairs are regularised.
    pub binaries: Option<Binaries>,
    /// Block steps so far.
    pub blocks: u64,
    /// Steps of particles so far.
    pub steps: u64,
}

/// The reason why a run ended early: that of the integration or of the observer.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The integration failed or was stopped.
    #[error(transparent)]
    Hermite(#[from] HermiteError),
    /// The observer failed.
    #[error("{0}")]
    Observer(E),
}

/// Steps block by block up to `end`, and shows `observe` the particles at every multiple of `every` from the cluster's time
/// on, and at `end`. Progress is in billionths of the total time. `check` repeats parts of the run with longer steps.
///
/// # Errors
/// [`RunError`].
pub fn integrate<E>(
    cluster: &mut Cluster<'_>,
    every: f64,
    end: f64,
    mut check: Option<&mut StepCheck>,
    monitor: &dyn Monitor,
    observe: &mut dyn FnMut(Snapshot) -> Result<(), E>,
) -> Result<(), RunError<E>> {
    const PROGRESS_UNITS: u64 = 1_000_000_000;
    let began = cluster.time();
    let mut number = (began / every).ceil();
    loop {
        let time = (number * every).min(end);
        let mut go_on = |now: f64| {
            let share = (now - began) / (end - began);
            monitor.progress((share * PROGRESS_UNITS as f64) as u64, PROGRESS_UNITS);
            !monitor.cancelled()
        };
        while let Some(check) = check.as_mut().filter(|check| check.next_look() <= time) {
            let look = check.next_look();
            if !cluster.advance(look, &mut go_on)? {
                return Err(HermiteError::from(EngineError::Cancelled).into());
            }
            check.look(&cluster.at(look)?, &mut |_| !monitor.cancelled())?;
        }
        if !cluster.advance(time, &mut go_on)? || monitor.cancelled() {
            return Err(HermiteError::from(EngineError::Cancelled).into());
        }
        observe(snapshot(cluster, time)?).map_err(RunError::Observer)?;
        if time >= end {
            monitor.progress(PROGRESS_UNITS, PROGRESS_UNITS);
            return Ok(());
        }
        number += 1.0;
    }
}

fn snapshot(cluster: &mut Cluster<'_>, time: f64) -> Result<Snapshot, HermiteError> {
    let stars = cluster.at(time)?;
    let potentials = cluster.potentials(&stars)?;
    let counters = cluster.counters();
    Ok(Snapshot {
        time: cluster.specification().on_the_clock(time),
        energy: Cluster::energy_of(&stars, &potentials),
        shape: cluster.shape(&stars),
        binaries: cluster.binaries(&stars),
        blocks: counters.blocks,
        steps: counters.steps,
        stars,
    })
}
