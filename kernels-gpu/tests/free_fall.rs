//! The regularised integrators in double-double: free fall from rest, which no integrator in `f64` computes to as many digits.

use std::f64::consts::{SQRT_2, TAU};

use kernels_gpu::Real;
use kernels_gpu::integrator::{MapIntegrator, Regularised};
use kernels_gpu::map::{DivergenceCriterion, Masses, OwnSteps, Point};
use kernels_gpu::number::DoubleDouble;
use kernels_gpu::physics::three_body::MassTerms;

type Wide = DoubleDouble<f64>;

/// The step of the run: a power of two, so that its products with masses are exact.
const DT: f64 = 0.125;

/// Three bodies that start at rest in the plane, with G = 1. Body 3 is the grid body.
struct FreeFall {
    masses: [f64; 3],
    places: [[f64; 2]; 3],
    /// What the place of body 3 has beyond the digits of its `f64`.
    rest: [f64; 2],
    /// The end of the run, in steps.
    steps: u32,
}

impl FreeFall {
    /// The positions at the end of the run, in the frame of the start.
    fn fall<const ORDER: u32, R: Real>(&self, steps_per_period: f64) -> [[f64; 2]; 3] {
        let [m, n, grid] = self.masses;
        let strengths = [grid, m, n].map(|mass| mass * DT * DT);
        let masses = Regularised::<ORDER>::masses::<R>(&Masses {
            in_steps: MassTerms::new(strengths, 0.0),
            criterion: DivergenceCriterion::new([grid, m, n], [1.0, 0.0, 0.0], 1.0),
            own_steps: OwnSteps {
                strengths: strengths.map(|g| [g, 0.0]),
                step: SQRT_2 * TAU / steps_per_period,
            },
        });
        let flat = |[x, y]: [f64; 2]| [x, y, 0.0];
        let [p, q, r] = self.places.map(flat);
        let point = Point {
            positions: [r, p, q],
            rest: flat(self.rest),
            ..Point::RESTING
        };
        let mut state = Regularised::<ORDER>::begin(&point.start::<R>(DT), &masses);
        for _ in 0..self.steps {
            Regularised::<ORDER>::step([&mut state], &masses);
        }
        let relative = Regularised::<ORDER>::positions(&state);
        let [a, b] = [relative.a, relative.b].map(|v| [v.x, v.y]);
        let number = |x: f64| R::from_f64(x);
        let mut found = [[0.0; 2]; 3];
        for k in 0..2 {
            let place = number(self.places[2][k]) + number(self.rest[k]);
            let moment = number(m) * number(self.places[0][k])
                + number(n) * number(self.places[1][k])
                + number(grid) * place;
            // The centre of mass stays where it is.
            let inner = moment - (number(m) * a[k] + number(n) * b[k]);
            let third = inner.quotient(number(m + n + grid));
            for (body, place) in [a[k] + third, b[k] + third, third].into_iter().enumerate() {
                found[body][k] = place.to_f64(0);
            }
        }
        found
    }
}

/// The largest difference of two sets of positions.
fn apart(found: &[[f64; 2]; 3], expected: &[[f64; 2]; 3]) -> f64 {
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Free fall of equal masses. An error at the start has grown by e¹⁵ at the end.
const EQUAL: FreeFall = FreeFall {
    masses: [1.0; 3],
    places: [[-0.5, 0.0], [0.5, 0.0], [0.1, 0.6]],
    rest: [-5.551_115_123_125_783e-18, 2.220_446_049_250_313e-17],
    steps: 64,
};

/// By Taylor series of order 40 with 48 digits.
const EQUAL_FALLEN: [[f64; 2]; 3] = [
    [4.318_767_971_403_83, 0.615_039_026_757_203_8],
    [4.335_043_102_337_770_2, 0.556_062_487_744_496_8],
    [-8.553_811_073_741_62, -0.571_101_514_501_700_7],
];

/// The Pythagorean problem of Burrau (1913, Astron. Nachr. 195, 113).
const BURRAU: FreeFall = FreeFall {
    masses: [3.0, 4.0, 5.0],
    places: [[1.0, 3.0], [-2.0, -1.0], [1.0, -1.0]],
    rest: [0.0; 2],
    steps: 480,
};

/// As [`EQUAL_FALLEN`].
const BURRAU_FALLEN: [[f64; 2]; 3] = [
    [0.743_807_500_118_082_9, 1.939_947_951_094_863_3],
    [0.264_010_334_686_256_54, -0.731_624_394_869_963_7],
    [-0.657_492_767_819_855, -0.578_669_254_746_094_7],
];

#[test]
fn double_double_has_the_digits_that_chaos_takes_from_f64() {
    let wide = apart(&EQUAL.fall::<8, Wide>(400.0), &EQUAL_FALLEN);
    let narrow = apart(&EQUAL.fall::<8, f64>(400.0), &EQUAL_FALLEN);
    println!("free fall: {wide:e} in double-double, {narrow:e} in f64");
    assert!(wide < 1e-12, "{wide:e}");
    assert!(narrow > 1e-11, "{narrow:e}");
    let wide = apart(&EQUAL.fall::<6, Wide>(800.0), &EQUAL_FALLEN);
    println!("order 6: {wide:e}");
    assert!(wide < 1e-12, "order 6: {wide:e}");
    let wide = apart(&BURRAU.fall::<8, Wide>(400.0), &BURRAU_FALLEN);
    println!("Burrau: {wide:e}");
    assert!(wide < 1e-12, "Burrau: {wide:e}");
}
