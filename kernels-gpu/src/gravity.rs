//! Newtonian attraction.

use crate::{Real, Vec3};

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

    /// The same in every lane of another [`Real`].
    #[inline(always)]
    pub fn spread<R: Real>(&self) -> Pulls<R> {
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
