//! The ensemble that planetary systems are, and its engine for the lanes of a CPU.

use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;
use kernels_gpu::planets::{
    Adaptive, Alone, Follow, General, MAX_PLANETS, Observation, Observed, Physics, Plan, Record,
    WithTangent, run,
};
use serde::{Deserialize, Serialize};

use super::{DeviceEngine, Overrides, Task, Validated};
use trisolar_bodies::Points;
use trisolar_ensemble::{Ensemble, LaneItems};
use trisolar_run::partial::Contents;
use trisolar_run::queue::Share;
use trisolar_run::{EngineError, Workers};
use trisolar_simd::{OnLanes, Simd};
use trisolar_spec::SpecError;

/// Calls of the lanes between two readings of the clock.
const CALLS_PER_CHECK: u32 = 16;

/// The specification in the record of an unfinished computation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanetContents {
    /// The specification with every value.
    pub specification: Overrides,
}

impl Contents for PlanetContents {
    const COMMAND: &'static str = "planets";
    const NAME: &'static str = "ensemble of planetary systems";
    const ITEMS: &'static str = "systems";

    fn difference(&self, there: &Self) -> Option<String> {
        let differences = trisolar_ensemble::differences(&there.specification, &self.specification);
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

impl Ensemble for Validated {
    const AUTO_GPU_ITEMS: u64 = 4_000;

    type Contents = PlanetContents;
    type Gpu = DeviceEngine;
    trisolar_ensemble::plain_records!(Record);

    fn contents(&self) -> PlanetContents {
        PlanetContents {
            specification: Overrides::of(self.specification()),
        }
    }

    fn of_contents(
        contents: &PlanetContents,
        _: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError> {
        contents.specification.validated()
    }

    fn items(&self) -> u64 {
        self.specification().n
    }

    fn on_lanes(task: &Task<'_>, workers: &Workers, share: Share<'_>) -> Result<(), EngineError> {
        let simd = workers.simd();
        trisolar_ensemble::on_lanes(task, workers, share, |items| {
            let (plan, systems) = (task.spec.plan(), &mut OfThread(items));
            for_follow(
                task.spec,
                OfLanes {
                    simd,
                    plan,
                    systems,
                },
            );
        })
    }
}

/// What is done for the way in which systems are followed.
pub(super) trait ForFollow {
    type Output;
    /// Does it.
    fn by<F: Follow>(self) -> Self::Output;
}

/// Does it for the systems of a specification.
pub(super) fn for_follow<T: ForFollow>(spec: &Validated, what: T) -> T::Output {
    let plan = spec.plan();
    let has_tangent = spec.specification().has_tangent();
    let is_observed = plan.observation.kind != Observation::NONE;
    let is_adaptive = plan.physics.integrator != Physics::WISDOM_HOLMAN;
    match (is_adaptive, plan.physics.is_general(), has_tangent) {
        // Observed systems are of general physics.
        (true, _, true) if is_observed => what.by::<Adaptive<Observed<WithTangent>>>(),
        (true, _, false) if is_observed => what.by::<Adaptive<Observed<Alone>>>(),
        (false, _, true) if is_observed => what.by::<General<Observed<WithTangent>>>(),
        (false, _, false) if is_observed => what.by::<General<Observed<Alone>>>(),
        (true, _, true) => what.by::<Adaptive<WithTangent>>(),
        (true, _, false) => what.by::<Adaptive<Alone>>(),
        (false, false, true) => what.by::<WithTangent>(),
        (false, false, false) => what.by::<Alone>(),
        (false, true, true) => what.by::<General<WithTangent>>(),
        (false, true, false) => what.by::<General<Alone>>(),
    }
}

/// The work of a thread with lanes.
struct OfLanes<'a, 'b, 'c> {
    simd: Simd,
    plan: &'a Plan,
    systems: &'a mut OfThread<'b, 'c>,
}

impl ForFollow for OfLanes<'_, '_, '_> {
    type Output = ();

    fn by<F: Follow>(self) {
        lanes::<F>(self.simd, self.plan, self.systems);
    }
}

/// The systems of a thread.
struct OfThread<'a, 'b>(&'a mut LaneItems<'b, Validated, Record>);

impl run::Systems for OfThread<'_, '_> {
    fn next(&mut self) -> Option<u64> {
        self.0.next_item()
    }

    fn ended(&mut self, item: u64, record: &Record) {
        self.0.ended(item, *record);
    }

    fn stopped(&mut self, _: u64) -> bool {
        self.0.stopped(CALLS_PER_CHECK)
    }
}

/// A thread's work.
struct Following<'a, 'b, 'c, F> {
    plan: &'a Plan,
    systems: &'a mut OfThread<'b, 'c>,
    follow: std::marker::PhantomData<F>,
}

impl<F: Follow> OnLanes for Following<'_, '_, '_, F> {
    type Output = ();
    // Each instruction set takes minutes to compile. The tests of the systems compare the bits of all.
    const ALONE: bool = cfg!(test);

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) {
        match self.plan.count {
            // Few systems have other forces or are observed; they have no code of their own for each number of planets.
            _ if F::OBSERVES || (F::GENERAL && !F::ADAPTIVE) => {
                run::run::<D, F, MAX_PLANETS>(self.plan, self.systems)
            }
            2 => run::run::<D, F, 2>(self.plan, self.systems),
            3 => run::run::<D, F, 3>(self.plan, self.systems),
            _ => run::run::<D, F, MAX_PLANETS>(self.plan, self.systems),
        }
    }
}

/// Scalar lanes, with the instruction for a fused multiply-add instead of a function call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn scalar_fma<F: Follow>(plan: &Plan, systems: &mut OfThread<'_, '_>) {
    run::run::<f64, F, MAX_PLANETS>(plan, systems);
}

/// Follows the systems that the thread can draw.
fn lanes<F: Follow>(simd: Simd, plan: &Plan, systems: &mut OfThread<'_, '_>) {
    match simd {
        // SAFETY: the line above checks that the machine has the instruction.
        #[cfg(target_arch = "x86_64")]
        Simd::Scalar if trisolar_simd::has_fma() => unsafe { scalar_fma::<F>(plan, systems) },
        _ => simd.run(Following::<F> {
            plan,
            systems,
            follow: std::marker::PhantomData,
        }),
    }
}
