//! Integrators. A step is a formula of sums and products in a fixed order; nothing in it depends on the values, so that it can also be traced
//! with symbolic numbers.
//!
//! | integrator | order | source |
//! |---|---|---|
//! | [`Rk4`] | 4 | Kutta 1901 |
//! | [`Tsit5`] | 5, step of its own | Tsitouras 2011 |
//! | [`Dop853`] | 8, step of its own | Dormand & Prince; Hairer, Norsett & Wanner 1993 |
//! | [`Leapfrog`] | 2, symplectic | Stormer, Verlet |
//! | [`ForestRuth`] | 4, symplectic | Forest & Ruth 1990 |
//! | [`KahanLi8`] | 8, symplectic | Kahan & Li 1997 |
//! | [`Iteration`] | maps | |

use crate::Scalar;
use crate::evolution::{Iterate, Motion, Rate, Split, Vector};

/// How a state goes on.
pub trait Scheme<R: Scalar, E: Motion<R>> {
    /// The q of steps that are chosen by their error, which goes with the q-th power of the step; 0 for steps of fixed length.
    const ERROR_ORDER: u32 = 0;
    /// Whether [`Motion::settled`] has to measure the growth of the tangent vector, and the place within a step at which MEGNO takes the time.
    const GROWS: Option<f64> = None;

    /// The state after a step of length `h`, and its error in units of what `tolerance` allows; the error of steps of fixed length is not
    /// computed.
    fn step(motion: &E, t: R, h: R, state: &E::State, tolerance: f64) -> (E::State, R);
}

/// The sum of vectors with these factors, in this order.
#[inline(always)]
fn sum<R: Scalar, V: Vector<R>, const M: usize>(terms: [(f64, V); M]) -> V {
    let (factor, first) = terms[0];
    let mut sum = first.map(|x| x * factor);
    let mut i = 1;
    while i < M {
        let (factor, term) = terms[i];
        sum = sum.zip(term, |sum, x| sum + x * factor);
        i += 1;
    }
    sum
}

/// y + h times the sum of vectors with these factors.
#[inline(always)]
fn moved<R: Scalar, V: Vector<R>, const M: usize>(y: &V, h: R, terms: [(f64, V); M]) -> V {
    y.zip(sum(terms), |y, sum| y + h * sum)
}

/// The classical method of Runge and Kutta.
#[derive(Clone, Copy, Debug)]
pub struct Rk4;

impl<R: Scalar, E: Rate<R>> Scheme<R, E> for Rk4 {
    #[inline(always)]
    fn step(motion: &E, t: R, h: R, y: &E::State, _: f64) -> (E::State, R) {
        let (half, middle) = (h * 0.5, t + h * 0.5);
        let k1 = motion.rate(t, y);
        let k2 = motion.rate(middle, &y.zip(k1, |y, k| y + half * k));
        let k3 = motion.rate(middle, &y.zip(k2, |y, k| y + half * k));
        let k4 = motion.rate(t + h, &y.zip(k3, |y, k| y + h * k));
        let inner = k2.zip(k3, |a, b| (a + b) * 2.0);
        let all = k1.zip(inner, |a, b| a + b).zip(k4, |a, b| a + b);
        let sixth = h / 6.0;
        (y.zip(all, |y, k| y + sixth * k), R::of(0.0))
    }
}

/// The method of Tsitouras (2011), of order 5 with an error of order 4.
#[derive(Clone, Copy, Debug)]
pub struct Tsit5;

impl<R: Scalar, E: Rate<R>> Scheme<R, E> for Tsit5 {
    const ERROR_ORDER: u32 = 5;

    #[inline(always)]
    fn step(motion: &E, t: R, h: R, y: &E::State, tolerance: f64) -> (E::State, R) {
        let at = |c: f64, y: &E::State| motion.rate(t + h * c, y);
        let k1 = motion.rate(t, y);
        let k2 = at(0.161, &moved(y, h, [(0.161, k1)]));
        let k3 = at(
            0.327,
            &moved(y, h, [(-0.008480655492356989, k1), (0.335480655492357, k2)]),
        );
        let k4 = at(
            0.9,
            &moved(
                y,
                h,
                [
                    (2.8971530571054935, k1),
                    (-6.359448489975075, k2),
                    (4.3622954328695815, k3),
                ],
            ),
        );
        let k5 = at(
            0.9800255409045097,
            &moved(
                y,
                h,
                [
                    (5.325864828439257, k1),
                    (-11.748883564062828, k2),
                    (7.4955393428898365, k3),
                    (-0.09249506636175525, k4),
                ],
            ),
        );
        let k6 = at(
            1.0,
            &moved(
                y,
                h,
                [
                    (5.86145544294642, k1),
                    (-12.92096931784711, k2),
                    (8.159367898576159, k3),
                    (-0.071584973281401, k4),
                    (-0.028269050394068383, k5),
                ],
            ),
        );
        let after = moved(
            y,
            h,
            [
                (0.09646076681806523, k1),
                (0.01, k2),
                (0.4798896504144996, k3),
                (1.379008574103742, k4),
                (-3.290069515436081, k5),
                (2.324710524099774, k6),
            ],
        );
        let k7 = at(1.0, &after);
        let error = sum([
            (-0.001780011052225777, k1),
            (-0.0008164344596567469, k2),
            (0.007880878010261995, k3),
            (-0.1447110071732629, k4),
            (0.5823571654525552, k5),
            (-0.45808210592918697, k6),
            (0.015151515151515152, k7),
        ]);
        let error = error.map(|e| e * h);
        let square = motion.mean_square(y, &after, &error, tolerance);
        (after, square.sqrt())
    }
}

/// The tableau of Dormand & Prince of order 8 with the errors of orders 5 and 3 (Hairer, Nørsett & Wanner 1993, section II.10).
pub mod dormand_prince {
    /// The times of the stages in a step.
    pub const NODES: [f64; 12] = [
        0.0,
        0.05260015195876773,
        0.0789002279381516,
        0.1183503419072274,
        0.2816496580927726,
        0.3333333333333333,
        0.25,
        0.3076923076923077,
        0.6512820512820513,
        0.6,
        0.8571428571428571,
        1.0,
    ];

    /// The weights of the slopes of all stages so far in the state of the next one; the last row gives the state after the step.
    #[rustfmt::skip]
    pub const WEIGHTS: [[f64; 12]; 12] = [
        [0.05260015195876773, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0197250569845379, 0.0591751709536137, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.02958758547680685, 0.0, 0.08876275643042054, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402, 0.008273789163814023, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894, -43.48988418106996, 0.0, 0.0, 0.0, 0.0],
        [0.47766253643826434, 0.0, 0.0, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423, -33.28821096898486, -0.020331201708508627, 0.0, 0.0, 0.0],
        [-0.9371424300859873, 0.0, 0.0, 5.186372428844064, 1.0914373489967295, -8.149787010746927, -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196, 0.0, 0.0],
        [2.273310147516538, 0.0, 0.0, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636, 0.0],
        [0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585, 0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259],
    ];

    /// Those of the difference from a step of order 5.
    pub const ERROR_5: [f64; 12] = [
        0.01312004499419488,
        0.0,
        0.0,
        0.0,
        0.0,
        -1.2251564463762044,
        -0.4957589496572502,
        1.6643771824549864,
        -0.35032884874997366,
        0.3341791187130175,
        0.08192320648511571,
        -0.022355307863886294,
    ];

    /// Those of the difference from a step of order 3.
    pub const ERROR_3: [f64; 12] = {
        let mut weights = WEIGHTS[11];
        weights[0] += THIRD[0];
        weights[8] += THIRD[1];
        weights[11] += THIRD[2];
        weights
    };

    /// The weights of the first, the ninth and the twelfth slope in a step of order 3, negative.
    pub const THIRD: [f64; 3] = [
        -0.2440944881889764,
        -0.7338466882816118,
        -0.022058823529411766,
    ];
}

/// The method of Dormand and Prince of order 8, with the errors of orders 5 and 3 of Hairer, Norsett & Wanner (1993, II.10).
#[derive(Clone, Copy, Debug)]
pub struct Dop853;

impl<R: Scalar, E: Rate<R>> Scheme<R, E> for Dop853 {
    const ERROR_ORDER: u32 = 8;

    #[inline(always)]
    fn step(motion: &E, t: R, h: R, y: &E::State, tolerance: f64) -> (E::State, R) {
        use dormand_prince::{ERROR_5, NODES, THIRD, WEIGHTS};
        /// The sum of slopes by the weights of a row; the number of each slope follows it.
        macro_rules! by {
            ($row:expr; $($k:ident $j:literal),+) => {
                sum([$(($row[$j - 1], $k)),+])
            };
        }
        let at = |stage: usize, slope: E::State| {
            let y = y.zip(slope, |y, k| y + h * k);
            motion.rate(t + h * NODES[stage - 1], &y)
        };
        let k1 = motion.rate(t, y);
        let k2 = at(2, by!(WEIGHTS[0]; k1 1));
        let k3 = at(3, by!(WEIGHTS[1]; k1 1, k2 2));
        let k4 = at(4, by!(WEIGHTS[2]; k1 1, k3 3));
        let k5 = at(5, by!(WEIGHTS[3]; k1 1, k3 3, k4 4));
        let k6 = at(6, by!(WEIGHTS[4]; k1 1, k4 4, k5 5));
        let k7 = at(7, by!(WEIGHTS[5]; k1 1, k4 4, k5 5, k6 6));
        let k8 = at(8, by!(WEIGHTS[6]; k1 1, k4 4, k5 5, k6 6, k7 7));
        let k9 = at(9, by!(WEIGHTS[7]; k1 1, k4 4, k5 5, k6 6, k7 7, k8 8));
        let k10 = at(
            10,
            by!(WEIGHTS[8]; k1 1, k4 4, k5 5, k6 6, k7 7, k8 8, k9 9),
        );
        let k11 = at(
            11,
            by!(WEIGHTS[9]; k1 1, k4 4, k5 5, k6 6, k7 7, k8 8, k9 9, k10 10),
        );
        let k12 = at(
            12,
            by!(WEIGHTS[10]; k1 1, k4 4, k5 5, k6 6, k7 7, k8 8, k9 9, k10 10, k11 11),
        );
        let slope = by!(WEIGHTS[11]; k1 1, k6 6, k7 7, k8 8, k9 9, k10 10, k11 11, k12 12);
        let after = y.zip(slope, |y, k| y + h * k);
        let fifth = by!(ERROR_5; k1 1, k6 6, k7 7, k8 8, k9 9, k10 10, k11 11, k12 12);
        let third = slope.zip(
            sum([(THIRD[0], k1), (THIRD[1], k9), (THIRD[2], k12)]),
            |a, b| a + b,
        );
        let fifth = motion.mean_square(y, &after, &fifth, tolerance);
        let third = motion.mean_square(y, &after, &third, tolerance);
        // A slope that both find free of error has none.
        let scale = fifth + third * 0.01 + f64::MIN_POSITIVE;
        (after, (h * fifth / scale.sqrt()).abs())
    }
}

/// A symplectic step of drifts and kicks: half a drift, a kick, and so on, with these weights in symmetric order.
#[inline(always)]
fn composed<R: Scalar, E: Split<R>, const M: usize>(
    motion: &E,
    h: R,
    y: &E::State,
    weights: [f64; M],
) -> E::State {
    let mut y = *y;
    let mut before = 0.0;
    let mut i = 0;
    while i < M {
        y = motion.drift(h * (0.5 * (before + weights[i])), &y);
        y = motion.kick(h * weights[i], &y);
        before = weights[i];
        i += 1;
    }
    motion.drift(h * (0.5 * before), &y)
}

macro_rules! symplectic {
    ($($(#[$doc:meta])* $name:ident: $weights:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl<R: Scalar, E: Split<R>> Scheme<R, E> for $name {
            const GROWS: Option<f64> = Some(0.5);

            #[inline(always)]
            fn step(motion: &E, _: R, h: R, y: &E::State, _: f64) -> (E::State, R) {
                (composed(motion, h, y, $weights), R::of(0.0))
            }
        }
    )*};
}

/// Coefficients of the symmetric composition of order 8 with 17 stages of Kahan & Li (1997).
pub const ORDER_8: [f64; 17] = [
    0.13020248308889008088,
    0.56116298177510838456,
    -0.38947496264484728641,
    0.15884190655515560090,
    -0.39590389413323757734,
    0.18453964097831570709,
    0.25837438768632204729,
    0.29501172360931029887,
    -0.60550853383003451170,
    0.29501172360931029887,
    0.25837438768632204729,
    0.18453964097831570709,
    -0.39590389413323757734,
    0.15884190655515560090,
    -0.38947496264484728641,
    0.56116298177510838456,
    0.13020248308889008088,
];

/// 1/(2 - 2^(1/3)).
const RUTH: f64 = 1.3512071919596578;

symplectic! {
    /// The leapfrog, of order 2.
    Leapfrog: [1.0];
    /// The method of Forest & Ruth (1990), of order 4.
    ForestRuth: [RUTH, 1.0 - 2.0 * RUTH, RUTH];
    /// The composition of 17 leapfrogs of Kahan & Li (1997), of order 8.
    KahanLi8: ORDER_8;
}

/// The next state of a map.
#[derive(Clone, Copy, Debug)]
pub struct Iteration;

impl<R: Scalar, E: Iterate<R>> Scheme<R, E> for Iteration {
    const GROWS: Option<f64> = Some(1.0);

    #[inline(always)]
    fn step(motion: &E, _: R, _: R, y: &E::State, _: f64) -> (E::State, R) {
        (motion.iterate(y), R::of(0.0))
    }
}

/// 2^(8/q), 2^(4/q), 2^(2/q) and 2^(1/q) for an error that goes with the q-th power of the step, and 0.9^q.
#[inline(always)]
const fn powers(q: u32) -> ([f64; 4], f64) {
    match q {
        8 => (
            [
                2.0,
                core::f64::consts::SQRT_2,
                1.189207115002721,
                1.0905077326652577,
            ],
            0.43046721,
        ),
        _ => (
            [
                3.0314331330207964,
                1.7411011265922482,
                1.3195079107728942,
                1.148698354997035,
            ],
            0.59049,
        ),
    }
}

/// The factor of the next step: (0.9^q / error)^(1/q), rounded down to a power of 2^(1/q) from 2^(-15/q) to 2^(15/q). An error that is not a
/// number shortens the step the most. Only products and comparisons are used, so that all machines choose the same steps.
#[inline(always)]
pub fn factor<R: Scalar>(error: R, q: u32) -> R {
    use crate::Mask as _;
    let (powers, safety) = powers(q);
    let mut error = error / safety;
    let mut factor = R::of(1.0);
    let sizes = [256.0, 16.0, 4.0, 2.0];
    let mut i = 0;
    while i < 4 {
        let shrinks = error.less(R::of(sizes[i] * 0.5)).not();
        // The error of a step that is shortened is at least as large as the powers of two by which it is divided.
        error = R::select(shrinks, error / sizes[i], error);
        factor = R::select(shrinks, factor / powers[i], factor);
        let grows = (error * sizes[i]).less(R::of(1.0));
        error = R::select(grows, error * sizes[i], error);
        factor = R::select(grows, factor * powers[i], factor);
        i += 1;
    }
    factor
}
