//! An ensemble that the library does not have, written against `trisolar::ensemble` alone: the circular restricted three-body problem. It
//! shows what a system implements, and that threads, files, parts and resumption follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trisolar::bodies::Points;
use trisolar::ensemble::{
    CpuEngine, Devices, Engine as _, Ensemble, GpuEngine, Sink, Task, compute, store,
};
use trisolar::gpu::Device;
use trisolar::run::partial::{Contents, working_files};
use trisolar::run::parts::Parts;
use trisolar::run::queue::{Pace, Share};
use trisolar::run::scheduler::Worker;
use trisolar::run::{Backend, EngineError, Monitor, Part, Record, RunOptions, Unattended, Workers};
use trisolar::simd::Simd;
use trisolar::spec::SpecError;

/// Particles of no mass that start at rest in the rotating frame, on a square of `side` x `side` places, and the time for which each stays within
/// `limit` of its start. The distance of the two bodies, their angular velocity and the sum of their masses are 1 (Szebehely 1967).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Restricted {
    /// The share of the mass that the second body has.
    mu: f64,
    center: [f64; 2],
    span: f64,
    side: u64,
    limit: f64,
    dt: f64,
    steps: u64,
}

/// x, y and their velocities.
type State = [f64; 4];

impl Restricted {
    fn validate(self) -> Result<Self, SpecError> {
        let checked = |name, given: f64, allowed: bool, words: &str| match allowed {
            true => Ok(()),
            false => Err(SpecError::new(name, given, words)),
        };
        checked(
            "mu",
            self.mu,
            (0.0..=0.5).contains(&self.mu),
            "must be from 0 to 0.5",
        )?;
        checked("dt", self.dt, self.dt > 0.0, "must be above 0")?;
        checked(
            "side",
            self.side as f64,
            self.side > 0,
            "must be at least 1",
        )?;
        Ok(self)
    }

    fn start(&self, item: u64) -> State {
        let place = |k: usize, n: u64| {
            self.center[k] + self.span * ((n as f64 + 0.5) / self.side as f64 - 0.5)
        };
        [
            place(0, item % self.side),
            place(1, item / self.side),
            0.0,
            0.0,
        ]
    }

    /// The derivative of a state: gravity of both bodies, centrifugal and Coriolis force.
    fn derivative(&self, [x, y, u, v]: State) -> State {
        let pull = |x0: f64, mass: f64| {
            let [dx, dy] = [x - x0, y];
            let r2 = dx * dx + dy * dy;
            let strength = mass / (r2 * r2.sqrt());
            [strength * dx, strength * dy]
        };
        let [one, two] = [pull(-self.mu, 1.0 - self.mu), pull(1.0 - self.mu, self.mu)];
        [
            u,
            v,
            x + 2.0 * v - one[0] - two[0],
            y - 2.0 * u - one[1] - two[1],
        ]
    }

    /// A step of the Runge-Kutta method of fourth order.
    fn step(&self, state: State) -> State {
        let moved = |by: State, dt: f64| [0, 1, 2, 3].map(|k| state[k] + dt * by[k]);
        let a = self.derivative(state);
        let b = self.derivative(moved(a, self.dt / 2.0));
        let c = self.derivative(moved(b, self.dt / 2.0));
        let d = self.derivative(moved(c, self.dt));
        moved(
            [0, 1, 2, 3].map(|k| a[k] + 2.0 * (b[k] + c[k]) + d[k]),
            self.dt / 6.0,
        )
    }

    /// The time for which a particle stays within the limit.
    fn value(&self, item: u64) -> f64 {
        let start = self.start(item);
        let mut state = start;
        for step in 0..self.steps {
            let [dx, dy] = [state[0] - start[0], state[1] - start[1]];
            let near = dx * dx + dy * dy <= self.limit * self.limit;
            if !near {
                return step as f64 * self.dt;
            }
            state = self.step(state);
        }
        self.steps as f64 * self.dt
    }
}

impl Contents for Restricted {
    const COMMAND: &'static str = "restricted";
    const NAME: &'static str = "map of the restricted problem";
    const ITEMS: &'static str = "particles";

    fn difference(&self, there: &Self) -> Option<String> {
        (self != there).then(|| format!("{there:?} there, {self:?} here"))
    }
}

impl Ensemble for Restricted {
    const AUTO_GPU_ITEMS: u64 = u64::MAX;

    type Contents = Self;
    type Gpu = NoKernel;
    trisolar::ensemble::plain_records!(f64);

    fn contents(&self) -> Self {
        self.clone()
    }

    fn of_contents(
        contents: &Self,
        _: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError> {
        contents.clone().validate()
    }

    fn items(&self) -> u64 {
        self.side * self.side
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn lanes(&self, _: Simd) -> usize {
        1
    }

    fn on_lanes(
        task: &Task<'_, Self>,
        workers: &Workers,
        share: Share<'_>,
    ) -> Result<(), EngineError> {
        let done = AtomicU64::new(0);
        let results = workers.broadcast(|_| {
            loop {
                let pace = Pace::default();
                while let Some(span) = share.draw_for_thread(pace, 16, workers.threads() as u64)? {
                    let values: Vec<f64> = span.clone().map(|i| task.spec.value(i)).collect();
                    task.deliver(share, span.start, &values)?;
                    let count = span.end - span.start;
                    share.report(
                        task.spec.steps * (done.fetch_add(count, Ordering::Relaxed) + count),
                    );
                }
                if !share.wait()? {
                    return Ok(());
                }
            }
        });
        results.into_iter().collect()
    }
}

/// The engine of an ensemble without a kernel.
#[derive(Debug)]
struct NoKernel(Arc<dyn Device>);

impl GpuEngine for NoKernel {
    fn on(device: Arc<dyn Device>) -> Self {
        Self(device)
    }

    fn emulated_gpu() -> Self {
        Self(Arc::new(trisolar::machine::emulator()))
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.0
    }
}

impl<'a> Worker<Task<'a, Restricted>> for NoKernel {
    fn label(&self) -> String {
        self.0.info().name.clone()
    }

    fn capacity(&self, _: &Task<'a, Restricted>) -> u64 {
        1
    }

    fn work(&self, _: &Task<'a, Restricted>, _: Share<'_>) -> Result<(), EngineError> {
        Err(EngineError::NoGpu("there is no kernel for it".into()))
    }
}

/// Particles around the point L4, which makes an equilateral triangle with the bodies.
fn around_l4(mu: f64) -> Restricted {
    let spec = Restricted {
        mu,
        center: [0.5 - mu, 0.75_f64.sqrt()],
        span: 2e-3,
        side: 8,
        limit: 0.2,
        dt: 0.01,
        steps: 20_000,
    };
    spec.validate().unwrap()
}

#[test]
fn the_triangle_is_stable_up_to_the_mass_ratio_of_gascheau() {
    // Gascheau 1843: μ (1 - μ) < 1/27.
    let critical = (1.0 - (23.0_f64 / 27.0).sqrt()) / 2.0;
    let engine = CpuEngine::new(Some(2)).unwrap();
    let staying = |mu: f64| {
        let spec = around_l4(mu);
        let all = engine.compute(&spec, &Unattended).unwrap().values;
        all.iter().filter(|time| **time >= 200.0).count()
    };
    assert_eq!(staying(0.8 * critical), 64);
    assert_eq!(staying(1.3 * critical), 0);
}

#[test]
fn jacobis_integral_is_conserved() {
    let spec = around_l4(0.03);
    let integral = |[x, y, u, v]: State| {
        let r = |x0: f64| ((x - x0).powi(2) + y * y).sqrt();
        let potential = (1.0 - spec.mu) / r(-spec.mu) + spec.mu / r(1.0 - spec.mu);
        x * x + y * y + 2.0 * potential - u * u - v * v
    };
    let mut state = spec.start(5);
    let before = integral(state);
    for _ in 0..spec.steps {
        state = spec.step(state);
    }
    assert!((integral(state) - before).abs() < 1e-9);
}

#[test]
fn threads_files_parts_and_resumption_come_from_the_contract() {
    let spec = Restricted {
        steps: 500,
        ..around_l4(0.3)
    };
    let expected = CpuEngine::new(Some(1)).unwrap();
    let expected = expected.compute(&spec, &Unattended).unwrap().values;
    let options = RunOptions {
        backend: Backend::Auto,
        threads: Some(3),
        ..RunOptions::default()
    };
    let devices = Devices::new();
    let computed = compute(&devices, &spec, &options, &Unattended).unwrap();
    assert_eq!(computed.values, expected);
    assert_eq!(computed.report.portions[0].items, 64);
    assert_eq!(computed.report.engine, "cpu");

    // A computation that is interrupted and resumed, in two parts.
    struct Impatient(AtomicU64);
    impl Monitor for Impatient {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 2
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.npz");
    let mut names = Vec::new();
    for part in ["1/2", "2/2"] {
        let part: Part = part.parse().unwrap();
        let run = Record::new(Restricted::COMMAND, &working_files(&part.path(&path))[1]);
        for monitor in [&Impatient(AtomicU64::new(0)) as &dyn Monitor, &Unattended] {
            let store = store::part(&path, &spec, part, Some(run.clone())).unwrap();
            let missing = store.missing();
            let task = Task::new(&spec, &missing, &store);
            let one = CpuEngine::new(Some(1)).unwrap();
            let ended = one.stream(&task, monitor);
            store.write_record().unwrap();
            if ended.is_ok() {
                names.push(store.part().to_owned());
                store.finish_part().unwrap();
            }
        }
    }
    let parts = Parts::<Restricted>::read(&names).unwrap();
    let run = Record::new(Restricted::COMMAND, &working_files(&path)[1]);
    let whole = store::merged(&path, &spec, &parts, Some(run)).unwrap();
    let mapped = whole.mapped().unwrap();
    assert_eq!(spec.of_bytes(mapped.bytes()).unwrap(), expected);
    let other = Restricted {
        mu: 0.2,
        ..spec.clone()
    };
    let refused = store::resume(&path, &other).unwrap_err().to_string();
    assert!(refused.contains("mu: 0.3"), "{refused}");

    // A sink of one's own.
    struct Count(AtomicU64);
    impl Sink<Restricted> for Count {
        fn put(&self, _: u64, values: &[f64]) -> Result<(), EngineError> {
            self.0.fetch_add(values.len() as u64, Ordering::Relaxed);
            Ok(())
        }
    }
    let count = Count(AtomicU64::new(0));
    let some = [3..10, 20..21];
    let task = Task::new(&spec, &some, &count);
    CpuEngine::new(Some(2))
        .unwrap()
        .stream(&task, &Unattended)
        .unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), task.items());
}
