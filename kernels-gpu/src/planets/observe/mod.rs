//! What is observed of systems on their way, one file for each kind of observation: up to `WORDS` numbers that every step changes, and two
//! numbers that follow from them at the end.
//!
//! Systems that are [observed](super::Observed) have kernels of their own, so that those of others keep their registers. The kind is a number
//! of the plan, because a branch that all systems of a launch take alike costs little beside a step.

mod amd;
mod closest;
mod extremes;
mod fli;
mod frequency;
mod libration;
mod lyapunov;
mod orbit;

use self::orbit::Orbit;
use super::system::{FEW, MANY, SOME, each_planet};
use super::{MAX_PLANETS, Outcome, Record, System};
use crate::number::{Bits, per_lane};

/// The numbers of an observation.
const WORDS: usize = 8;

/// What is observed, and of which planets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Observation {
    /// One of the constants of this type.
    pub kind: u64,
    /// The planet that is observed, counted from 0.
    pub planet: u64,
    /// The [level](Self::level) at which systems end; infinite for none.
    pub limit: f64,
    /// The integers of an angle: how often it contains mean longitude, longitude of the pericentre and longitude of the node of each planet.
    pub angle: [[f64; 3]; MAX_PLANETS],
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            kind: Self::NONE,
            planet: 0,
            limit: f64::INFINITY,
            angle: [[0.0; 3]; MAX_PLANETS],
        }
    }
}

/// The numbers of an observation in progress.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Notes<R> {
    words: [R; WORDS],
}

/// How a kind of observation works.
trait Observe {
    /// The numbers at the start of a system.
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS];
    /// Changes the numbers after a step. Another call after the same step must change nothing, because adaptive steps may be repeated.
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        of: &Observation,
    );
    /// The two results. What does not exist is not finite.
    fn end<const N: usize>(words: &[f64; WORDS], system: &System<f64, N>) -> [f64; 2];
    /// A number that grows with the value that can end systems; one that is none, if they go on.
    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(_: &[R; WORDS], _: &System<R, N>) -> R {
        R::from_f64(f64::NAN)
    }
    /// The same for such a value.
    fn level_of(value: f64) -> f64 {
        value
    }
}

/// The table of all kinds.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $number:literal: $kind:ty,)+) => {
        impl Observation {
            /// Nothing.
            pub const NONE: u64 = 0;
            $($(#[$about])* pub const $name: u64 = $number;)+

            /// The level of a value of this kind: a number that grows with it, and takes few operations to find.
            pub fn level(kind: u64, value: f64) -> f64 {
                match kind {
                    $($number => <$kind>::level_of(value),)+
                    _ => f64::INFINITY,
                }
            }
        }

        impl Notes<f64> {
            /// The observation of a system at its start.
            #[cfg_attr(target_arch = "nvptx64", inline(never))]
            pub fn begin<const N: usize>(system: &System<f64, N>, count: usize, of: &Observation) -> Self {
                let words = match of.kind {
                    $($number => <$kind>::begin(system, count, of),)+
                    _ => [0.0; WORDS],
                };
                Self { words }
            }

            /// The record of the system that has ended, with what was observed: NaN for what does not exist.
            #[cfg_attr(target_arch = "nvptx64", inline(never))]
            pub fn completed<const N: usize>(
                &self,
                mut record: Record,
                system: &System<f64, N>,
                of: &Observation,
            ) -> Record {
                let found = match of.kind {
                    _ if record.outcome == Outcome::UNSOLVED.0 => [f64::NAN; 2],
                    $($number => <$kind>::end(&self.words, system),)+
                    _ => [f64::NAN; 2],
                };
                record.observed = found.map(|x| if x.is_finite() { x } else { f64::NAN });
                record
            }
        }

        impl<R: Bits<Alone = f64>> Notes<R> {
            /// Observes the system after a step, and ends it at the limit unless something worse has.
            #[inline(always)]
            pub fn note<const N: usize>(&mut self, system: &mut System<R, N>, count: usize, of: &Observation) {
                match of.kind {
                    $($number => <$kind>::note(&mut self.words, system, count, of),)+
                    _ => {}
                }
                if of.limit < f64::INFINITY {
                    let level = match of.kind {
                        $($number => <$kind>::level(&self.words, system),)+
                        _ => R::zero(),
                    };
                    system.end_at(R::from_f64(of.limit).at_most(level));
                }
            }
        }
    };
}

per_lane!(Notes<R> { words });

kinds! {
    /// The least and the greatest semi-major axis of the planet.
    SEMI_MAJOR_AXIS = 1: extremes::SemiMajorAxis,
    /// Its least and greatest eccentricity.
    ECCENTRICITY = 2: extremes::Eccentricity,
    /// Its least and greatest inclination.
    INCLINATION = 3: extremes::Inclination,
    /// The least and the greatest angular momentum deficit.
    AMD = 4: amd::Deficit,
    /// The angular momentum deficit at the start relative to the critical one.
    AMD_STABILITY = 5: amd::Stability,
    /// Centre and amplitude of an angle.
    LIBRATION = 6: libration::Libration,
    /// The mean motion of the planet in the first half of the time, and the change of that in the second half.
    FREQUENCY = 7: frequency::Frequency,
    /// The least distance of two planets.
    CLOSEST = 8: closest::Closest,
    /// The fast Lyapunov indicator.
    FLI = 9: fli::Fli,
    /// The Lyapunov exponent, which is only observed where it ends systems: all records have it.
    LYAPUNOV = 10: lyapunov::Lyapunov,
}

/// The lesser one; `x` if that is not a number.
#[inline(always)]
fn lesser<R: Bits>(x: R, y: R) -> R {
    R::select(y.at_most(x), y, x)
}

/// The greater one; `x` if that is not a number.
#[inline(always)]
fn greater<R: Bits>(x: R, y: R) -> R {
    R::select(x.at_most(y), y, x)
}

/// The orbit of the planet that is observed.
#[inline(always)]
fn observed<R: Bits<Alone = f64>, const N: usize>(
    system: &System<R, N>,
    count: usize,
    of: &Observation,
) -> Orbit<R> {
    let (mut mass, mut state) = (system.planets[0].inner, system.states[0]);
    // An index that is not a constant would keep the system out of a GPU's registers.
    each_planet!(count, 1, |i| {
        if i as u64 == of.planet {
            (mass, state) = (system.planets[i].inner, system.states[i]);
        }
    });
    Orbit::of(mass, &state)
}
