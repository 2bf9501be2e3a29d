//! Explicit Euler in fixed point: positions and velocities are integers, the pull at them is computed in `f64` and rounded
//! once (as Rein & Tamayo 2018, MNRAS 473, 3351, do for reversible integration).

use super::{Integrator, State, accelerations_both};
use crate::number::Fixed;
use crate::physics::three_body::{FromPulls, Pulls, Relative};
use crate::{Real, Vec3};

/// First order, one evaluation a step; velocities and positions change by whole numbers of the smallest length.
#[derive(Clone, Copy, Debug)]
pub struct FixedEuler;

impl Integrator<Fixed> for FixedEuler {
    type Memory = [Relative<Fixed>; 0];
    type Pulls = Pulls<f64>;

    #[inline(always)]
    fn step_both(
        s: &mut State<Fixed, Self::Memory>,
        t: &mut State<Fixed, Self::Memory>,
        pulls: &Pulls<f64>,
    ) {
        let [fs, ft] = accelerations_both(&to_f64(&s.q), &to_f64(&t.q), pulls);
        advance(s, &fs);
        advance(t, &ft);
    }
}

/// The pull is computed in `f64`, one number at a time.
impl FromPulls<Fixed> for Pulls<f64> {
    #[inline(always)]
    fn from_pulls(pulls: &Pulls<f64>) -> Self {
        *pulls
    }

    #[inline(always)]
    fn set_lane(&mut self, _lane: usize, from: &Self) {
        *self = *from;
    }
}

#[inline(always)]
fn advance<M>(s: &mut State<Fixed, M>, f: &Relative<f64>) {
    s.q = s.q + s.u;
    s.u = s.u + f.convert();
}

#[inline(always)]
fn to_f64(q: &Relative<Fixed>) -> Relative<f64> {
    let vector = |v: Vec3<Fixed>| Vec3 {
        x: v.x.to_f64(0),
        y: v.y.to_f64(0),
        z: v.z.to_f64(0),
    };
    Relative {
        a: vector(q.a),
        b: vector(q.b),
    }
}
