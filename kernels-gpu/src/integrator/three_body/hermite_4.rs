//! Hermite's method of fourth order (Makino & Aarseth 1992, PASJ 44, 141): predict from acceleration and jerk, evaluate
//! both there, correct. One evaluation a step, of about twice the cost of an acceleration.

use super::{Integrator, State};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative, accelerations_and_jerks, squares};

/// Fourth order, one evaluation of accelerations and jerks a step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct Hermite4;

impl<R: Real> Integrator<R> for Hermite4 {
    /// Accelerations (times dt²) and jerks (times dt³) at the state.
    type Memory = [Relative<R>; 2];
    type Pulls = Pulls<R>;

    #[inline(always)]
    fn begin(s: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let r2 = squares(&s.q, pulls);
        let w = [r2[0].inv_cube(), r2[1].inv_cube(), r2[2].inv_cube()];
        s.memory = accelerations_and_jerks(&s.q, &s.u, r2, w, pulls);
    }

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let ((qs, us), (qt, ut)) = (predict(s), predict(t));
        let (rs, rt) = (squares(&qs, pulls), squares(&qt, pulls));
        let w = R::inv_cubes([rs[0], rs[1], rs[2], rt[0], rt[1], rt[2]]);
        correct(
            s,
            accelerations_and_jerks(&qs, &us, rs, [w[0], w[1], w[2]], pulls),
        );
        correct(
            t,
            accelerations_and_jerks(&qt, &ut, rt, [w[3], w[4], w[5]], pulls),
        );
    }
}

/// Taylor series up to the jerk.
#[inline(always)]
fn predict<R: Real>(s: &State<R, [Relative<R>; 2]>) -> (Relative<R>, Relative<R>) {
    let [f, j] = &s.memory;
    let (half, sixth) = (R::from_f64(0.5), R::from_f64(1.0 / 6.0));
    let q = (s.q + s.u).add_scaled(half, f).add_scaled(sixth, j);
    let u = (s.u + *f).add_scaled(half, j);
    (q.now(), u.now())
}

/// Hermite interpolation between the accelerations and jerks of both ends.
#[inline(always)]
fn correct<R: Real>(s: &mut State<R, [Relative<R>; 2]>, [f1, j1]: [Relative<R>; 2]) {
    let [f0, j0] = s.memory;
    let (half, twelfth) = (R::from_f64(0.5), R::from_f64(1.0 / 12.0));
    let u0 = s.u;
    s.u = u0
        .add_scaled(half, &(f0 + f1))
        .add_scaled(twelfth, &(j0 - j1))
        .now();
    s.q =
        s.q.add_scaled(half, &(u0 + s.u))
            .add_scaled(twelfth, &(f0 - f1))
            .now();
    s.memory = [f1, j1];
}
