//! The regularised integrators in double-double: free fall from rest, which no integrator in `f64` computes to as many digits, and a
//! periodic orbit.

use std::f64::consts::{SQRT_2, TAU};

use kernels_gpu::Real;
use kernels_gpu::integrator::{MapIntegrator, Regularised};
use kernels_gpu::map::{self, DivergenceCriterion, OwnSteps, Point, Start};
use kernels_gpu::number::{DoubleDouble, Long};
use kernels_gpu::physics::three_body::{MassTerms, Relative};

type Wide = DoubleDouble<f64>;

/// The step of the run: a power of two, so that its products with masses are exact.
const DT: f64 = 0.125;

/// Masses with G = 1 for steps of length [`DT`].
fn masses(masses: [f64; 3], steps_per_period: f64) -> map::Masses {
    let strengths = masses.map(|mass| [mass * DT * DT, 0.0]);
    map::Masses {
        in_steps: MassTerms::new(strengths, 0.0),
        criterion: DivergenceCriterion::new(masses, [1.0, 0.0, 0.0], 1.0),
        own_steps: OwnSteps {
            strengths,
            step: SQRT_2 * TAU / steps_per_period,
        },
    }
}

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
    fn fall<const ORDER: u32, R: Real>(&self, steps_per_period: f64) -> [[R; 2]; 3] {
        let [m, n, grid] = self.masses;
        let masses = Regularised::<ORDER>::masses::<R>(&masses([grid, m, n], steps_per_period));
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
        let mut found = [[R::zero(); 2]; 3];
        for k in 0..2 {
            let place = number(self.places[2][k]) + number(self.rest[k]);
            let moment = number(m) * number(self.places[0][k])
                + number(n) * number(self.places[1][k])
                + number(grid) * place;
            // The centre of mass stays where it is.
            let inner = moment - (number(m) * a[k] + number(n) * b[k]);
            let third = inner.quotient(number(m + n + grid));
            for (body, place) in [a[k] + third, b[k] + third, third].into_iter().enumerate() {
                found[body][k] = place;
            }
        }
        found
    }
}

/// The largest difference of two sets of positions.
fn apart<R: Real>(found: &[[R; 2]; 3], expected: &[[Long; 2]; 3]) -> f64 {
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    let apart = pairs.map(|(a, b)| (*a - R::from_long(*b)).to_f64(0).abs());
    apart.fold(0.0, f64::max)
}

/// Free fall of equal masses. An error at the start has grown by e¹⁵ at the end.
const EQUAL: FreeFall = FreeFall {
    masses: [1.0; 3],
    places: [[-0.5, 0.0], [0.5, 0.0], [0.1, 0.6]],
    rest: [-5.551_115_123_125_783e-18, 2.220_446_049_250_313e-17],
    steps: 64,
};

/// By Taylor series of order 40 with 48 digits.
const EQUAL_FALLEN: [[Long; 2]; 3] = [
    [
        [4.31876797140383, 4.107376124253123e-16],
        [0.6150390267572038, -1.0190496198648776e-18],
    ],
    [
        [4.33504310233779, -1.8012059449886997e-16],
        [0.5560624877444968, 2.0277781319555566e-17],
    ],
    [
        [-8.55381107374162, 1.2465434995360778e-16],
        [-0.5711015145017007, 2.945728792812442e-18],
    ],
];

/// The Pythagorean problem of Burrau (1913, Astron. Nachr. 195, 113).
const BURRAU: FreeFall = FreeFall {
    masses: [3.0, 4.0, 5.0],
    places: [[1.0, 3.0], [-2.0, -1.0], [1.0, -1.0]],
    rest: [0.0; 2],
    steps: 480,
};

/// As [`EQUAL_FALLEN`].
const BURRAU_FALLEN: [[Long; 2]; 3] = [
    [
        [0.7438075001180829, -2.7219739225386828e-17],
        [1.9399479510948634, -9.924894668220804e-17],
    ],
    [
        [0.26401033468625656, -2.5807111548522454e-17],
        [-0.7316243948699637, -4.893215822917483e-17],
    ],
    [
        [-0.657492767819855, 1.4773072281546927e-17],
        [-0.578669254760947, -1.232720786985097e-17],
    ],
];

#[test]
fn double_double_has_the_digits_that_chaos_takes_from_f64() {
    let narrow = apart(&EQUAL.fall::<8, f64>(400.0), &EQUAL_FALLEN);
    assert!(narrow > 1e-11, "{narrow:e}");
    // An error at the start grows by 4e6 until the end of Burrau's problem: coefficients that are rounded to `f64` would be seen.
    for (what, wide, most) in [
        (
            "order 8",
            apart(&EQUAL.fall::<8, Wide>(800.0), &EQUAL_FALLEN),
            1e-15,
        ),
        (
            "order 6",
            apart(&EQUAL.fall::<6, Wide>(800.0), &EQUAL_FALLEN),
            1e-12,
        ),
        (
            "Burrau",
            apart(&BURRAU.fall::<8, Wide>(800.0), &BURRAU_FALLEN),
            1e-15,
        ),
    ] {
        println!("{what}: {wide:e}");
        assert!(wide < most, "{what}: {wide:e}");
    }
}

/// The orbit of three equal masses along a figure eight (Moore 1993, Phys. Rev. Lett. 70, 3675; Chenciner & Montgomery 2000, Ann. Math.
/// 152, 881) with a period of 8, by Newton's method on Taylor series with 60 digits: the place of body 1, of which that of body 2 is the
/// opposite while body 3 is at the origin, and the velocity of body 3, half of which the others have in the opposite direction.
const EIGHT: [[Long; 2]; 2] = [
    [
        [1.1343615255868935, -9.929582933496789e-17],
        [-0.28427619032867735, 8.1776114278186e-18],
    ],
    [
        [-0.8622174274829529, 2.821974414240501e-17],
        [-0.7996360373541384, 5.149330996001953e-17],
    ],
];

/// How far the figure eight is from its start after a period.
fn return_of_the_eight<const ORDER: u32, R: Real>(steps_per_period: f64) -> f64 {
    let bodies = |of: [Long; 2], by: [f64; 3]| {
        by.map(|by| {
            let [x, y] = of.map(|x| x.map(|x| by * x));
            [x, y, [0.0; 2]]
        })
    };
    let start = Start::<R> {
        positions: Relative::from_bodies(&bodies(EIGHT[0], [1.0, -1.0, 0.0])),
        steps: Relative::from_bodies(&bodies(EIGHT[1], [-0.5 * DT, -0.5 * DT, DT])),
    };
    let masses = Regularised::<ORDER>::masses::<R>(&masses([1.0; 3], steps_per_period));
    let mut state = Regularised::<ORDER>::begin(&start, &masses);
    for _ in 0..64 {
        Regularised::<ORDER>::step([&mut state], &masses);
    }
    let moved = Regularised::<ORDER>::positions(&state) - start.positions;
    let parts = [moved.a, moved.b].map(|v| [v.x.to_f64(0), v.y.to_f64(0)]);
    parts
        .iter()
        .flatten()
        .fold(0.0, |most, x| most.max(x.abs()))
}

#[test]
fn the_figure_eight_returns_to_its_start() {
    let wide = return_of_the_eight::<8, Wide>(16_000.0);
    let narrow = return_of_the_eight::<8, f64>(400.0);
    println!("the figure eight: {wide:e} in double-double, {narrow:e} in f64");
    assert!(wide < 1e-25, "{wide:e}");
    assert!(narrow < 1e-11, "{narrow:e}");
}
