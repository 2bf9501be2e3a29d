//! Explicit Euler for the twin three-body systems of a divergence map: positions advance with the old velocities.
//!
//! Velocities are kept as u = v·dt (length a step) and masses as G·m·dt², so that a step is p += u and the pulls
//! add straight into u: no product with dt is left in the loop.

use crate::gravity::{pull, separations};
use crate::{Lanes, Real, Vec3};

/// Three bodies: positions and velocities times dt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct State<R> {
    /// Positions, a body each.
    pub p: [Vec3<R>; 3],
    /// Velocities times dt, a body each.
    pub u: [Vec3<R>; 3],
}

impl<R: Lanes> State<R> {
    /// Replaces one lane by the same lane of `from`.
    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, from: &Self) {
        let mut body = 0;
        while body < 3 {
            self.p[body].set_lane(lane, from.p[body]);
            self.u[body].set_lane(lane, from.u[body]);
            body += 1;
        }
    }
}

/// What a step needs to know beside the state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Constants<R> {
    /// G·m·dt² of each body.
    pub g: [R; 3],
    /// Softening length squared.
    pub softening2: R,
}

impl Constants<f64> {
    /// From gravitational constant, masses, time step and softening length.
    pub fn new(g: f64, masses: [f64; 3], dt: f64, softening: f64) -> Self {
        let dt2 = dt * dt;
        Self { g: masses.map(|m| g * m * dt2), softening2: softening * softening }
    }

    /// The same constants in every lane of another [`Real`].
    #[inline(always)]
    pub fn spread<R: Real>(&self) -> Constants<R> {
        Constants {
            g: [R::from_f64(self.g[0]), R::from_f64(self.g[1]), R::from_f64(self.g[2])],
            softening2: R::from_f64(self.softening2),
        }
    }
}

/// One step: positions by the old velocities, then velocities by the pulls at the old positions.
#[inline(always)]
pub fn step<R: Real>(s: &mut State<R>, c: &Constants<R>) {
    let d = separations(&s.p);
    s.p = [(s.p[0] + s.u[0]).now(), (s.p[1] + s.u[1]).now(), (s.p[2] + s.u[2]).now()];
    let w = R::inv_cubes([
        d[0].norm2_plus(c.softening2),
        d[1].norm2_plus(c.softening2),
        d[2].norm2_plus(c.softening2),
    ]);
    let [mut u0, mut u1, mut u2] = s.u;
    pull(&mut u0, &mut u1, d[0], w[0], c.g[0], c.g[1]);
    pull(&mut u0, &mut u2, d[1], w[1], c.g[0], c.g[2]);
    pull(&mut u1, &mut u2, d[2], w[2], c.g[1], c.g[2]);
    s.u = [u0.now(), u1.now(), u2.now()];
}
