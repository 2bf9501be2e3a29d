//! The third body far away from a binary: it escapes, or an analytic jump takes it to where it comes back.
//!
//! Both orbits are Kepler orbits that the tide perturbs. The jump treats the quadrupole of the tide, averaged over the inner orbit, to
//! first order along the arc of the outer orbit: it rotates the vectors e and j of the inner orbit (in the vectorial form of Tremaine,
//! Touma & Namouni 2009), shifts the inner mean anomaly, and changes the duration of the outer arc. Total energy and angular momentum
//! do not change. The first neglected term is the octupole, of relative order (a/R)⁴ at a distance R.

use core::f64::consts::PI;

use super::hierarchy::{Hierarchy, angular_momentum, excess};
use super::orbit::{Orbit, eccentric_anomaly};
use super::step::{Pairs, potential};
use super::vector::{axpy, cross, dot, scale};
use super::{Masses, PAIRS};
use crate::number::Bits;
use crate::number::{divide, root};

/// The inner orbit: the vectors of eccentricity and of reduced angular momentum (of length √(1 - e²)), and the mean anomaly.
struct Inner {
    e: [f64; 3],
    j: [f64; 3],
    mean_anomaly: f64,
}

#[cfg_attr(target_arch = "nvptx64", inline(never))]
fn inner_orbit(h: &Hierarchy) -> Inner {
    let (x, v, mass, a) = (&h.x, &h.v, h.pair_mass, h.a);
    let r = root(dot(x, x));
    let xv = dot(x, v);
    let inverse_mass = divide(1.0, mass);
    let along_x = dot(v, v) * inverse_mass - divide(1.0, r);
    let along_v = -(xv * inverse_mass);
    let unit = divide(1.0, root(mass * a));
    let sine = xv * unit;
    let anomaly = libm::atan2(sine, 1.0 - divide(r, a));
    Inner {
        e: axpy(along_v, v, &scale(along_x, x)),
        j: scale(unit, &cross(x, v)),
        mean_anomaly: anomaly - sine,
    }
}

/// A direction across a vector, for the plane of an orbit that is a line.
fn perpendicular(z: &[f64; 3]) -> [f64; 3] {
    let across = match z[0] * z[0] < 0.5 * dot(z, z) {
        true => [0.0, z[2], -z[1]],
        false => [-z[2], 0.0, z[0]],
    };
    scale(divide(1.0, root(dot(&across, &across))), &across)
}

/// The averaged quadrupole of an inner orbit in the direction `n`.
fn quadrupole(n: &[f64; 3], e: &[f64; 3], j: &[f64; 3]) -> f64 {
    let (en, jn) = (dot(e, n), dot(j, n));
    15.0 * en * en - 3.0 * jn * jn + 1.0 - 6.0 * dot(e, e)
}

/// The plane of the outer orbit: the directions of its apocentre and of the motion there.
struct Frame {
    p: [f64; 3],
    q: [f64; 3],
}

/// A place on the outer orbit: the angle δ before the apocentre with its sine and cosine, and sin δ / h, which stays finite on a
/// radial orbit.
#[derive(Clone, Copy)]
struct Place {
    angle: f64,
    sine: f64,
    cosine: f64,
    slope: f64,
}

/// ∫ n nᵀ dt / R³ over an arc of the outer orbit, in its [`Frame`].
#[derive(Clone, Copy)]
struct Tide {
    pp: f64,
    qq: f64,
    pq: f64,
}

/// The antiderivative of the tide at a place on an orbit of eccentricity `e` and specific angular momentum `h`; `o` is (1 - e)/h².
#[cfg_attr(target_arch = "nvptx64", inline(never))]
fn antiderivative(z: &Place, e: f64, o: f64, h: f64) -> Tide {
    if z.angle.abs() < 1e-2 {
        // A power series in δ, which does not divide by h.
        let d2 = z.angle * z.angle;
        let y = z.slope * (1.0 + d2 * (1.0 / 6.0));
        let y2 = y * y;
        let even = 1.0 - d2 * (1.0 / 3.0) + d2 * d2 * (1.0 / 15.0);
        let odd = 1.0 / 6.0 - d2 * (13.0 / 120.0);
        Tide {
            pp: y * (o * even + e * y2 * odd),
            qq: y * d2 * (o * (1.0 / 3.0) + e * y2 * 0.1),
            pq: -h * y2 * (0.5 * o + 0.125 * e * y2),
        }
    } else {
        let (s, c) = (z.sine, z.cosine);
        let inverse = divide(1.0, h * h * h);
        let s3 = s * s * s * (1.0 / 3.0);
        Tide {
            pp: inverse * (0.5 * (z.angle + s * c) - e * (s - s3)),
            qq: inverse * (0.5 * (z.angle - s * c) - e * s3),
            pq: -inverse * (0.5 * s * s + e * (c * c * c - 1.0) * (1.0 / 3.0)),
        }
    }
}

/// The contribution of a place at the distance `r` to the derivative of the tide with respect to the outer energy.
fn by_energy(z: &Place, e: f64, h: f64, r: f64) -> Tide {
    let (s, c, y) = (z.sine, z.cosine, z.slope);
    let (s2, ie) = (s * s * (1.0 / 3.0), divide(1.0, e));
    let hr = divide(h, r);
    Tide {
        pp: ie * (divide(ie * c * c * c, r * y) - y * (1.0 - s2)),
        qq: ie * y * (hr * h * ie * c - s2),
        pq: ie * (divide(y * s * (1.0 + c + c * c), 3.0 * (1.0 + c)) - hr * ie * c * c),
    }
}

impl Tide {
    fn minus(&self, o: &Self) -> Self {
        Self {
            pp: self.pp - o.pp,
            qq: self.qq - o.qq,
            pq: self.pq - o.pq,
        }
    }

    fn trace(&self) -> f64 {
        self.pp + self.qq
    }

    /// The tensor times a vector.
    fn on(&self, f: &Frame, z: &[f64; 3]) -> [f64; 3] {
        let (p, q) = (dot(&f.p, z), dot(&f.q, z));
        let along_q = scale(self.pq * p + self.qq * q, &f.q);
        axpy(self.pp * p + self.pq * q, &f.p, &along_q)
    }

    /// The integral of the [`quadrupole`].
    fn quadrupole(&self, f: &Frame, e: &[f64; 3], j: &[f64; 3]) -> f64 {
        15.0 * dot(e, &self.on(f, e)) - 3.0 * dot(j, &self.on(f, j))
            + (1.0 - 6.0 * dot(e, e)) * self.trace()
    }

    /// The changes of e and j of the inner orbit, divided by m_k a² / (4 √(m a)).
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn change(&self, f: &Frame, e: &[f64; 3], j: &[f64; 3]) -> [[f64; 3]; 2] {
        let (ne, nj) = (self.on(f, e), self.on(f, j));
        let trace = 12.0 * self.trace();
        let (b1, b2, b3) = (cross(j, &ne), cross(j, e), cross(e, &nj));
        let of_e = axpy(-6.0, &b3, &axpy(-trace, &b2, &scale(30.0, &b1)));
        let of_j = axpy(-6.0, &cross(j, &nj), &scale(30.0, &cross(e, &ne)));
        [of_e, of_j]
    }
}

/// The least square of the radial velocity, times the distance, for a jump. Below it, the third body is too near its apocentre.
pub const MIN_RADIAL2: f64 = 0.3;

/// The fate of a third body that is far away.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Undecided: the integration continues with steps.
    Open,
    /// The third body escapes.
    Escape {
        /// Its velocity relative to the binary at infinity.
        v_inf: f64,
        /// Semi-major axis of the binary.
        a: f64,
        /// Eccentricity of the binary, after the tide on the way out.
        e: f64,
    },
    /// The third body comes back.
    Return {
        /// The state there.
        state: Pairs<f64>,
        /// The time from now until it is back.
        after: f64,
        /// The largest distance of its excursion.
        apocentre: f64,
    },
}

/// The fate of the distant third body of `h`. If it returns, the jump ends at the distance `to` on its way inwards.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
pub fn fate(s: &Pairs<f64>, m: &Masses, h: &Hierarchy, binding: f64, to: f64) -> Fate {
    let [i, j, k] = PAIRS[h.pair];
    let third = m.fractions[k];
    let mass = h.pair_mass;
    let product = m.product[h.pair];
    let mu = divide(product, mass);
    let nu = third * mass;
    let inverse_nu = divide(1.0, nu);
    let u = potential(s, &m.step);
    let total = -binding;
    let excess = excess(s, binding, u);
    let inverse_x = dot(&h.x, &h.x).reciprocal_root();
    let r = h.distance;
    let inverse_r = divide(1.0, r);
    let n = scale(inverse_r, &h.outer_r);

    // The energy of the inner orbit without its short-period oscillation due to the tide. The rest of the total energy belongs to the
    // outer orbit.
    let inner = inner_orbit(h);
    let strength = 0.25 * third * mu;
    let tidal = nu * inverse_r - (u - product * inverse_x);
    let mean_tidal = -strength
        * (h.a * h.a)
        * (inverse_r * inverse_r * inverse_r)
        * quadrupole(&n, &inner.e, &inner.j);
    let e_inner = h.energy - excess * product * inverse_x + (tidal - mean_tidal);
    if !(e_inner < 0.0) {
        return Fate::Open;
    }
    let a = divide(product, -2.0 * e_inner);
    let e_outer = (total - e_inner) * inverse_nu;
    let momentum = cross(&h.outer_r, &h.outer_v);
    let momentum2 = dot(&momentum, &momentum);
    let outwards = h.rv > 0.0;
    let radial2 = 2.0 * (e_outer + inverse_r) - momentum2 * inverse_r * inverse_r;
    // Near the apocentre, the time depends on the tide like a square root.
    if !(radial2 * r > MIN_RADIAL2) {
        return Fate::Open;
    }
    let outer = Orbit::new(-2.0 * e_outer, momentum2, 1.0);
    let hh = root(momentum2);
    let inverse_h = if hh > 0.0 { divide(1.0, hh) } else { 0.0 };
    let ahead = scale(inverse_h, &cross(&momentum, &n));
    let eo = outer.e;
    let inverse_eo = divide(1.0, eo);
    let o = divide(outer.inverse_axis, 1.0 + eo);
    let place = |inverse_r: f64, radial: f64| {
        let c = (1.0 - momentum2 * inverse_r) * inverse_eo;
        let slope = radial * inverse_eo;
        let s = hh * slope;
        let length = divide(1.0, root(c * c + s * s));
        Place {
            angle: libm::atan2(s, c),
            sine: s * length,
            cosine: c * length,
            slope: slope * length,
        }
    };
    let radial = root(radial2);
    let here = place(inverse_r, if outwards { radial } else { -radial });
    let frame = Frame {
        p: axpy(here.sine, &ahead, &scale(here.cosine, &n)),
        q: axpy(-here.sine, &n, &scale(here.cosine, &ahead)),
    };
    let escapes = outwards && !(e_outer < 0.0);
    let there = if escapes {
        place(0.0, root(2.0 * e_outer))
    } else {
        let inverse = divide(1.0, to);
        let radial2 = 2.0 * (e_outer + inverse) - momentum2 * inverse * inverse;
        if !(radial2 > 0.0) {
            return Fate::Open;
        }
        place(inverse, -root(radial2))
    };
    let tide = antiderivative(&here, eo, o, hh).minus(&antiderivative(&there, eo, o, hh));

    // The vectors of the inner orbit after the arc, by the midpoint rule. They are then made orthogonal, with e² + j² = 1.
    let factor = divide(third * a * a, 4.0 * root(mass * a));
    let [de, dj] = tide.change(&frame, &inner.e, &inner.j);
    let middle = [
        axpy(0.5 * factor, &de, &inner.e),
        axpy(0.5 * factor, &dj, &inner.j),
    ];
    let [de, dj] = tide.change(&frame, &middle[0], &middle[1]);
    let (e2, j2) = (axpy(factor, &de, &inner.e), axpy(factor, &dj, &inner.j));
    let j_length = root(dot(&j2, &j2));
    let normal = if j_length > 0.0 {
        scale(divide(1.0, j_length), &j2)
    } else if j_length == 0.0 {
        perpendicular(&e2)
    } else {
        return Fate::Open;
    };
    let e2 = axpy(-dot(&e2, &normal), &normal, &e2);
    let e_length = root(dot(&e2, &e2));
    let norm = divide(1.0, root(e_length * e_length + j_length * j_length));
    let (ecc, jay) = (e_length * norm, j_length * norm);
    if escapes {
        return Fate::Escape {
            v_inf: root(2.0 * e_outer),
            a,
            e: ecc,
        };
    }

    // The time between the places. The tide changes it by the derivative of its action.
    let from_here = outer.since_pericentre(r, outer.outwards(r));
    let from_there = outer.since_pericentre(to, outer.outwards(to));
    let mut after = if outwards {
        let al = outer.inverse_axis;
        divide(2.0 * PI, al * root(al)) - from_here - from_there
    } else {
        from_here - from_there
    };
    let turn = by_energy(&here, eo, hh, r).minus(&by_energy(&there, eo, hh, to));
    after += strength * a * a * inverse_nu * turn.quadrupole(&frame, &inner.e, &inner.j);
    if !(after > 0.0) {
        return Fate::Open;
    }

    // The mean longitude, counted from the previous pericentre (or from the present place on a circular orbit), because the pericentre
    // itself may rotate by a large angle.
    let ee = dot(&inner.e, &inner.e);
    let eccentric = ee > 1e-16;
    let jj = dot(&inner.j, &inner.j);
    let p0 = if eccentric {
        scale(divide(1.0, root(ee)), &inner.e)
    } else {
        let d = axpy(-divide(dot(&h.x, &inner.j), jj), &inner.j, &h.x);
        scale(divide(1.0, root(dot(&d, &d))), &d)
    };
    let q0 = if jj > 0.0 {
        scale(divide(1.0, root(jj)), &cross(&inner.j, &p0))
    } else {
        cross(&normal, &p0)
    };
    let mean0 = if eccentric { inner.mean_anomaly } else { 0.0 };
    let [turned, _] = tide.change(&frame, &p0, &inner.j);
    let of_energy = 4.0 * tide.quadrupole(&frame, &inner.e, &inner.j);
    let of_shape = 30.0 * dot(&p0, &tide.on(&frame, &p0)) - 12.0 * tide.trace();
    let of_plane = 6.0 * dot(&inner.j, &tide.on(&frame, &inner.j));
    let shift = factor * (dot(&turned, &q0) - (of_energy + (1.0 - ee) * of_shape + of_plane));
    let p1 = axpy(-dot(&p0, &normal), &normal, &p0);
    let p1 = scale(divide(1.0, root(dot(&p1, &p1))), &p1);
    let q1 = cross(&normal, &p1);
    let (p, longitude) = if e_length > 1e-12 {
        let p = scale(divide(1.0, e_length), &e2);
        (p, libm::atan2(dot(&e2, &q1), dot(&e2, &p1)))
    } else {
        (p1, 0.0)
    };
    let q = cross(&normal, &p);
    let motion = divide(root(divide(mass, a)), a);
    let turns = (motion * after + (mean0 + shift - longitude)) * (1.0 / (2.0 * PI));
    let mean = 2.0 * PI * (turns - libm::floor(turns + 0.5));
    let (se, ce) = libm::sincos(eccentric_anomaly(mean, ecc));
    let unit_x = axpy(jay * se, &q, &scale(ce - ecc, &p));
    let unit_v = axpy(jay * ce, &q, &scale(-se, &p));
    let speed = divide(1.0, 1.0 - ecc * ce);

    // The direction of the third body at the end, perpendicular to the angular momentum that is left for its orbit.
    let l_total = angular_momentum(s, m);
    let ct = here.cosine * there.cosine + here.sine * there.sine;
    let st = here.sine * there.cosine - here.cosine * there.sine;
    let direction = axpy(st, &ahead, &scale(ct, &n));
    let inverse_to = divide(1.0, to);
    let across = |a: f64| {
        let of_inner = axpy(-mu * root(mass * a) * jay, &normal, &l_total);
        let left = scale(inverse_nu, &of_inner);
        let left2 = dot(&left, &left);
        let d = if left2 > 0.0 {
            axpy(-divide(dot(&direction, &left), left2), &left, &direction)
        } else {
            direction
        };
        (scale(divide(1.0, root(dot(&d, &d))), &d), left, left2)
    };
    let (fi, fj) = (divide(m.fractions[i], mass), m.share[h.pair]);
    let outer_potential = |x: &[f64; 3], d: &[f64; 3]| {
        let z = scale(to, d);
        let (a, b) = (axpy(fj, x, &z), axpy(-fi, x, &z));
        let (pa, pb) = (dot(&a, &a).reciprocal_root(), dot(&b, &b).reciprocal_root());
        third * (m.fractions[i] * pa + m.fractions[j] * pb)
    };
    let (d, _, _) = across(a);
    let tidal = nu * inverse_to - outer_potential(&scale(a, &unit_x), &d);
    let mean_tidal = -strength
        * (a * a)
        * (inverse_to * inverse_to * inverse_to)
        * quadrupole(&d, &scale(norm, &e2), &scale(jay, &normal));
    let e_inner = e_inner - (tidal - mean_tidal);
    if !(e_inner < 0.0) {
        return Fate::Open;
    }
    let a = divide(product, -2.0 * e_inner);
    let x = scale(a, &unit_x);
    let v = scale(root(divide(mass, a)) * speed, &unit_v);
    let (d, left, left2) = across(a);
    let un = outer_potential(&x, &d);
    let kinetic = total - e_inner + un + excess * (un + product * dot(&x, &x).reciprocal_root());
    let radial2 = 2.0 * kinetic * inverse_nu - left2 * inverse_to * inverse_to;
    if !(radial2 > 0.0) {
        return Fate::Open;
    }
    let outer_v = axpy(-root(radial2), &d, &scale(inverse_to, &cross(&left, &d)));
    let outer_r = scale(to, &d);
    let state = Pairs {
        time: s.time,
        ..super::start::nested(m, h.pair, [&x, &v], [&outer_r, &outer_v])
    };
    let al = outer.inverse_axis;
    Fate::Return {
        state,
        after,
        apocentre: if al > 0.0 {
            divide(1.0 + eo, al)
        } else {
            f64::INFINITY
        },
    }
}
