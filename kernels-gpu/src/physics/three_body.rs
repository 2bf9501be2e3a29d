//! Three bodies in the relative coordinates that the integrators of maps use. This is an optimisation of the sum over
//! [pairs](super::pair), and tests compare the two.

use super::vec3::Vec3;
use crate::Real;
use crate::number::{Long, Numbers, exact_product, exact_sum, per_lane, sums};

/// Three bodies relative to the first: a = p₁ - p₀ and b = p₂ - p₀.
///
/// The centre of mass of an isolated system moves uniformly, so these two vectors determine the whole motion; the first body is at
/// (centre of mass) - (m₁/M) a - (m₂/M) b. They need a third fewer numbers than three positions, and fewer operations per step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Relative<R> {
    /// From body 0 to body 1.
    pub a: Vec3<R>,
    /// From body 0 to body 2.
    pub b: Vec3<R>,
}

impl<R: Real> Relative<R> {
    /// Positions or velocities of three bodies.
    #[inline(always)]
    pub fn from_bodies(p: &[[Long; 3]; 3]) -> Self {
        let from = |body: usize| Vec3 {
            x: R::from_difference(p[body][0], p[0][0]),
            y: R::from_difference(p[body][1], p[0][1]),
            z: R::from_difference(p[body][2], p[0][2]),
        };
        Self {
            a: from(1),
            b: from(2),
        }
    }

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
    pub fn plus_scaled(self, k: R::Constant, d: &Self) -> Self {
        Self {
            a: self.a.plus_scaled(k, d.a),
            b: self.b.plus_scaled(k, d.b),
        }
    }

    /// k · `self`.
    #[inline(always)]
    pub fn scaled(self, k: R::Constant) -> Self {
        Self {
            a: self.a.scaled_by(k),
            b: self.b.scaled_by(k),
        }
    }

    /// The vectors in the numbers in which forces are computed.
    #[inline(always)]
    pub fn to_force(&self) -> Relative<R::Force> {
        Relative {
            a: self.a.to_force(),
            b: self.b.to_force(),
        }
    }

    /// The vectors themselves; see [`Real::now`].
    #[inline(always)]
    pub fn now(self) -> Self {
        Self {
            a: self.a.now(),
            b: self.b.now(),
        }
    }
}

per_lane!(Relative<R> { a, b });
sums!(Relative { a, b });

impl<R> Numbers<R> for Relative<R> {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        self.a.for_each(f);
        self.b.for_each(f);
    }
}

/// The type of masses in the forces on numbers `R`.
pub type MassOf<R> = <<R as Real>::Force as Real>::Constant;

/// G·m of three bodies in the form that [`kick`] needs, in any unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct MassTerms<K> {
    /// g₁ and g₂.
    pub g: [K; 2],
    /// -(g₀ + g₁) and -(g₀ + g₂).
    pub minus_sum: [K; 2],
    /// Softening length squared.
    pub softening2: K,
}

impl MassTerms<Long> {
    /// Creates the terms from G·m of each body (times dt² if velocities are lengths per step) and the softening length.
    pub fn new(g: [Long; 3], softening: f64) -> Self {
        let minus_sum = |k: usize| {
            let [sum, rest] = exact_sum(-g[0][0], -g[k][0]);
            [sum, rest - (g[0][1] + g[k][1])]
        };
        Self {
            g: [g[1], g[2]],
            minus_sum: [minus_sum(1), minus_sum(2)],
            softening2: exact_product(softening, softening),
        }
    }

    /// The same terms in another unit of length, `factor` of which make up the current unit.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        let cube = factor * factor * factor;
        let terms = self.g.iter_mut().chain(&mut self.minus_sum);
        terms.flatten().for_each(|g| *g *= cube);
        let softening2 = self.softening2.iter_mut();
        softening2.for_each(|s| *s *= factor * factor);
        self
    }

    /// The terms rounded to another type of number, in every lane.
    #[inline(always)]
    pub fn convert<K: Real>(&self) -> MassTerms<K> {
        MassTerms {
            g: [K::from_long(self.g[0]), K::from_long(self.g[1])],
            minus_sum: [
                K::from_long(self.minus_sum[0]),
                K::from_long(self.minus_sum[1]),
            ],
            softening2: K::from_long(self.softening2),
        }
    }
}

per_lane!(MassTerms<K> { g, minus_sum, softening2 });

/// Softened |a|², |b|² and |b - a|².
#[inline(always)]
pub fn squares<F: Real>(q: &Relative<F>, masses: &MassTerms<F::Constant>) -> [F; 3] {
    let c = q.b - q.a;
    let softening2 = F::from_constant(masses.softening2);
    [
        q.a.norm2_plus(softening2),
        q.b.norm2_plus(softening2),
        c.norm2_plus(softening2),
    ]
}

/// Adds the accelerations at `q` to the velocities `u`, where wₐ, w_b and w_c are the [`squares`] raised to -3/2.
///
/// With c = b - a: a″ = -(g₀+g₁) wₐ a - g₂ (w_b b - w_c c), b″ = -(g₀+g₂) w_b b - g₁ (wₐ a + w_c c). The terms are collected into one
/// factor for each of a and b, which takes 6 + 12 operations instead of 6 + 18.
#[inline(always)]
pub fn kick<R: Real>(
    u: &mut Relative<R>,
    q: &Relative<R::Force>,
    w: [R::Force; 3],
    masses: &MassTerms<MassOf<R>>,
) {
    let [wa, wb, wc] = w;
    let [g1, g2] = masses.g;
    let (t1, t2) = (wc.scaled(g1), wc.scaled(g2));
    let aa = (-t2).plus_scaled(masses.minus_sum[0], wa);
    let ab = t2.plus_scaled(-g2, wb);
    let ba = t1.plus_scaled(-g1, wa);
    let bb = (-t1).plus_scaled(masses.minus_sum[1], wb);
    u.a = add_pulls(u.a, [aa, ab], [q.a, q.b]);
    u.b = add_pulls(u.b, [bb, ba], [q.b, q.a]);
}

/// Applies [`Real::add_pulls`] to each component.
#[inline(always)]
fn add_pulls<R: Real>(u: Vec3<R>, factors: [R::Force; 2], [v, w]: [Vec3<R::Force>; 2]) -> Vec3<R> {
    Vec3 {
        x: u.x.add_pulls(factors, [v.x, w.x]),
        y: u.y.add_pulls(factors, [v.y, w.y]),
        z: u.z.add_pulls(factors, [v.z, w.z]),
    }
}

/// Accelerations at `q` and their rates of change along the velocities `u`, given the [`squares`] and these raised to -3/2. With the
/// step as the unit of time they are accelerations times dt² and jerks times dt³.
///
/// With s = r² (softened) and w = s^(-3/2), w′ = -3 w (x·v)/s and 1/s = (s w)². The pull is linear in both w and x, so the jerk is the
/// sum of the pull of (w, v) and that of (w′, x).
#[inline(always)]
pub fn accelerations_and_jerks<R: Real>(
    q: &Relative<R::Force>,
    u: &Relative<R::Force>,
    r2: [R::Force; 3],
    w: [R::Force; 3],
    masses: &MassTerms<MassOf<R>>,
) -> [Relative<R>; 2] {
    let rates = [
        rate(q.a, u.a, r2[0], w[0]),
        rate(q.b, u.b, r2[1], w[1]),
        rate(q.b - q.a, u.b - u.a, r2[2], w[2]),
    ];
    let mut f = Relative::zero();
    kick(&mut f, q, w, masses);
    let mut j = Relative::zero();
    kick(&mut j, u, w, masses);
    kick(&mut j, q, rates, masses);
    [f, j]
}

/// The rate of change w′ for a pair.
#[inline(always)]
fn rate<F: Real>(x: Vec3<F>, v: Vec3<F>, r2: F, w: F) -> F {
    let inverse = r2 * w;
    x.dot(v).scaled(F::constant(-3.0)) * (inverse * inverse * w)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::hermite::force::terms;

    #[test]
    fn relative_coordinates_give_the_accelerations_and_jerks_of_the_pairs() {
        let g = [3.0, 4.0, 5.0];
        let p = [[0.3, -1.2, 0.5], [2.0, 0.7, -0.4], [-1.1, 0.2, 0.9]];
        let v = [[0.1, 0.2, -0.3], [-0.5, 0.4, 0.6], [0.7, -0.8, 0.2]];
        for softening in [0.0, 0.3] {
            let masses = MassTerms::new(g.map(|g| [g, 0.0]), softening).convert();
            let long = |p: [[f64; 3]; 3]| p.map(|p| p.map(|x| [x, 0.0]));
            let (q, u) = (
                Relative::from_bodies(&long(p)),
                Relative::from_bodies(&long(v)),
            );
            let r2 = squares(&q, &masses);
            let found = accelerations_and_jerks::<f64>(&q, &u, r2, f64::inv_cubes(r2), &masses);
            let mut sums = [[[0.0; 3]; 3]; 2];
            for (i, j) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
                let d = [p, v].map(|x| Vec3 {
                    x: x[j][0] - x[i][0],
                    y: x[j][1] - x[i][1],
                    z: x[j][2] - x[i][2],
                });
                let r2 = d[0].norm2_plus(softening * softening);
                let (w, t) = terms::<f64, 2>(&d, r2, r2.inv_cube(), g[j]);
                for (sum, t) in sums.iter_mut().zip(t) {
                    for (sum, t) in sum[i].iter_mut().zip([t.x, t.y, t.z]) {
                        *sum += w * t;
                    }
                }
            }
            for (mut found, sums) in found.into_iter().zip(sums) {
                let mut expected = Vec::new();
                Relative::<f64>::from_bodies(&long(sums)).for_each(&mut |x| expected.push(*x));
                let mut expected = expected.into_iter();
                found.for_each(&mut |x| {
                    let e = expected.next().expect("as many numbers");
                    assert!((*x - e).abs() < 1e-13 * (1.0 + e.abs()), "{x} {e}");
                });
            }
        }
    }

    #[test]
    fn wide_numbers_get_masses_with_all_of_their_digits() {
        use crate::number::DoubleDouble;
        type Wide = DoubleDouble<f64>;
        let g = [[3.0, 1e-16], [4.0, -2e-16], [0.1, 5e-18]];
        let masses = MassTerms::new(g, 0.1).convert::<Wide>();
        let [a, b, c] = g.map(Wide::from_long);
        let softening = Wide::from_f64(0.1);
        let pairs = [
            (masses.g[0], b),
            (masses.g[1], c),
            (masses.minus_sum[0], -(a + b)),
            (masses.minus_sum[1], -(a + c)),
            (masses.softening2, softening * softening),
        ];
        for (found, expected) in pairs {
            let error = (found - expected).to_f64(0).abs();
            assert!(error < 1e-30, "{found:?} {expected:?}");
        }
    }
}
