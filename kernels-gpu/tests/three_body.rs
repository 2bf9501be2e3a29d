//! Three bodies in relative coordinates have the pulls and jerks of the plain sum over pairs, to rounding.

use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::physics::three_body::{
    MassTerms, Relative, accelerations_and_jerks, kick, squares,
};
use kernels_gpu::{Real, Vec3};
use proptest::prelude::*;

type Bodies = [[f64; 3]; 3];

fn bodies() -> impl Strategy<Value = Bodies> {
    prop::array::uniform3(prop::array::uniform3(-10.0..10.0f64))
}

fn vector([x, y, z]: [f64; 3]) -> Vec3<f64> {
    Vec3 { x, y, z }
}

/// Accelerations and jerks of each body by the sum over its pairs, and the sum of the magnitudes of the terms.
fn pair_sums(x: &Bodies, v: &Bodies, g: &[f64; 3], softening: f64) -> [[Vec3<f64>; 2]; 3] {
    let body = |k: usize| [vector(x[k]), vector(v[k])];
    [0, 1, 2].map(|i| {
        let mut sum = [Vec3::zero(); 2];
        for j in (0..3).filter(|j| *j != i) {
            Plain::<f64>::pull(&body(i), &body(j), g[j], softening * softening, &mut sum);
        }
        sum
    })
}

fn largest(v: Vec3<f64>) -> f64 {
    v.x.abs().max(v.y.abs()).max(v.z.abs())
}

proptest! {
    #[test]
    fn relative_coordinates_have_the_accelerations_and_jerks_of_the_sum_over_pairs(
        x in bodies(),
        v in bodies(),
        g in prop::array::uniform3(0.0..5.0f64),
        softening in prop_oneof![Just(0.0), 0.01..1.0f64],
    ) {
        let sums = pair_sums(&x, &v, &g, softening);
        // The rounding errors of terms that cancel remain.
        let size = |k: usize| sums.iter().map(|s| largest(s[k])).fold(0.0, f64::max);
        let masses = MassTerms::new(g.map(|g| [g, 0.0]), softening).convert();
        let long = |bodies: &Bodies| bodies.map(|body| body.map(|x| [x, 0.0]));
        let (q, u) = (Relative::from_bodies(&long(&x)), Relative::from_bodies(&long(&v)));
        let r2 = squares(&q, &masses);
        let w = f64::inv_cubes(r2);
        let found = accelerations_and_jerks::<f64>(&q, &u, r2, w, &masses);
        for k in 0..2 {
            for (relative, body) in [(found[k].a, 1), (found[k].b, 2)] {
                let expected = sums[body][k] - sums[0][k];
                let error = largest(relative - expected);
                prop_assert!(error <= 1e-12 * size(k), "derivative {k}: {error:e} of {:e}", size(k));
            }
        }
        // A kick adds the accelerations to the velocities.
        let mut kicked = u;
        kick(&mut kicked, &q, w, &masses);
        let error = largest(kicked.a - u.a - found[0].a).max(largest(kicked.b - u.b - found[0].b));
        prop_assert!(error <= 1e-14 * (size(0) + 10.0), "{error:e}");
    }
}
