//! Explicit Euler: positions advance with the old velocities, velocities by the accelerations at the old positions.
//!
//! Velocities are kept as u = v·dt (length a step) and masses as G·m·dt², so that a step is q += u and the pulls
//! add straight into u: no product with dt is left in the loop.

use crate::gravity::{Pulls, Relative, kick, squares};
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
        let spread = |r: &Relative<f64>| Relative {
            a: r.a.spread(),
            b: r.b.spread(),
        };
        State {
            q: spread(&self.q),
            u: spread(&self.u),
        }
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

/// One step of two systems. Side by side, they test for a close encounter once, and their operations interleave.
#[inline(always)]
pub fn step_both<R: Real>(s: &mut State<R>, t: &mut State<R>, pulls: &Pulls<R>) {
    let (rs, rt) = (squares(&s.q, pulls), squares(&t.q, pulls));
    let w = R::inv_cubes([rs[0], rs[1], rs[2], rt[0], rt[1], rt[2]]);
    advance(s, [w[0], w[1], w[2]], pulls);
    advance(t, [w[3], w[4], w[5]], pulls);
}

/// Positions by the old velocities, velocities by the accelerations at the old positions.
#[inline(always)]
fn advance<R: Real>(s: &mut State<R>, w: [R; 3], pulls: &Pulls<R>) {
    let old = s.u;
    kick(&mut s.u, &s.q, w, pulls);
    // Now: postponed, these sums would hold old and new velocities in registers.
    s.q = Relative {
        a: (s.q.a + old.a).now(),
        b: (s.q.b + old.b).now(),
    };
    s.u = Relative {
        a: s.u.a.now(),
        b: s.u.b.now(),
    };
}
