//! The drift along a Kepler orbit in universal variables, by the method of Laguerre and Conway (Conway 1986), and its tangent map (Mikkola &
//! Innanen 1999).
//!
//! The unknown X has dX/dt = 1/r, and h = r₀ X + η G₂ + ζ G₃ with η = x·v, ζ = M - β r₀ and β = 2M/r₀ - v². Gₙ = Xⁿ cₙ(β X²) are Stumpff's
//! functions. Each lane iterates until it has converged; then its X stays, so that its bits do not depend on its neighbours.

use super::Follow;
use crate::Vec3;
use crate::number::{Bits, Mask, divide, per_lane, root};

/// Iterations after which the method in a bracket takes over.
const ITERATIONS: u32 = 8;
/// The relative size of a step of the iteration, which is of third order, from which on the next one is below the rounding errors.
const CONVERGED: f64 = 1e-6;
/// Quarterings of the argument of Stumpff's functions, after which it is at most 1 for all arguments that occur.
const MAX_QUARTERINGS: u32 = 40;

/// 1/(n (n + 1) ...) of the series of c₅ and c₄.
const C5: [f64; 8] = [
    1.0 / 120.0,
    1.0 / 5040.0,
    1.0 / 362_880.0,
    1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
    1.0 / 121_645_100_408_832_000.0,
];
const C4: [f64; 8] = [
    1.0 / 24.0,
    1.0 / 720.0,
    1.0 / 40_320.0,
    1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    1.0 / 6_402_373_705_728_000.0,
];

/// Stumpff's functions c₀ to c₅ of z. The argument is quartered until |z| <= 1, where eight terms of the series suffice.
#[inline(always)]
fn stumpff<R: Bits>(z: R) -> [R; 6] {
    let c = R::from_f64;
    let (mut z, mut levels, mut deepest) = (z, R::zero(), 0);
    while deepest < MAX_QUARTERINGS {
        let small = (z * z).at_most(c(1.0));
        if small.all() {
            break;
        }
        levels = R::select(small, levels, levels + c(1.0));
        z = R::select(small, z, c(0.25) * z);
        deepest += 1;
    }
    let w = -z;
    let (mut c5, mut c4) = (c(C5[7]), c(C4[7]));
    let mut k = 7;
    while k > 0 {
        k -= 1;
        c5 = c5.mul_add(w, c(C5[k]));
        c4 = c4.mul_add(w, c(C4[k]));
    }
    let mut all = lower(z, c5, c4);
    while deepest > 0 {
        let [_, c1, c2, c3, c4, c5] = all;
        let mine = c(f64::from(deepest)).at_most(levels);
        z = R::select(mine, c(4.0) * z, z);
        let five = c(0.0625) * c3.mul_add(c2, c5 + c4);
        let four = c(0.125) * ((c(1.0) + c1) * c3);
        all = lower(z, R::select(mine, five, c5), R::select(mine, four, c4));
        deepest -= 1;
    }
    all
}

/// All functions from the two highest ones.
#[inline(always)]
fn lower<R: Bits>(z: R, c5: R, c4: R) -> [R; 6] {
    let c = R::from_f64;
    let w = -z;
    let c3 = w.mul_add(c5, c(1.0 / 6.0));
    let c2 = w.mul_add(c4, c(0.5));
    let c1 = w.mul_add(c3, c(1.0));
    let c0 = w.mul_add(c2, c(1.0));
    [c0, c1, c2, c3, c4, c5]
}

/// The numbers of an orbit that the equation for X needs.
#[derive(Clone, Copy)]
struct Orbit<R> {
    r0: R,
    beta: R,
    eta: R,
    zeta: R,
    h: R,
}

/// G₀ to G₅ at X, the distance there, and the step of the iteration.
#[derive(Clone, Copy)]
struct Tried<R> {
    g: [R; 6],
    step: R,
}

impl<R: Bits> Orbit<R> {
    #[inline(always)]
    fn at(&self, x: R) -> Tried<R> {
        let c = R::from_f64;
        let &Self {
            r0,
            beta,
            eta,
            zeta,
            h,
        } = self;
        let x2 = x * x;
        let [c0, c1, c2, c3, c4, c5] = stumpff(beta * x2);
        let (x3, x4) = (x2 * x, x2 * x2);
        let g = [c0, x * c1, x2 * c2, x3 * c3, x4 * c4, (x4 * x) * c5];
        let f = r0.mul_add(x, eta.mul_add(g[2], zeta.mul_add(g[3], -h)));
        let r = eta.mul_add(g[1], zeta.mul_add(g[2], r0));
        let f2 = eta.mul_add(c0, zeta * g[1]);
        let d = (c(16.0) * r).mul_add(r, (c(-20.0) * f) * f2);
        // The least number keeps the root in its range; it is far below the rounding error of any distance that occurs.
        let d = R::select(d.at_most(R::zero()), -d, d) + c(1e-18);
        let step = d.mul_add(d.reciprocal_root(), r).divides(c(-5.0) * f);
        Tried {
            g,
            step: R::select(d.at_most(c(9e18)), step, c(f64::NAN)),
        }
    }

    #[inline(always)]
    fn has_converged(x: R, tried: &Tried<R>) -> R::Mask {
        let (next, step) = (x + tried.step, tried.step);
        (step * step).at_most(R::from_f64(CONVERGED * CONVERGED) * (next * next))
    }

    #[inline(always)]
    fn lane(&self, lane: usize) -> Orbit<f64> {
        Orbit {
            r0: self.r0.to_f64(lane),
            beta: self.beta.to_f64(lane),
            eta: self.eta.to_f64(lane),
            zeta: self.zeta.to_f64(lane),
            h: self.h.to_f64(lane),
        }
    }
}

/// The first X of an orbit for which the series in h is not accurate: the mean motion's for an ellipse. For a fast hyperbola,
/// h ≈ e^(kX) (ζ + η k) / (2 k³) with k² = -β, which gives X by a logarithm: h/(r₀ + |η|/2) alone does not converge after an encounter.
fn far_guess(o: Orbit<f64>) -> f64 {
    let Orbit {
        r0,
        beta,
        eta,
        zeta,
        h,
    } = o;
    if beta > 0.0 {
        return divide(beta * h, zeta + beta * r0);
    }
    let near = divide(h, r0 + 0.5 * eta.abs());
    let k2 = 1e-12 - beta;
    let k = root(k2);
    let (time, eta) = if h < 0.0 { (-h, -eta) } else { (h, eta) };
    let growth = eta * k + zeta;
    let q = divide(
        2.0 * time * k * k2,
        if growth > 1e-12 { growth } else { 1e-12 },
    );
    if q > 3.0 {
        let far = divide(libm::log(q), k);
        let far = if h < 0.0 { -far } else { far };
        if far.abs() < near.abs() {
            return far;
        }
    }
    near
}

/// X for orbits where the iteration alone has not converged: as h grows with X (its derivative is the distance), Laguerre's method inside a
/// bracket cannot miss it. The last X of the iteration is returned, before its step; NaN if there is none.
#[cold]
#[inline(never)]
fn in_bracket(o: Orbit<f64>) -> f64 {
    // Backwards it is the mirror image of the motion. (No recursion, which would need a stack of unknown size on a GPU.)
    let sign = if o.h < 0.0 { -1.0 } else { 1.0 };
    let o = Orbit {
        eta: sign * o.eta,
        h: sign * o.h,
        ..o
    };
    let (mut low, mut high, mut x) = (0.0, f64::INFINITY, divide(o.h, o.r0));
    let mut tries = 0;
    while tries < 200 {
        tries += 1;
        // Beyond e^316 the hyperbola is surely too far.
        if o.beta <= 0.0 && !(-o.beta * x * x < 1e5) {
            high = x;
        } else {
            let tried = o.at(x);
            if Orbit::has_converged(x, &tried) {
                return sign * x;
            }
            let g = &tried.g;
            let late = o.r0 * x + o.eta * g[2] + o.zeta * g[3] - o.h;
            if late <= 0.0 {
                low = x;
            } else {
                high = x;
            }
            let next = x + tried.step;
            if next > low && next < high && tries < 60 {
                x = next;
                continue;
            }
        }
        x = if high < f64::INFINITY {
            0.5 * (low + high)
        } else {
            2.0 * x
        };
    }
    f64::NAN
}

/// The X before the last step of the iteration, everything at this X, and where the iteration has converged.
#[inline(always)]
fn solve<R: Bits>(o: &Orbit<R>, guess: R, is_near: R::Mask) -> (R, Tried<R>, R::Mask) {
    let mut x = guess;
    if !is_near.all() {
        let mut lane = 0;
        while lane < R::LANES {
            if !is_near.lane(lane) {
                x.set_lane(lane, &R::from_f64(far_guess(o.lane(lane))));
            }
            lane += 1;
        }
    }
    let mut tried = o.at(x);
    let mut converged = Orbit::has_converged(x, &tried);
    let mut iterations = 1;
    while !converged.all() {
        if iterations < ITERATIONS {
            x = R::select(converged, x, x + tried.step);
        } else {
            let mut lane = 0;
            while lane < R::LANES {
                if !converged.lane(lane) {
                    x.set_lane(lane, &R::from_f64(in_bracket(o.lane(lane))));
                }
                lane += 1;
            }
        }
        tried = o.at(x);
        converged = Orbit::has_converged(x, &tried);
        iterations += 1;
        if iterations > ITERATIONS {
            break;
        }
    }
    (x, tried, converged)
}

/// Position and velocity of a body, or of its tangent vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Phase<R> {
    /// The position.
    pub x: Vec3<R>,
    /// The velocity.
    pub v: Vec3<R>,
}

per_lane!(Phase<R> { x, v });

/// Moves a body for a time h along its orbit about the mass M, and its tangent vector if `F` has one. Returns where this was possible.
/// The distance must be an [ordinary](crate::number::inv_cube) number.
#[inline(always)]
pub fn drift<R: Bits, F: Follow>(s: &mut Phase<R>, t: &mut Phase<R>, mass: R, h: R) -> R::Mask {
    let c = R::from_f64;
    let Phase { x, v } = *s;
    let r2 = x.dot(x);
    let r0i = r2.reciprocal_root();
    let r0 = r2 * r0i;
    let mr = mass * r0i;
    let beta = (mr + mr) - v.dot(v);
    let eta = x.dot(v);
    let zeta = (-beta).mul_add(r0, mass);
    // The series of X in h, to third order.
    let s1 = h * r0i;
    let half = c(0.5) * (eta * r0i);
    let second = half * s1;
    let third = (s1 * s1) * ((half + half).mul_add(half, c(-1.0 / 6.0) * (zeta * r0i)));
    let guess = s1 * ((c(1.0) - second) + third);
    let third2 = R::select(
        (second * second).at_most(c(0.1225)),
        third * third,
        c(f64::INFINITY),
    );
    let orbit = Orbit {
        r0,
        beta,
        eta,
        zeta,
        h,
    };
    let (x_before, tried, converged) = solve(&orbit, guess, third2.at_most(c(0.0144)));
    // The functions after the last step, by their Taylor series: what is left out is below the rounding errors.
    let d = tried.step;
    let big = x_before + d;
    let e = c(0.5) * d;
    let [g0, g1, g2, g3, g4, g5] = tried.g;
    let gb = beta * g1;
    let h5 = d.mul_add(e.mul_add(g3, g4), g5);
    let h4 = d.mul_add(e.mul_add(g2, g3), g4);
    let g3 = d.mul_add(e.mul_add(g1, g2), g3);
    let g2 = d.mul_add(e.mul_add(g0, g1), g2);
    let g1 = d.mul_add((-e).mul_add(gb, g0), g1);
    let g0 = (-d).mul_add((e * beta).mul_add(g0, gb), g0);
    let (g4, g5) = (h4, h5);
    let r = eta.mul_add(g1, zeta.mul_add(g2, r0));
    let ri = r.divides(c(1.0));
    let mi = mass * ri;
    // f - 1, g, f' and g' - 1.
    let f = -(mr * g2);
    let g = (-mass).mul_add(g3, h);
    let fd = -((mr * g1) * ri);
    let gd = -(mi * g2);
    if F::TANGENT {
        let Phase { x: dx, v: dv } = *t;
        let dr0 = x.dot(dx) * r0i;
        let vdv = v.dot(dv);
        let db = (c(-2.0) * (dr0 * mr)).mul_add(r0i, c(-2.0) * vdv);
        let de = dx.dot(v) + x.dot(dv);
        let dz = -(beta.mul_add(dr0, r0 * db));
        let g3b = c(0.5) * c(3.0).mul_add(g5, -(big * g4));
        let g2b = (c(-0.5) * big).mul_add(g3, g4);
        let g1b = c(0.5) * (-big).mul_add(g2, g3);
        let tb = eta.mul_add(g2b, zeta * g3b);
        let grown = big.mul_add(dr0, g2.mul_add(de, g3.mul_add(dz, tb * db)));
        let dbig = -(ri * grown);
        let dg1 = g0.mul_add(dbig, g1b * db);
        let dg2 = g1.mul_add(dbig, g2b * db);
        let dg3 = g2.mul_add(dbig, g3b * db);
        let dr = g1.mul_add(de, g2.mul_add(dz, eta.mul_add(dg1, zeta.mul_add(dg2, dr0))));
        let k = dr0 * r0i;
        let df = mr * g2.mul_add(k, -dg2);
        let dg = -(mass * dg3);
        let dfd = (mr * ri) * g1.mul_add(dr.mul_add(ri, k), -dg1);
        let dgd = mi * (g2 * dr).mul_add(ri, -dg2);
        *t = Phase {
            x: moved(dx, [(dg, v), (df, x), (g, dv), (f, dx)]),
            v: moved(dv, [(dgd, v), (dfd, x), (gd, dv), (fd, dx)]),
        };
    }
    *s = Phase {
        x: x.add_scaled(g, v).add_scaled(f, x),
        v: v.add_scaled(gd, v).add_scaled(fd, x),
    };
    converged
}

/// A vector plus multiples of others. (Not a closure, which might be compiled without the lanes' instruction set.)
#[inline(always)]
fn moved<R: Bits>(start: Vec3<R>, [a, b, c, d]: [(R, Vec3<R>); 4]) -> Vec3<R> {
    let two = start.add_scaled(a.0, a.1).add_scaled(b.0, b.1);
    two.add_scaled(c.0, c.1).add_scaled(d.0, d.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planets::{Alone, WithTangent};

    fn vector(x: f64, y: f64) -> Vec3<f64> {
        Vec3 { x, y, z: 0.0 }
    }

    /// A body at the eccentric anomaly (or its hyperbolic counterpart) `u` of an orbit with |a| = 1, M = 1, and its mean anomaly there.
    fn at(e: f64, u: f64) -> (Phase<f64>, f64) {
        let b = (1.0 - e * e).abs().sqrt();
        if e < 1.0 {
            let (s, c) = u.sin_cos();
            let r = 1.0 - e * c;
            let phase = Phase {
                x: vector(c - e, b * s),
                v: vector(-s / r, b * c / r),
            };
            (phase, u - e * s)
        } else {
            let (s, c) = (u.sinh(), u.cosh());
            let r = e * c - 1.0;
            let phase = Phase {
                x: vector(e - c, b * s),
                v: vector(-s / r, b * c / r),
            };
            (phase, e * s - u)
        }
    }

    #[test]
    fn every_step_is_solved_from_circles_to_hyperbolas() {
        let (mut steps, mut worst) = (0, 0.0_f64);
        for e in [0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1.01, 1.5, 5.0] {
            for part in [50.0, 20.0, 10.0, 4.0] {
                let h = core::f64::consts::TAU / part;
                for k in 0..500 {
                    let u = (f64::from(k) / 250.0 - 1.0) * core::f64::consts::PI;
                    for h in [h, -h] {
                        let (start, mean) = at(e, u);
                        let (mut s, mut t) = (start, Phase::default());
                        assert!(drift::<f64, Alone>(&mut s, &mut t, 1.0, h), "{e} {h} {u}");
                        // Newton's method for the anomaly at the end.
                        let goal = mean + h;
                        let mut x = if e < 1.0 {
                            u + h
                        } else {
                            (2.0 * goal / e).asinh()
                        };
                        for _ in 0..200 {
                            let (f, slope) = if e < 1.0 {
                                (x - e * x.sin() - goal, 1.0 - e * x.cos())
                            } else {
                                (e * x.sinh() - x - goal, e * x.cosh() - 1.0)
                            };
                            x -= (f / slope).clamp(-0.5, 0.5);
                        }
                        let (end, _) = at(e, x);
                        let size = 1.0 + end.x.dot(end.x).sqrt();
                        let off = (s.x - end.x).dot(s.x - end.x).sqrt() / size;
                        // The anomaly itself is known to rounding errors divided by the least distance.
                        let near = (1.0 - e).abs().min(1.0);
                        worst = worst.max(off * near);
                        steps += 1;
                    }
                }
            }
        }
        assert_eq!(steps, 40_000);
        assert!(worst < 1e-14, "{worst:e}");
    }

    #[test]
    fn a_fast_hyperbola_after_an_encounter_is_solved() {
        // Distance 0.15, velocity 19, step 5: the guess h/(r + |η|/2) does not converge.
        let mut worst = 0.0_f64;
        // On the way in, an exactly radial orbit would pass through the star.
        for angle in (5..360).filter(|angle| angle % 180 >= 5 && angle % 180 <= 175) {
            let (s, c) = f64::from(angle).to_radians().sin_cos();
            let start = Phase {
                x: vector(0.15, 0.0),
                v: vector(19.0 * c, 19.0 * s),
            };
            let constants = |s: &Phase<f64>| {
                let energy = 0.5 * s.v.dot(s.v) - 1.0 / s.x.dot(s.x).sqrt();
                [energy, s.x.x * s.v.y - s.x.y * s.v.x]
            };
            for h in [5.0, -5.0] {
                let (mut s, mut t) = (start, Phase::default());
                assert!(drift::<f64, Alone>(&mut s, &mut t, 1.0, h), "{angle}");
                // It moves on almost freely.
                let far = s.x.dot(s.x).sqrt();
                assert!((90.0..96.0).contains(&far), "{angle} {far}");
                let [now, before] = [constants(&s), constants(&start)];
                let scales = [19.0 * 19.0, 19.0 * far];
                for k in 0..2 {
                    worst = worst.max((now[k] - before[k]).abs() / scales[k]);
                }
            }
        }
        assert!(worst < 1e-13, "{worst:e}");
    }

    #[test]
    fn the_tangent_map_is_the_derivative_of_the_drift() {
        for (e, u, h) in [(0.3, 1.0, 0.3), (0.9, -0.2, 1.0), (2.0, -1.5, 4.0)] {
            let (start, _) = at(e, u);
            let way = Phase {
                x: Vec3 {
                    x: 0.3,
                    y: -0.2,
                    z: 0.5,
                },
                v: Vec3 {
                    x: 0.1,
                    y: 0.7,
                    z: -0.4,
                },
            };
            let (mut s, mut t) = (start, way);
            drift::<f64, WithTangent>(&mut s, &mut t, 1.0, h);
            let moved = |k: f64| {
                let mut s = Phase {
                    x: start.x.add_scaled(k, way.x),
                    v: start.v.add_scaled(k, way.v),
                };
                drift::<f64, Alone>(&mut s, &mut Phase::default(), 1.0, h);
                s
            };
            let k = 1e-5;
            let (up, down) = (moved(k), moved(-k));
            for (found, difference) in [(t.x, up.x - down.x), (t.v, up.v - down.v)] {
                let off = found - difference.scaled(0.5 / k);
                let size = 1.0 + found.dot(found).sqrt();
                assert!(off.dot(off).sqrt() < 1e-6 * size, "{e}: {off:?}");
            }
        }
    }

    #[test]
    fn what_has_no_solution_is_flagged() {
        let mut s = Phase {
            x: vector(1.0, 0.0),
            v: vector(0.0, f64::NAN),
        };
        assert!(!drift::<f64, Alone>(
            &mut s,
            &mut Phase::default(),
            1.0,
            0.1
        ));
    }
}
