//! Newtonian attraction.

use core::ops::{Add, Sub};

use super::vec3::Vec3;
use crate::{PerLane, Real};

/// Three bodies as seen from the first: a = p₁ - p₀ and b = p₂ - p₀.
///
/// The centre of mass of an isolated system moves uniformly, so these two vectors hold everything that happens; the
/// first body is at (centre of mass) - (m₁/M) a - (m₂/M) b. A third fewer numbers than three positions, and
/// fewer operations a step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Relative<R> {
    /// From body 0 to body 1.
    pub a: Vec3<R>,
    /// From body 0 to body 2.
    pub b: Vec3<R>,
}

impl Relative<f64> {
    /// From positions (or velocities) of three bodies.
    #[inline(always)]
    pub fn from_bodies(p: &[[f64; 3]; 3]) -> Self {
        let from = |body: usize| Vec3 {
            x: p[body][0] - p[0][0],
            y: p[body][1] - p[0][1],
            z: p[body][2] - p[0][2],
        };
        Self {
            a: from(1),
            b: from(2),
        }
    }

    /// The nearest vectors of other numbers, in every lane.
    #[inline(always)]
    pub fn convert<R: Real>(&self) -> Relative<R> {
        Relative {
            a: self.a.convert(),
            b: self.b.convert(),
        }
    }
}

impl<R: Real> Relative<R> {
    /// All components 0.
    #[inline(always)]
    pub fn zero() -> Self {
        Self {
            a: Vec3::zero(),
            b: Vec3::zero(),
        }
    }

    /// `self` + k · d, fused.
    #[inline(always)]
    pub fn add_scaled(self, k: R, d: &Self) -> Self {
        Self {
            a: self.a.add_scaled(k, d.a),
            b: self.b.add_scaled(k, d.b),
        }
    }

    /// k · `self`.
    #[inline(always)]
    pub fn scaled(self, k: R) -> Self {
        Self {
            a: self.a.scaled(k),
            b: self.b.scaled(k),
        }
    }

    /// The vectors themselves, see [`Real::now`].
    #[inline(always)]
    pub fn now(self) -> Self {
        Self {
            a: self.a.now(),
            b: self.b.now(),
        }
    }
}

impl<R: PerLane> PerLane for Relative<R> {
    type One = Relative<R::One>;

    #[inline(always)]
    fn spread(one: &Self::One) -> Self {
        Self {
            a: Vec3::spread(&one.a),
            b: Vec3::spread(&one.b),
        }
    }

    #[inline(always)]
    fn lane(&self, lane: usize) -> Self::One {
        Relative {
            a: self.a.lane(lane),
            b: self.b.lane(lane),
        }
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        self.a.set_lane(lane, &from.a);
        self.b.set_lane(lane, &from.b);
    }
}

impl<R: Real> Add for Relative<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self {
            a: self.a + o.a,
            b: self.b + o.b,
        }
    }
}

impl<R: Real> Sub for Relative<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self {
            a: self.a - o.a,
            b: self.b - o.b,
        }
    }
}

/// G·m of three bodies as [`kick`] needs it, in any unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pulls<R> {
    /// g₁ and g₂.
    pub g: [R; 2],
    /// -(g₀ + g₁) and -(g₀ + g₂).
    pub minus_sum: [R; 2],
    /// Softening length squared.
    pub softening2: R,
}

impl Pulls<f64> {
    /// From G·m of each body (times dt² for velocities in length a step) and the softening length.
    pub fn new(g: [f64; 3], softening: f64) -> Self {
        Self {
            g: [g[1], g[2]],
            minus_sum: [-(g[0] + g[1]), -(g[0] + g[2])],
            softening2: softening * softening,
        }
    }

    /// The same in another unit of length, `factor` of which make the present one.
    pub fn scaled(mut self, factor: f64) -> Self {
        let cube = factor * factor * factor;
        self.g.iter_mut().for_each(|g| *g *= cube);
        self.minus_sum.iter_mut().for_each(|g| *g *= cube);
        self.softening2 *= factor * factor;
        self
    }

    /// The nearest numbers of another kind, in every lane.
    #[inline(always)]
    pub fn convert<R: Real>(&self) -> Pulls<R> {
        Pulls {
            g: [R::from_f64(self.g[0]), R::from_f64(self.g[1])],
            minus_sum: [
                R::from_f64(self.minus_sum[0]),
                R::from_f64(self.minus_sum[1]),
            ],
            softening2: R::from_f64(self.softening2),
        }
    }
}

/// Built from [`Pulls`] in `f64`: what a loop that steps in `R` keeps.
pub trait FromPulls<R: Real>: Copy {
    /// The same in another [`Real`].
    fn from_pulls(pulls: &Pulls<f64>) -> Self;
    /// Replaces one lane by the same lane of `from`.
    fn set_lane(&mut self, lane: usize, from: &Self);
}

impl<R: Real> FromPulls<R> for Pulls<R> {
    #[inline(always)]
    fn from_pulls(pulls: &Pulls<f64>) -> Self {
        pulls.convert()
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        self.g.set_lane(lane, &from.g);
        self.minus_sum.set_lane(lane, &from.minus_sum);
        self.softening2.set_lane(lane, &from.softening2);
    }
}

/// Softened |a|², |b|² and |b - a|².
#[inline(always)]
pub fn squares<R: Real>(q: &Relative<R>, pulls: &Pulls<R>) -> [R; 3] {
    let c = q.b - q.a;
    [
        q.a.norm2_plus(pulls.softening2),
        q.b.norm2_plus(pulls.softening2),
        c.norm2_plus(pulls.softening2),
    ]
}

/// Adds the accelerations at `q` to the velocities `u`, given wₐ, w_b, w_c = the [`squares`] to the power of -3/2.
///
/// With c = b - a: a″ = -(g₀+g₁) wₐ a - g₂ (w_b b - w_c c), b″ = -(g₀+g₂) w_b b - g₁ (wₐ a + w_c c);
/// collected into one factor for each of a and b, which takes 6 + 12 operations instead of 6 + 18.
#[inline(always)]
pub fn kick<R: Real>(u: &mut Relative<R>, q: &Relative<R>, w: [R; 3], pulls: &Pulls<R>) {
    let [wa, wb, wc] = w;
    let [g1, g2] = pulls.g;
    let (t1, t2) = (g1 * wc, g2 * wc);
    let aa = pulls.minus_sum[0].mul_add(wa, -t2);
    let ab = (-g2).mul_add(wb, t2);
    let ba = (-g1).mul_add(wa, t1);
    let bb = pulls.minus_sum[1].mul_add(wb, -t1);
    u.a = u.a.add_scaled(ab, q.b).add_scaled(aa, q.a);
    u.b = u.b.add_scaled(ba, q.a).add_scaled(bb, q.b);
}

/// Accelerations at `q` and their rates of change along the velocities `u`, given the [`squares`] and their powers of
/// -3/2. In steps: accelerations times dt², jerks times dt³.
///
/// With s = r² (softened) and w = s^(-3/2): w′ = -3 w (x·v)/s, and 1/s = (s w)². The pull is linear in (w, x), so the
/// jerk is the pull of (w, v) and of (w′, x).
#[inline(always)]
pub fn accelerations_and_jerks<R: Real>(
    q: &Relative<R>,
    u: &Relative<R>,
    r2: [R; 3],
    w: [R; 3],
    pulls: &Pulls<R>,
) -> [Relative<R>; 2] {
    let rate = |x: Vec3<R>, v: Vec3<R>, i: usize| {
        let inverse = r2[i] * w[i];
        (R::from_f64(-3.0) * x.dot(v)) * (inverse * inverse * w[i])
    };
    let rates = [
        rate(q.a, u.a, 0),
        rate(q.b, u.b, 1),
        rate(q.b - q.a, u.b - u.a, 2),
    ];
    let mut f = Relative::zero();
    kick(&mut f, q, w, pulls);
    let mut j = Relative::zero();
    kick(&mut j, u, w, pulls);
    kick(&mut j, q, rates, pulls);
    [f, j]
}
