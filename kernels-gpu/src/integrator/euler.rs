//! Explicit Euler: positions advance with the old velocities, velocities by the accelerations at the old positions.
//!
//! Velocities are kept as u = v·dt (length a step) and masses as G·m·dt², so that a step is q += u and the pulls
//! add straight into u: no product with dt is left in the loop.

use crate::gravity::{Pulls, Relative, kick};
use crate::{Lanes, Real};

/// Three bodies, relative to the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct State<R> {
    /// Positions.
    pub q: Relative<R>,
    /// Velocities times dt.
    pub u: Relative<R>,
}

impl State<f64> {
    /// The same in every lane of another [`Real`].
    #[inline(always)]
    pub fn spread<R: Real>(&self) -> State<R> {
        let spread = |r: &Relative<f64>| Relative { a: r.a.spread(), b: r.b.spread() };
        State { q: spread(&self.q), u: spread(&self.u) }
    }
}

impl<R: Lanes> State<R> {
    /// Replaces one lane by the same lane of `from`.
    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, from: &Self) {
        self.q.a.set_lane(lane, from.q.a);
        self.q.b.set_lane(lane, from.q.b);
        self.u.a.set_lane(lane, from.u.a);
        self.u.b.set_lane(lane, from.u.b);
    }
}

/// One step.
#[inline(always)]
pub fn step<R: Real>(s: &mut State<R>, pulls: &Pulls<R>) {
    let old = s.u;
    kick(&mut s.u, &s.q, pulls);
    s.q = Relative { a: (s.q.a + old.a).now(), b: (s.q.b + old.b).now() };
    s.u = Relative { a: s.u.a.now(), b: s.u.b.now() };
}
