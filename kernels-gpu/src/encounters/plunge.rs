//! Two bodies that fall towards each other on an almost radial orbit, far from the third body.
//!
//! The steps become shorter in proportion to the square root of the distance, so that they never reach a collision of two bodies
//! without angular momentum. Close to it, the tide of the third body is below rounding, and the pair follows a Kepler orbit. The pair
//! is taken along this orbit to the same distance on its way out. On a radial orbit this is the limit of orbits with less and less
//! angular momentum, in which each body returns along the line on which it came.

use super::hierarchy::{NO_PAIR, pair_velocity, third_body};
use super::orbit::Orbit;
use super::start::nested;
use super::step::Pairs;
use super::vector::{axpy, cross, dot, scale};
use super::{Masses, PAIRS};
use crate::number::{divide, root};

/// The square of the distance of a plunging pair in units of that of the third body. The tide is of the order of its power 3/2.
const CLOSE2: f64 = 1e-10;

/// The square of the specific angular momentum of a plunging pair is below this in units of its mass times its distance. On a parabola,
/// the pericentre is at half of this in units of the distance.
const RADIAL: f64 = 1e-3;

/// Whether two bodies are so close to each other that they may be a [`plunging_pair`].
#[inline(always)]
pub fn is_close(s: &Pairs<f64>, m: &Masses) -> bool {
    let inner2 = dot(&s.x[0], &s.x[0]) * (m.length[0] * m.length[0]);
    let outer2 = m.length[1] * m.length[1];
    let (a, b) = (
        dot(&s.x[1], &s.x[1]) * outer2,
        dot(&s.x[2], &s.x[2]) * outer2,
    );
    let (near, far) = if a < b { (a, b) } else { (b, a) };
    near < CLOSE2 * far || inner2 < CLOSE2 * far
}

/// The pair that approaches its pericentre on an almost radial orbit, far from the third body; [`NO_PAIR`] if there is none.
#[cold]
#[inline(never)]
pub fn plunging_pair(s: &Pairs<f64>, m: &Masses) -> usize {
    let mut pair = 0;
    while pair < 3 {
        let [i, j, _] = PAIRS[pair];
        let [x, v] = inner(s, m, pair);
        let [outer, _] = third_body(s, m, pair);
        let r2 = dot(&x, &x);
        let c = cross(&x, &v);
        let radial = RADIAL * (m.fractions[i] + m.fractions[j]) * root(r2);
        if r2 < CLOSE2 * dot(&outer, &outer) && dot(&x, &v) < 0.0 && dot(&c, &c) < radial {
            return pair;
        }
        pair += 1;
    }
    NO_PAIR
}

/// Separation and relative velocity of a pair.
fn inner(s: &Pairs<f64>, m: &Masses, pair: usize) -> [[f64; 3]; 2] {
    let velocity = |k| pair_velocity(s, &m.step, pair, k);
    [
        scale(m.length[pair], &s.x[pair]),
        scale(m.length[pair], &[velocity(0), velocity(1), velocity(2)]),
    ]
}

/// The state of a [`plunging_pair`] after its pericentre, at the same distance, and the time until then.
pub fn pass(s: &Pairs<f64>, m: &Masses, pair: usize) -> (Pairs<f64>, f64) {
    let [i, j, _] = PAIRS[pair];
    let mass = m.fractions[i] + m.fractions[j];
    let [x, v] = inner(s, m, pair);
    let [outer_r, outer_v] = third_body(s, m, pair);
    let (r, rv, v2, c) = (root(dot(&x, &x)), dot(&x, &v), dot(&v, &v), cross(&x, &v));
    let inverse_mass = divide(1.0, mass);
    let orbit = Orbit::new(divide(2.0, r) - v2 * inverse_mass, dot(&c, &c), mass);
    let after = -2.0 * orbit.since_pericentre(r, rv);

    // The orbit is symmetric about the direction of its pericentre.
    let apse = axpy(
        -(rv * inverse_mass),
        &v,
        &scale(v2 * inverse_mass - divide(1.0, r), &x),
    );
    let apse = scale(divide(1.0, root(dot(&apse, &apse))), &apse);
    let x = axpy(2.0 * dot(&x, &apse), &apse, &scale(-1.0, &x));
    let v = axpy(-2.0 * dot(&v, &apse), &apse, &v);

    // The third body: a step of the leapfrog about the pair's centre of mass, with the total mass 1.
    let outer_r = axpy(0.5 * after, &outer_v, &outer_r);
    let distance = root(dot(&outer_r, &outer_r));
    let pull = divide(-after, distance * distance * distance);
    let outer_v = axpy(pull, &outer_r, &outer_v);
    let outer_r = axpy(0.5 * after, &outer_v, &outer_r);
    let state = Pairs {
        time: s.time,
        ..nested(m, pair, [&x, &v], [&outer_r, &outer_v])
    };
    (state, after)
}
