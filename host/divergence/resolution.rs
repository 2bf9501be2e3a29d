//! Whether the time step of a map resolves the motion of its bodies, for a sample of its pixels.
//!
//! A step is too long for two bodies if G·M/r³·dt² > 1: they would pass through more than a radian of a circular orbit, or fall
//! onto each other, within the step. What happens afterwards is an effect of the step. A pixel is *unresolved* if that
//! happens before its twins part; a pixel whose twins part earlier is not affected. Every chaotic map has a few such pixels.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kernels_gpu::integrator::{MapIntegrator, TwinState, Twins};
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::{Compiled as _, Entries, Visitor};
use kernels_gpu::number::bits::Bits;
use kernels_gpu::number::{Precision as Number, Single};
use kernels_gpu::physics::three_body::Relative;
use kernels_gpu::quantity::{Divergence, LaneMasses, Quantity as _};
use kernels_gpu::{Mask as _, PerLane, Real};
use serde::{Deserialize, Serialize};

use super::{Precision, Validated};
use trisolar_ensemble::evenly_spaced;
use trisolar_run::machine;
use trisolar_run::{EngineError, Monitor, RunOptions};
use trisolar_simd::{OnLanes, Simd};

/// The share of unresolved pixels above which there is a warning, if the sample is large enough.
pub const UNRESOLVED_LIMIT: f64 = 0.1;

/// Largest number of pixels in a sample.
pub(super) const MAX_SAMPLE_PIXELS: u64 = 256;
/// One pixel in this many belongs to the sample.
const PIXELS_PER_SAMPLE: u64 = 100;
/// Pixel-steps that a sample may always take, about a tenth of a second. The sample of a small map is therefore a larger share of
/// the map.
const FREE_PIXEL_STEPS: u64 = 16_000_000;
/// Number of steps between two checks for cancellation.
const STEPS_PER_SLICE: u32 = 1 << 12;
/// The largest number of lanes of [`Walk`].
const MAX_LANES: usize = 4;

/// The number of unresolved pixels of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    /// Pixels in the sample.
    pub sample: u64,
    /// Pixels of the sample in which a step is too long for two bodies before the twins part.
    pub unresolved: u64,
    /// `unresolved / sample`.
    pub share: f64,
}

impl Resolution {
    /// Makes the result from the numbers of pixels.
    pub fn new(sample: u64, unresolved: u64) -> Self {
        Self {
            sample,
            unresolved,
            share: unresolved as f64 / sample.max(1) as f64,
        }
    }

    /// As text for a summary.
    pub fn in_words(&self) -> String {
        let Self {
            sample, unresolved, ..
        } = self;
        if *sample == 0 {
            return "not determined, because the integrator chooses its steps itself".to_owned();
        }
        let percent = 100.0 * self.share;
        format!("{percent:.1} % ({unresolved} of {sample} sampled pixels)")
    }

    /// A warning if the share exceeds [`UNRESOLVED_LIMIT`] by more than two standard deviations of such a sample, so that a few
    /// pixels of a small sample cause no warning.
    pub fn warning(&self) -> Option<String> {
        let variance = UNRESOLVED_LIMIT * (1.0 - UNRESOLVED_LIMIT) / self.sample.max(1) as f64;
        (self.share > UNRESOLVED_LIMIT + 2.0 * variance.sqrt()).then(|| {
            format!(
                "the time step is too long for {}: two bodies come so close that G·M/r³·dt² > 1, and such a \
                 pixel shows an effect of the step; use a smaller --dt or a larger --softening",
                self.in_words()
            )
        })
    }

    /// Checks that the share does not exceed the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names both, also if there is a limit and the share is not known.
    pub fn check(found: Option<Self>, most: Option<f64>) -> Result<(), String> {
        match (found, most) {
            (Some(found), Some(most)) if found.share > most => Err(format!(
                "the share of unresolved pixels is {}, above --max-error {most}",
                found.in_words()
            )),
            (None | Some(Self { sample: 0, .. }), Some(most)) => Err(format!(
                "the share of unresolved pixels was not determined and cannot be compared with --max-error {most} (an integrator that \
                 chooses its steps itself has none: compare with a map of four times the --steps-per-period)"
            )),
            _ => Ok(()),
        }
    }
}

/// Calls `work`, which computes a map, while other threads, up to the number of `options`, determine the resolution of that map. They
/// stop if `work` fails.
///
/// # Errors
/// Those of `work`, and [`EngineError::Cancelled`] if the monitor ended the run before the resolution was known: a map without it is
/// unfinished.
pub fn beside<T, E: From<EngineError>>(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Resolution), E> {
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = || failed.load(Ordering::Relaxed) || monitor.cancelled();
        let sampling = scope.spawn(move || of(spec, options.threads, options.simd, &stop));
        let done = work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let found = sampling.join();
        let found = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((done?, found?))
    })
}

/// Determines the resolution of a map by its integrator, in f64, on up to `threads` threads (`None`: as many as the process may
/// use), whose number does not change it, and with an instruction set (`None`, or one that the machine does not have: the fastest).
/// A sample of no pixels for integrators whose steps have lengths of their own: those resolve every encounter of two bodies.
///
/// # Errors
/// [`EngineError::Cancelled`] if it was stopped.
pub fn of(
    spec: &Validated,
    threads: Option<usize>,
    simd: Option<Simd>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Resolution, EngineError> {
    if spec.specification().own_steps_per_period().is_some() {
        return Ok(Resolution::new(0, 0));
    }
    let pixels = sample(spec, sample_size(spec, 1));
    let simd = simd.filter(|simd| Simd::available().contains(simd));
    let simd = simd.unwrap_or_else(Simd::best);
    let groups: Vec<&[u64]> = pixels.chunks(MAX_LANES).collect();
    let next = AtomicUsize::new(0);
    let walk_groups = || {
        let mut walk = Walk {
            spec,
            simd,
            pixels: &[],
            stop,
            unresolved: 0,
            stopped: false,
        };
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            walk.pixels = group;
            let by = spec.specification().integrator.name();
            let found = Divergence::with_method(Precision::F64.kind(), by, &mut walk);
            found.expect("every integrator of maps has f64");
        }
        (!walk.stopped).then_some(walk.unresolved)
    };
    let threads = threads.unwrap_or_else(machine::threads).min(groups.len());
    let unresolved = std::thread::scope(|scope| {
        // If the system cannot start more threads, this thread does their part.
        let others: Vec<_> = (1..threads)
            .map_while(|_| {
                std::thread::Builder::new()
                    .spawn_scoped(scope, walk_groups)
                    .ok()
            })
            .collect();
        let mut unresolved = walk_groups();
        for other in others {
            let found = other.join();
            let found = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            unresolved = unresolved.zip(found).map(|(a, b)| a + b);
        }
        unresolved
    });
    let unresolved = unresolved.ok_or(EngineError::Cancelled)?;
    Ok(Resolution::new(pixels.len() as u64, unresolved))
}

/// Number of pixels of a sample whose pixels take `times` as long as those of the map.
pub(super) fn sample_size(spec: &Validated, times: u64) -> u64 {
    let affordable = FREE_PIXEL_STEPS / spec.specification().steps.saturating_mul(times);
    let share = PIXELS_PER_SAMPLE * times.div_ceil(4);
    let count = (spec.pixels() / share).max(affordable);
    count.clamp(1, MAX_SAMPLE_PIXELS)
}

/// Up to `count` pixels spread evenly over the map, the same in every run.
pub(super) fn sample(spec: &Validated, count: u64) -> Vec<u64> {
    let pixels = spec.pixels();
    if count >= pixels || spec.points().is_some() {
        return evenly_spaced(pixels, count);
    }
    let [width, height] = spec.size().map(u64::from);
    let mut found: Vec<u64> = (0..count)
        .map(|n| {
            // Any number of these points fills the square evenly (Roberts 2018: powers of the root of x³ = x + 1).
            const ROOT: f64 = 1.324_717_957_244_746;
            let part = |power: i32, side: u64| {
                let at = (0.5 + (n + 1) as f64 * ROOT.powi(-power)).fract();
                ((at * side as f64) as u64).min(side - 1)
            };
            part(2, height) * width + part(1, width)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The pixels of the sample, and whether each of them is unresolved.
struct Walk<'a> {
    spec: &'a Validated,
    /// An instruction set of this machine.
    simd: Simd,
    pixels: &'a [u64],
    stop: &'a (dyn Fn() -> bool + Sync),
    unresolved: u64,
    stopped: bool,
}

/// Steps all pixels by the integrator, in the vector units of this machine.
impl Visitor<Divergence> for &mut Walk<'_> {
    type Output = ();

    fn visit<P: Number, I: MapIntegrator>(self, _: Entries<Divergence, P, I>) {
        self.simd.run(OfIntegrator(self, PhantomData::<I>));
    }
}

/// The steps of all pixels by an integrator.
struct OfIntegrator<'a, 'w, I>(&'a mut Walk<'w>, PhantomData<I>);

impl<I: MapIntegrator> OnLanes for OfIntegrator<'_, '_, I> {
    type Output = ();
    const NARROW: bool = true;

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) {
        walk_all::<D, I>(self.0);
    }
}

/// The squared distance of each pair below which the step is too long, and the softening length squared.
#[derive(Clone, Copy)]
struct PairLimits<R> {
    r2: [R; 3],
    softening2: R,
}

impl<R: Real> PairLimits<R> {
    #[inline(always)]
    fn new(masses: &Masses) -> Self {
        let [a, b, c] = pairs(masses).map(nearest2);
        Self {
            // Not by `map`, which the compiler may leave in a function without the lanes' instruction set.
            r2: [R::from_f64(a), R::from_f64(b), R::from_f64(c)],
            softening2: R::from_long(masses.in_steps.softening2),
        }
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        for (to, from) in self.r2.iter_mut().zip(&from.r2) {
            to.set_lane(lane, from);
        }
        self.softening2.set_lane(lane, &from.softening2);
    }

    /// Whether each pair is far enough apart; false if its distance is NaN.
    #[inline(always)]
    fn hold(&self, q: &Relative<R>) -> [R::Mask; 3] {
        let c = q.b - q.a;
        [
            self.r2[0].at_most(q.a.norm2_plus(self.softening2)),
            self.r2[1].at_most(q.b.norm2_plus(self.softening2)),
            self.r2[2].at_most(c.norm2_plus(self.softening2)),
        ]
    }
}

/// ±G·M·dt² of each pair.
fn pairs(masses: &Masses) -> [f64; 3] {
    let m = &masses.in_steps;
    [m.minus_sum[0][0], m.minus_sum[1][0], m.g[0][0] + m.g[1][0]]
}

/// (G·M·dt²)^(2/3).
fn nearest2(gm_dt2: f64) -> f64 {
    libm::cbrt(gm_dt2 * gm_dt2)
}

/// Steps all pixels; each lane has a pixel.
#[inline(always)]
fn walk_all<R: Real, I: MapIntegrator>(walk: &mut Walk<'_>) {
    for group in walk.pixels.chunks(R::LANES) {
        if walk.stopped {
            return;
        }
        walk_group::<R, I>(walk, group);
    }
}

/// The twins at a point, in every lane.
#[inline(always)]
fn begin<R: Real, I: MapIntegrator>(
    point: &Point,
    job: &Job,
    masses: &LaneMasses<Divergence, I, R::Lane>,
) -> Twins<I::State<R>> {
    let [start, twin] = &point.twins(job.dt, job.shift);
    let c = masses.context(job);
    PerLane::spread(&TwinState::<R::Lane, I>::begin([start, twin], c))
}

#[inline(always)]
fn walk_group<R: Real, I: MapIntegrator>(walk: &mut Walk<'_>, group: &[u64]) {
    let spec = walk.spec;
    // The job begins with pixel 0, because the lanes get the numbers of their pixels together with the pixels.
    let job = spec.job(0, 0);
    let own = masses(spec, &job, group[0]);
    // Without twins no pixel ends early.
    let criterion = |masses: &Masses| {
        let mut masses = *masses;
        if !spec.specification().quantity.has_twins() {
            masses.criterion.critical2 = f64::INFINITY;
        }
        masses
    };
    let of_one = |own: &Masses| Divergence::own_masses::<R::Lane, I>(&criterion(own));
    let mut of_lanes: LaneMasses<Divergence, I, R> = PerLane::spread(&of_one(&own));
    let mut limits = PairLimits::<R>::new(&own);
    let begin = begin::<R, I>;
    let mut twins = begin(&start(spec, &job, group[0]), &job, &of_lanes.lane(0));
    for (lane, pixel) in group.iter().enumerate().skip(1) {
        let own = masses(spec, &job, *pixel);
        let of_one = of_one(&own);
        twins.set_lane(lane, &begin(&start(spec, &job, *pixel), &job, &of_one));
        of_lanes.set_lane(lane, &PerLane::spread(&of_one));
        limits.set_lane(lane, &PairLimits::new(&own));
    }
    let rest = begin(&resting(spec, &job, group), &job, &of_lanes.lane(0));
    let done = &mut [false; MAX_LANES][..R::LANES];
    // Lanes without a pixel repeat the first pixel.
    done[group.len()..].fill(true);
    for step in 0..job.steps {
        let together = TwinState::<R, I>::are_together(&twins, of_lanes.context(&job));
        let [a, b, c] = limits.hold(&I::positions(&twins.a));
        if !(together.all() && a.all() && b.all() && c.all()) {
            for (lane, done) in done.iter_mut().enumerate() {
                let parted = !together.lane(lane);
                let resolved = a.lane(lane) && b.lane(lane) && c.lane(lane);
                if resolved && !parted {
                    continue;
                }
                walk.unresolved += u64::from(!*done && !parted);
                *done = true;
                twins.set_lane(lane, &rest);
            }
            if done.iter().all(|done| *done) {
                return;
            }
        }
        if step % STEPS_PER_SLICE == STEPS_PER_SLICE - 1 && (walk.stop)() {
            walk.stopped = true;
            return;
        }
        if step < I::STARTS {
            for lane in 0..R::LANES {
                let mut one = twins.lane(lane);
                let masses = of_lanes.lane(lane);
                TwinState::<R::Lane, I>::start(&mut one, masses.context(&job));
                twins.set_lane(lane, &PerLane::spread(&one));
            }
        } else {
            TwinState::<R, I>::step(&mut twins, of_lanes.context(&job));
        }
    }
}

/// The masses of a pixel.
fn masses(spec: &Validated, job: &Job, pixel: u64) -> Masses {
    spec.masses(pixel).unwrap_or(job.masses)
}

/// The start of a pixel.
fn start(spec: &Validated, job: &Job, pixel: u64) -> Point {
    spec.point(pixel).unwrap_or_else(|| job.grid.point(pixel))
}

/// Bodies at rest, so far apart that they do not come close in any number of steps: for lanes whose pixels are done.
fn resting(spec: &Validated, job: &Job, group: &[u64]) -> Point {
    const APART: f64 = 1e9;
    let mut reach = 1.0_f64;
    for pixel in group {
        for gm_dt2 in pairs(&masses(spec, job, *pixel)) {
            reach = reach.max(nearest2(gm_dt2).sqrt());
        }
    }
    let far = APART * reach;
    Point {
        positions: [[0.0; 3], [far, 0.0, 0.0], [0.0, far, 0.0]],
        ..Point::RESTING
    }
}

#[cfg(test)]
mod tests {
    use kernels_gpu::integrator::ExplicitEuler;

    use super::super::{Points, Specification};
    use super::*;

    fn share(change: impl FnOnce(&mut Specification)) -> f64 {
        let mut specification = Specification::default();
        change(&mut specification);
        let spec = specification.validate().expect("valid");
        of(&spec, Some(1), None, &|| false)
            .expect("not stopped")
            .share
    }

    #[test]
    fn the_headline_map_is_resolved_and_nonsense_is_not() {
        assert!(share(|s| s.steps = 20_000) < 0.02);
        let of_dt = |i: &trisolar_spec::Integrator| i.steps_per_period().is_none();
        for integrator in (trisolar_spec::Integrator::ALL.iter().copied()).filter(of_dt) {
            let dt = |s: &mut Specification, dt: f64| {
                (s.dt, s.integrator) = (dt, integrator);
                s.steps = (50.0 / s.dt).ceil() as u64;
            };
            assert!(share(|s| dt(s, 0.002)) < UNRESOLVED_LIMIT, "{integrator}");
            assert!(share(|s| dt(s, 1.0)) > UNRESOLVED_LIMIT, "{integrator}");
            assert_eq!(share(|s| dt(s, 10.0)), 1.0, "{integrator}");
        }
        // Softened, bodies fall through each other without being torn apart.
        assert_eq!(
            share(|s| (s.dt, s.steps, s.softening) = (0.5, 100, 10.0)),
            0.0
        );
    }

    type Euler = <ExplicitEuler as kernels_gpu::integrator::Integrator>::OnMaps;

    /// Evaluates the definition step by step in scalar arithmetic.
    fn plainly(spec: &Validated, pixel: u64) -> bool {
        let s = spec.specification();
        let job = spec.job_in_lengths(0, 1);
        let masses = masses(spec, &job, pixel);
        let masses = Divergence::own_masses::<f64, Euler>(&masses);
        let c = masses.context(&job);
        let mut twins = Divergence::begin::<f64, Euler>(&start(spec, &job, pixel), c);
        let own = spec.points().and_then(|p| p.masses(pixel as usize));
        let m = own.unwrap_or(s.masses);
        for _ in 0..s.steps {
            if !Divergence::goes_on::<f64, Euler>(&twins, c) {
                return false;
            }
            let q = Euler::positions(&twins.a);
            for (v, mass) in [
                (q.a, m[0] + m[1]),
                (q.b, m[0] + m[2]),
                (q.b - q.a, m[1] + m[2]),
            ] {
                let r2 = v.norm2_plus(s.softening * s.softening);
                if s.g * mass / (r2 * r2.sqrt()) * s.dt * s.dt > 1.0 {
                    return true;
                }
            }
            Divergence::step::<f64, Euler>(&mut twins, c);
        }
        false
    }

    #[test]
    fn every_lane_finds_what_one_number_finds() {
        let specification = Specification {
            size: [9, 7],
            dt: 0.4,
            steps: 300,
            softening: 0.01,
            ..Specification::default()
        };
        let grid = specification.clone().validate().expect("valid");
        // Points with masses of their own, one of them without masses.
        let values = (0..13).flat_map(|n| {
            let x = f64::from(n);
            let mut point = vec![x, 2.0, -11.0, 0.0, 0.0, 0.0, 10.0, 10.0, 12.0];
            point.extend([-3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0]);
            point.extend(if n == 5 {
                [0.0; 3]
            } else {
                [x, 20.0 + 9.0 * x, 30.0]
            });
            point
        });
        let points = Points::new(&[13, 21], values.collect()).expect("points");
        let points = specification.validate_points(points).expect("valid");
        for spec in [grid, points] {
            let found = of(&spec, Some(1), None, &|| false).expect("not stopped");
            for (threads, simd) in [(Some(7), Some(Simd::Scalar)), (None, None)] {
                let again = of(&spec, threads, simd, &|| false).expect("not stopped");
                assert_eq!(again, found);
            }
            let expected = (0..spec.pixels()).filter(|n| plainly(&spec, *n)).count() as u64;
            assert_eq!(found.sample, spec.pixels());
            assert_eq!(found.unresolved, expected);
            assert!(expected > 0 && expected < spec.pixels(), "{expected}");
        }
    }

    #[test]
    fn a_sample_is_spread_over_the_map_and_no_larger_than_its_time_allows() {
        let sampled = |size: [u64; 2], steps: u64| {
            let specification = Specification {
                size,
                steps,
                ..Specification::default()
            };
            let spec = specification.validate().expect("valid");
            sample(&spec, sample_size(&spec, 1))
        };
        assert_eq!(sampled([4, 3], 10), (0..12).collect::<Vec<u64>>());
        assert_eq!(sampled([40, 30], 4_000_000_000).len(), 12);
        assert_eq!(sampled([3, 1], 4_000_000_000).len(), 1);
        let all = sampled([1000, 500], 50_000);
        assert_eq!(all.len(), 256);
        // Every sixteenth of the map has its share.
        for (row, column) in (0..4).flat_map(|r| (0..4).map(move |c| (r, c))) {
            let inside = |n: &&u64| (*n / 1000 / 125, *n % 1000 / 250) == (row, column);
            let count = all.iter().filter(inside).count();
            assert!((10..=22).contains(&count), "{row} {column}: {count}");
        }
    }

    #[test]
    fn a_warning_is_no_accident_of_a_small_sample() {
        // The late frames of the zoom of Badger's study have 3 %.
        for (sample, unresolved) in [(1, 0), (3, 1), (32, 4), (256, 8), (256, 30), (0, 0)] {
            let found = Resolution::new(sample, unresolved);
            assert_eq!(found.warning(), None, "{unresolved} of {sample}");
        }
        for (sample, unresolved) in [(1, 1), (3, 2), (32, 8), (256, 40)] {
            let said = Resolution::new(sample, unresolved).warning();
            assert!(said.is_some(), "{unresolved} of {sample}");
        }
    }

    #[test]
    fn a_limit_is_exceeded_by_a_larger_share_and_by_one_that_is_not_known() {
        let found = Some(Resolution::new(100, 30));
        assert_eq!(Resolution::check(found, None), Ok(()));
        assert_eq!(Resolution::check(None, None), Ok(()));
        assert_eq!(Resolution::check(found, Some(0.3)), Ok(()));
        let said = Resolution::check(found, Some(0.25)).unwrap_err();
        assert!(said.contains("30.0 % (30 of 100"), "{said}");
        assert!(said.contains("--max-error 0.25"), "{said}");
        let said = Resolution::check(None, Some(0.25)).unwrap_err();
        assert!(said.contains("not determined"), "{said}");
    }

    #[test]
    fn a_map_whose_resolution_was_not_found_in_time_is_unfinished() {
        /// A monitor that ends the run as soon as the map is computed.
        struct AfterTheMap(AtomicBool);
        impl Monitor for AfterTheMap {
            fn progress(&self, _: u64, _: u64) {}

            fn cancelled(&self) -> bool {
                self.0.load(Ordering::Relaxed)
            }
        }
        let specification = Specification {
            steps: 4_000_000_000,
            ..Specification::default()
        };
        let spec = specification.validate().expect("valid");
        for threads in [Some(1), Some(5), None] {
            let options = RunOptions {
                threads,
                ..RunOptions::default()
            };
            let monitor = AfterTheMap(AtomicBool::new(false));
            let work = || -> Result<(), EngineError> {
                monitor.0.store(true, Ordering::Relaxed);
                Ok(())
            };
            let ended = beside(&spec, &options, &monitor, work);
            assert!(matches!(ended, Err(EngineError::Cancelled)), "{ended:?}");
        }
    }
}
