//! Steps of their own length for each system: the Runge-Kutta scheme of order 8 by Dormand & Prince with error estimates of orders 5 and 3
//! (Hairer, Nørsett & Wanner 1993, section II.10). It follows encounters, eccentric orbits and forces that depend on velocities.
//!
//! Steps are a power of two times the step h of the specification and begin at a multiple of themselves, so that the time in units of h is
//! exact and every system ends at the same time as with steps h. A step is repeated with half its length if its error is too large, and the
//! next one is twice as long if the error is far below that. Only products and sums decide, so that all engines decide alike.
//!
//! A hybrid system takes a Wisdom-Holman step, and repeats it by steps of their own length if two planets are within some Hill radii of
//! either of them, as in TRACE (Lu, Hernandez & Rein 2024).

use super::kepler::Phase;
use super::system::{Outcome, System, pull, turned};
use super::{Follow, Physics};
use crate::number::{Bits, Mask};
use crate::{PerLane, Real, Vec3};

/// The largest step in units of h.
const LARGEST: f64 = 8.0;
/// The smallest one; a system that needs smaller ones is not solved.
const SMALLEST: f64 = 1.0 / (1_u64 << 40) as f64;
/// A step may be doubled if its squared error is this much smaller: its error is of order 8.
const ROOM: f64 = 512.0 * 512.0;
/// A number whose sum with one below 2⁵¹ has no fraction.
const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

/// The weights of the slopes of all stages so far in the next state; the last row gives the state after the step, of order 8.
const WEIGHTS: [[f64; 12]; 12] = [
    [
        0.052_600_151_958_767_73,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.019_725_056_984_537_9,
        0.059_175_170_953_613_7,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.029_587_585_476_806_85,
        0.0,
        0.088_762_756_430_420_54,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.241_365_134_159_266_7,
        0.0,
        -0.884_549_479_328_286_1,
        0.924_834_003_261_792,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.037_037_037_037_037_035,
        0.0,
        0.0,
        0.170_828_608_729_473_86,
        0.125_467_687_566_822_42,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.037_109_375,
        0.0,
        0.0,
        0.170_252_211_019_544_05,
        0.060_216_538_980_455_96,
        -0.017_578_125,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.037_092_000_118_504_79,
        0.0,
        0.0,
        0.170_383_925_712_239_98,
        0.107_262_030_446_373_28,
        -0.015_319_437_748_624_402,
        0.008_273_789_163_814_023,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.624_110_958_716_075_7,
        0.0,
        0.0,
        -3.360_892_629_446_941_4,
        -0.868_219_346_841_726,
        27.592_099_699_446_71,
        20.154_067_550_477_894,
        -43.489_884_181_069_96,
        0.0,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.477_662_536_438_264_34,
        0.0,
        0.0,
        -2.488_114_619_971_667_7,
        -0.590_290_826_836_843,
        21.230_051_448_181_193,
        15.279_233_632_882_423,
        -33.288_210_968_984_86,
        -0.020_331_201_708_508_627,
        0.0,
        0.0,
        0.0,
    ],
    [
        -0.937_142_430_085_987_3,
        0.0,
        0.0,
        5.186_372_428_844_064,
        1.091_437_348_996_729_5,
        -8.149_787_010_746_927,
        -18.520_065_659_996_96,
        22.739_487_099_350_505,
        2.493_605_552_679_652_3,
        -3.046_764_471_898_219_6,
        0.0,
        0.0,
    ],
    [
        2.273_310_147_516_538,
        0.0,
        0.0,
        -10.534_495_466_737_25,
        -2.000_872_058_224_862_5,
        -17.958_931_863_118_8,
        27.948_884_529_419_96,
        -2.858_998_277_135_023_5,
        -8.872_856_933_530_63,
        12.360_567_175_794_303,
        0.643_392_746_015_763_6,
        0.0,
    ],
    [
        0.054_293_734_116_568_765,
        0.0,
        0.0,
        0.0,
        0.0,
        4.450_312_892_752_409,
        1.891_517_899_314_500_3,
        -5.801_203_960_010_585,
        0.311_164_366_957_819_9,
        -0.152_160_949_662_516_1,
        0.201_365_400_804_030_34,
        0.044_710_615_727_772_59,
    ],
];
/// Those of the difference from a step of order 5.
const ERROR_5: [f64; 12] = [
    0.013_120_044_994_194_88,
    0.0,
    0.0,
    0.0,
    0.0,
    -1.225_156_446_376_204_4,
    -0.495_758_949_657_250_2,
    1.664_377_182_454_986_4,
    -0.350_328_848_749_973_66,
    0.334_179_118_713_017_5,
    0.081_923_206_485_115_71,
    -0.022_355_307_863_886_294,
];
/// Those of the difference from a step of order 3.
const ERROR_3: [f64; 12] = [
    -0.189_800_754_072_407_62,
    0.0,
    0.0,
    0.0,
    0.0,
    4.450_312_892_752_409,
    1.891_517_899_314_500_3,
    -5.801_203_960_010_585,
    -0.422_682_321_323_791_9,
    -0.152_160_949_662_516_1,
    0.201_365_400_804_030_34,
    0.022_651_792_198_360_82,
];

/// A state plus a multiple of its slope.
#[inline(always)]
fn plus<R: Real>(a: Phase<R>, k: R, b: Phase<R>) -> Phase<R> {
    Phase {
        x: a.x.add_scaled(k, b.x),
        v: a.v.add_scaled(k, b.v),
    }
}

/// Where both hold.
#[inline(always)]
fn both<R: Real>(a: R::Mask, b: R::Mask) -> R::Mask {
    let one = R::from_f64(1.0);
    one.at_most(R::select(a, R::select(b, one, R::zero()), R::zero()))
}

impl<R: Bits<Alone = f64>, const N: usize> System<R, N> {
    /// The derivatives of the state of a planet and of its tangent vector with respect to time.
    #[inline(always)]
    fn slope<F: Follow>(&self, i: usize) -> [Phase<R>; 2] {
        let p = &self.planets[i];
        let x = p.state.x;
        let (w, ri2) = pull(x.dot(x));
        let w = -(p.inner * w);
        let state = Phase {
            x: p.state.v,
            v: p.kick.add_scaled(w, x),
        };
        if !F::TANGENT {
            return [state; 2];
        }
        let d = turned(x, p.tangent.x, ri2);
        let tangent = Phase {
            x: p.tangent.v,
            v: p.tangent_kick.add_scaled(w, d),
        };
        [state, tangent]
    }

    /// The growth of the logarithm of the tangent vector's length in a time h; `length2` is its squared length.
    #[inline(always)]
    pub(super) fn growth<F: Follow>(&self, count: usize, length2: R) -> R {
        let mut sum = R::zero();
        let mut i = 0;
        while i < count {
            let Phase { x, v } = self.planets[i].tangent;
            let [_, slope] = self.slope::<F>(i);
            sum = sum + (x.dot(slope.x) + v.dot(slope.v));
            i += 1;
        }
        length2.divides(self.course.h * sum)
    }

    /// Replaces the state by that after a time h. Returns where the error is allowed, and where it would be with twice the time.
    #[inline(always)]
    fn attempt<F: Follow>(&mut self, count: usize, physics: &Physics, h: R) -> [R::Mask; 2] {
        let c = R::from_f64;
        let none = Phase {
            x: Vec3::zero(),
            v: Vec3::zero(),
        };
        let (mut k, mut dk) = ([[none; N]; 12], [[none; N]; 12]);
        let (mut start, mut dstart) = ([none; N], [none; N]);
        let mut stage = 0;
        while stage < 12 {
            let mut i = 0;
            while i < count {
                let p = &self.planets[i];
                if stage == 0 {
                    start[i] = p.state;
                    if F::TANGENT {
                        dstart[i] = p.tangent;
                    }
                }
                let [slope, dslope] = self.slope::<F>(i);
                k[stage][i] = slope;
                if F::TANGENT {
                    dk[stage][i] = dslope;
                }
                i += 1;
            }
            let mut i = 0;
            while i < count {
                let (mut sum, mut dsum) = (none, none);
                let mut j = 0;
                while j <= stage {
                    let weight = WEIGHTS[stage][j];
                    if weight != 0.0 {
                        sum = plus(sum, c(weight), k[j][i]);
                        if F::TANGENT {
                            dsum = plus(dsum, c(weight), dk[j][i]);
                        }
                    }
                    j += 1;
                }
                let p = &mut self.planets[i];
                p.state = plus(start[i], h, sum);
                if F::TANGENT {
                    p.tangent = plus(dstart[i], h, dsum);
                }
                i += 1;
            }
            self.kicks::<F>(count, physics);
            stage += 1;
        }
        // The squares of both errors, relative to places and velocities.
        let (mut five, mut three) = (R::zero(), R::zero());
        let mut i = 0;
        while i < count {
            let (mut a, mut b) = (none, none);
            let mut j = 0;
            while j < 12 {
                if ERROR_5[j] != 0.0 {
                    a = plus(a, c(ERROR_5[j]), k[j][i]);
                    b = plus(b, c(ERROR_3[j]), k[j][i]);
                }
                j += 1;
            }
            let Phase { x, v } = start[i];
            let x = x.dot(x).divides(c(1.0));
            let v = v.norm2_plus(c(1e-18)).divides(c(1.0));
            five = five + x.mul_add(a.x.dot(a.x), v * a.v.dot(a.v));
            three = three + x.mul_add(b.x.dot(b.x), v * b.v.dot(b.v));
            i += 1;
        }
        let error = h * five;
        let error = error * error;
        let tolerance = physics.tolerance * physics.tolerance * 2.0 * count as f64;
        let allowed = c(tolerance) * c(0.01).mul_add(three, five);
        [error.at_most(allowed), (c(ROOM) * error).at_most(allowed)]
    }

    /// Puts back the system of the lanes where it is not kept.
    #[inline(always)]
    fn restore(&mut self, kept: R::Mask, before: &Self) {
        if kept.all() {
            return;
        }
        let mut lane = 0;
        while lane < R::LANES {
            if !kept.lane(lane) {
                let mut i = 0;
                while i < N {
                    self.planets[i].set_lane(lane, &before.planets[i]);
                    i += 1;
                }
                self.course.set_lane(lane, &before.course);
            }
            lane += 1;
        }
    }

    /// Takes a step of the system's own length, or finds that it must be shorter.
    #[inline(always)]
    fn own_step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        let before = *self;
        let t = &before.course;
        let (mut size, mut inverse) = (t.size, t.inverse);
        // The last steps end with the system's time.
        let mut k = 1.0;
        while k < LARGEST {
            let fits = (t.taken + size).at_most(t.steps);
            size = R::select(fits, size, c(0.5) * size);
            inverse = R::select(fits, inverse, c(2.0) * inverse);
            k *= 2.0;
        }
        let [allowed, grows] = self.attempt::<F>(count, physics, size * t.h);
        let mut ends = [R::zero(); 2];
        let mut i = 0;
        while i < count {
            ends = self.inspect(i, ends);
            i += 1;
        }
        self.observe::<F>(count, ends, size);
        self.restore(allowed, &before);
        let (double, half) = (c(2.0) * size, c(0.5) * size);
        let (double_inverse, half_inverse) = (c(2.0) * inverse, c(0.5) * inverse);
        let t = &mut self.course;
        let times = half_inverse * t.taken;
        let largest = c(if physics.is_hybrid() { 1.0 } else { LARGEST });
        let grows = both::<R>(grows, both::<R>(is_whole(times), double.at_most(largest)));
        t.size = R::select(grows, double, R::select(allowed, size, half));
        t.inverse = R::select(
            grows,
            half_inverse,
            R::select(allowed, inverse, double_inverse),
        );
        t.tries = t.tries + c(1.0);
        let unsolved = c(f64::from(Outcome::UNSOLVED.0));
        t.outcome = R::select(c(SMALLEST).at_most(t.size), t.outcome, unsolved);
        // The time would stand still.
        let still = (t.taken + t.size).at_most(t.taken);
        t.outcome = R::select(still, unsolved, t.outcome);
    }

    /// Takes a step of the integrator of [`Physics`].
    #[inline(always)]
    pub(super) fn any_step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        let count = if count < N { count } else { N };
        let one = c(1.0);
        let fine = self.course.fine;
        let is_fine = one.at_most(fine);
        if !is_fine.all() {
            let before = *self;
            self.wisdom_holman::<F>(count, physics);
            let t = &mut self.course;
            t.tries = t.tries + one;
            let far_apart = t.close.at_most(R::zero());
            let kept = one.at_most(R::select(
                is_fine,
                R::zero(),
                R::select(far_apart, one, R::zero()),
            ));
            self.restore(kept, &before);
            self.course.fine = R::select(kept, R::zero(), one);
        }
        if !fine.at_most(R::zero()).all() {
            let before = *self;
            self.own_step::<F>(count, physics);
            self.restore(is_fine, &before);
            if physics.is_hybrid() {
                // Between steps h, and not where a step was only found to be too long.
                let t = &mut self.course;
                let ends = both::<R>(is_whole(t.taken), t.close.at_most(R::zero()));
                let ends = both::<R>(is_fine, ends);
                let still = R::select(ends, R::zero(), t.fine);
                t.fine = R::select(t.taken.at_most(before.course.taken), t.fine, still);
            }
        }
    }
}

/// Where a number from 0 to 2⁵¹ has no fraction.
#[inline(always)]
fn is_whole<R: Real>(x: R) -> R::Mask {
    let c = R::from_f64;
    let fraction = ((x + c(WHOLE)) - c(WHOLE)) - x;
    (fraction * fraction).at_most(R::zero())
}
