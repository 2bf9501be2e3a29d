//! A run that clients watch: the run publishes its state, and clients receive the newest one.
//!
//! The run never waits for clients, but a client can pause it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

/// Largest number of pictures per second.
const MAX_PICTURES_PER_SECOND: f64 = 30.0;
/// Largest share of the run's time for computing energies and radii.
const MAX_MEASUREMENT_SHARE: f64 = 0.05;
/// Largest number of past moments that are kept for clients that connect late. Beyond it, every second one is dropped.
const MAX_MOMENTS: usize = 2000;
/// Interval at which a paused run checks for cancellation.
const CANCELLATION_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The energy error and radii of a run at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// The run's time.
    pub time: f64,
    /// (E − E₀) / |E₀|.
    pub energy_error: f64,
    /// Radii that hold the fractions of the mass that [`RunProperties::fractions`] names (length).
    pub lagrange: Vec<f64>,
}

/// The properties that do not change during a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunProperties {
    /// A title in words.
    pub title: String,
    /// Where.
    pub device: String,
    /// Number of bodies.
    pub bodies: usize,
    /// The time at which it ends.
    pub end: f64,
    /// Fractions of the mass for which radii are computed.
    pub fractions: Vec<f64>,
    /// The specification by names.
    pub specification: Value,
}

/// The bodies at one time: x, y, z and speed of each.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// The run's time.
    pub time: f64,
    /// The progress, from 0 to 1.
    pub progress: f64,
    /// Four numbers per body.
    pub points: Vec<[f32; 4]>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It is running.
    Running,
    /// A client has paused it.
    Paused,
    /// It has reached its end.
    Finished,
}

/// The message about a run at one time.
#[derive(Clone, Debug)]
pub(crate) struct LiveMessage {
    pub time: f64,
    pub progress: f64,
    pub standing: RunState,
    /// The numbers of [`Cloud::points`] as little-endian f32, encoded once for all clients.
    pub points: Bytes,
    /// The newest moment, with its number.
    pub moment: Option<(usize, Moment)>,
}

/// A run and its clients. Clones are the same run.
#[derive(Clone, Debug)]
pub struct LiveRun(Arc<LiveShared>);

#[derive(Debug)]
struct LiveShared {
    about: RunProperties,
    newest: watch::Sender<LiveMessage>,
    state: Mutex<LiveState>,
    changed: Condvar,
}

#[derive(Debug)]
struct LiveState {
    paused: bool,
    published: Option<Instant>,
    /// The time of the last measurement, and how long it took.
    measured: Option<(Instant, Duration)>,
    moments: Vec<Moment>,
    /// Number of moments so far.
    found: usize,
}

impl LiveRun {
    /// A run that is about to start.
    pub fn new(about: RunProperties) -> Self {
        let frame = LiveMessage {
            time: 0.0,
            progress: 0.0,
            standing: RunState::Running,
            points: Bytes::new(),
            moment: None,
        };
        Self(Arc::new(LiveShared {
            about,
            newest: watch::Sender::new(frame),
            state: Mutex::new(LiveState {
                paused: false,
                published: None,
                measured: None,
                moments: Vec::new(),
                found: 0,
            }),
            changed: Condvar::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The properties that do not change.
    pub fn about(&self) -> &RunProperties {
        &self.0.about
    }

    /// Whether it is time for another picture.
    pub fn wants_cloud(&self) -> bool {
        let past = self
            .state()
            .published
            .map(|then| then.elapsed().as_secs_f64());
        past.is_none_or(|seconds| seconds >= 1.0 / MAX_PICTURES_PER_SECOND)
    }

    /// Publishes the current state of the bodies.
    pub fn show(&self, cloud: &Cloud) {
        let numbers = cloud.points.iter().flatten();
        let points: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
        self.state().published = Some(Instant::now());
        self.0.newest.send_modify(|frame| {
            frame.points = points.into();
            (frame.time, frame.progress) = (cloud.time, cloud.progress);
        });
    }

    /// Measures energy and radii, if the last measurement was long enough ago that measuring takes a small share of the time.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn measure<E>(&self, find: impl FnOnce() -> Result<Moment, E>) -> Result<(), E> {
        let due = self.state().measured.is_none_or(|(then, took)| {
            then.elapsed()
                >= took
                    .div_f64(MAX_MEASUREMENT_SHARE)
                    .max(Duration::from_millis(200))
        });
        if due {
            self.remember(find)?;
        }
        Ok(())
    }

    /// Measures energy and radii.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn remember<E>(&self, find: impl FnOnce() -> Result<Moment, E>) -> Result<(), E> {
        let began = Instant::now();
        let moment = find()?;
        let mut state = self.state();
        state.measured = Some((Instant::now(), began.elapsed()));
        if state.moments.len() >= MAX_MOMENTS {
            let mut number = 0;
            state.moments.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        state.found += 1;
        let newest = Some((state.found, moment.clone()));
        state.moments.push(moment);
        drop(state);
        self.0.newest.send_modify(|frame| frame.moment = newest);
        Ok(())
    }

    /// Waits while the run is paused; `interrupted` ends the wait.
    pub fn wait_while_paused(&self, interrupted: &dyn Fn() -> bool) {
        let mut state = self.state();
        while state.paused && !interrupted() {
            let waited = self
                .0
                .changed
                .wait_timeout(state, CANCELLATION_CHECK_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Publishes that the run has ended.
    pub fn finish(&self) {
        self.0
            .newest
            .send_modify(|frame| frame.standing = RunState::Finished);
    }

    /// Pauses or continues the run.
    pub fn set_paused(&self, paused: bool) {
        self.state().paused = paused;
        self.0.changed.notify_all();
        self.0.newest.send_modify(|frame| {
            if frame.standing != RunState::Finished {
                frame.standing = if paused {
                    RunState::Paused
                } else {
                    RunState::Running
                };
            }
        });
    }

    /// A receiver of the newest frame.
    pub(crate) fn watch(&self) -> watch::Receiver<LiveMessage> {
        self.0.newest.subscribe()
    }

    /// The moments so far.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        self.state().moments.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> LiveRun {
        LiveRun::new(RunProperties {
            title: "two bodies".into(),
            device: "none".into(),
            bodies: 2,
            end: 1.0,
            fractions: vec![0.5],
            specification: Value::Null,
        })
    }

    #[test]
    fn a_paused_run_waits_and_goes_on() {
        let run = run();
        run.set_paused(true);
        let other = run.clone();
        let waits = std::thread::spawn(move || other.wait_while_paused(&|| false));
        std::thread::sleep(Duration::from_millis(60));
        assert!(!waits.is_finished());
        assert_eq!(run.watch().borrow().standing, RunState::Paused);
        run.set_paused(false);
        waits.join().unwrap();
        run.set_paused(true);
        run.wait_while_paused(&|| true);
    }

    #[test]
    fn moments_are_bounded_and_keep_the_first_and_the_last() {
        let run = run();
        for k in 0..10 * MAX_MOMENTS {
            let moment = Moment {
                time: k as f64,
                energy_error: 0.0,
                lagrange: vec![1.0],
            };
            run.remember(|| Ok::<_, ()>(moment)).unwrap();
        }
        let moments = run.moments();
        assert!(moments.len() <= MAX_MOMENTS);
        assert_eq!(moments[0].time, 0.0);
        assert_eq!(moments.last().unwrap().time, (10 * MAX_MOMENTS - 1) as f64);
    }
}
