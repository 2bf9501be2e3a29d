//! Live pictures of runs: `--live` of `trisolar nbody` and `trisolar cluster`.

use std::time::{Duration, Instant};

use serde_json::Value;
use trisolar::bodies::DVec3;
use trisolar::hermite::{self, Cluster, ClusterRun, HermiteError, Star};
use trisolar::nbody::{self, Diagnostics, Energies, Snapshot};
use trisolar::time_run::{self, TimeRun as _};
use trisolar_explore::{Cloud, Content, LiveRun, Moment, Options, RunProperties, Server};

use super::super::{Failure, interrupt, report};
use super::ServeArgs;

/// Longest time for which the end of the run waits until the last picture reaches the clients.
const LAST_PICTURE_TIME: Duration = Duration::from_millis(250);
/// Intended time between two updates of a cluster, which is shorter than that between two pictures.
const PICTURE_INTERVAL: Duration = Duration::from_millis(20);

/// Time of a cluster until its second update; later intervals follow the wall clock.
const FIRST_PICTURE_STEP: f64 = 1.0 / 1024.0;

/// Shows a run.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct LiveArgs {
    /// Show the run in the browser while it is computed, at a link that is printed; the results are those of a run without --live
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    serve: ServeArgs,
}

/// A run that may be shown.
pub(crate) struct Live {
    shown: Option<(LiveRun, Server)>,
    start_energy: Option<Energies>,
    /// Time of a cluster between two updates.
    look: f64,
}

impl LiveArgs {
    /// Whether the run is to be shown.
    pub(crate) fn is_on(self) -> bool {
        self.live
    }

    /// Starts to show a run.
    ///
    /// # Errors
    /// The page cannot be served.
    pub(crate) fn show(self, about: RunProperties) -> Result<Live, Failure> {
        let mut shown = None;
        if let Some(option) = self.serve.given().filter(|_| !self.live) {
            let message =
                format!("{option} only has an effect with --live: add --live, or remove {option}");
            return Err(Failure::BadInput(message));
        }
        if self.live {
            let run = LiveRun::new(about);
            let content = Content {
                engine: None,
                live: Some(run.clone()),
            };
            let server = self.serve.serve(Options::default(), content)?;
            report::to_stderr(&format!("live: {}", server.link()));
            shown = Some((run, server));
        }
        Ok(Live {
            shown,
            start_energy: None,
            look: FIRST_PICTURE_STEP,
        })
    }
}

/// The description of an N-body run.
pub(crate) fn about_nbody(name: &str, device: &str, problem: &nbody::Validated) -> RunProperties {
    let spec = problem.specification();
    RunProperties {
        title: format!("{name}, {} bodies", problem.bodies().len()),
        device: device.to_owned(),
        bodies: problem.bodies().len(),
        end: spec.steps as f64 * spec.dt,
        fractions: nbody::LAGRANGE_FRACTIONS.into(),
        specification: serde_json::to_value(spec).unwrap_or(Value::Null),
    }
}

/// The description of a cluster run.
pub(crate) fn about_cluster(cluster: &Cluster<'_>, end: f64) -> RunProperties {
    let spec = cluster.specification();
    RunProperties {
        title: format!(
            "Star cluster, {} particles, order {}",
            cluster.stars().len(),
            spec.order
        ),
        device: cluster.engine().device(),
        bodies: cluster.stars().len(),
        end,
        fractions: hermite::SHAPE_FRACTIONS.into(),
        specification: serde_json::to_value(spec).unwrap_or(Value::Null),
    }
}

fn point(position: DVec3, velocity: DVec3) -> [f32; 4] {
    let [x, y, z] = position.to_array().map(|x| x as f32);
    [x, y, z, velocity.length() as f32]
}

fn share(time: f64, end: f64) -> f64 {
    if end == 0.0 {
        1.0
    } else {
        (time / end).clamp(0.0, 1.0)
    }
}

impl Live {
    /// Advances a cluster to a time, and shows it on the way. False if `go_on` ended it before.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn advance(
        &mut self,
        run: &mut ClusterRun<'_>,
        time: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, time_run::Error> {
        if self.shown.is_none() {
            return run.advance(time, go_on);
        }
        let mut from = run.now();
        while from < time {
            // The block steps do not depend on the updates.
            let to = (from + self.look).min(time);
            let began = Instant::now();
            if !run.advance(to, go_on)? {
                return Ok(false);
            }
            let took = began.elapsed();
            self.look = if took > PICTURE_INTERVAL {
                self.look / 2.0
            } else {
                self.look * 1.5
            };
            if self.wants_cloud() {
                self.show_stars(&mut run.cluster, to)?;
            }
            from = to;
        }
        Ok(!interrupt::interrupted())
    }

    /// Whether the run is shown and another picture is due.
    pub(crate) fn wants_cloud(&self) -> bool {
        self.shown
            .as_ref()
            .is_some_and(|(run, _)| run.wants_cloud())
    }

    /// Shows bodies, and waits if the run has been paused.
    pub(crate) fn show_bodies(&mut self, snapshot: &Snapshot, spec: &nbody::Specification) {
        let Some((run, _)) = &self.shown else {
            return;
        };
        let Snapshot { time, bodies, .. } = snapshot;
        let points = bodies.position.iter().zip(&bodies.velocity);
        run.show(&Cloud {
            time: *time,
            progress: share(*time, run.about().end),
            points: points.map(|(x, v)| point(*x, *v)).collect(),
        });
        let start = &mut self.start_energy;
        let found = run.measure(|| {
            let d = Diagnostics::of(bodies, spec.g, spec.softening);
            let start = start.get_or_insert((&d).into());
            Ok::<_, std::convert::Infallible>(Moment {
                time: *time,
                energy_error: start.relative_error(d.internal),
                lagrange: d.lagrange.into(),
            })
        });
        let Ok(()) = found;
        run.wait_while_paused(&interrupt::interrupted);
    }

    /// Shows the particles of a cluster at a time, and waits if the run has been paused.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn show_stars(
        &mut self,
        cluster: &mut Cluster<'_>,
        time: f64,
    ) -> Result<(), HermiteError> {
        let Some((run, _)) = &self.shown else {
            return Ok(());
        };
        let stars = cluster.at(time)?;
        let start = &mut self.start_energy;
        run.measure(|| {
            let potentials = cluster.potentials(&stars)?;
            let energy = Cluster::energy_of(&stars, &potentials);
            let start = start.get_or_insert(energy);
            Ok::<_, HermiteError>(Moment {
                time,
                energy_error: start.relative_error(energy.internal),
                lagrange: cluster.shape(&stars).lagrange.into(),
            })
        })?;
        let place = |star: &Star| point(star.position(), star.velocity());
        run.show(&Cloud {
            time,
            progress: share(time, run.about().end),
            points: stars.iter().map(place).collect(),
        });
        run.wait_while_paused(&interrupt::interrupted);
        Ok(())
    }

    /// Tells the clients that the run has ended.
    pub(crate) fn finish(&self) {
        if let Some((run, _)) = &self.shown {
            run.finish();
            std::thread::sleep(LAST_PICTURE_TIME);
        }
    }
}
