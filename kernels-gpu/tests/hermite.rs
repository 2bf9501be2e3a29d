//! Checks Hermite forces, predictor and corrector against their definitions.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::hermite::correct::correct;
use kernels_gpu::hermite::predict::predict;
use kernels_gpu::hermite::step::{Power, criterion, power, quantised};
use kernels_gpu::hermite::{TERMS, Taylor};
use kernels_gpu::physics::pair::{potential, separation};
use kernels_gpu::physics::softening::softening2;
use kernels_gpu::physics::summation::partial_sums::{fold, partial_sums, terms};
use proptest::prelude::*;

fn vec3(a: [f64; 3]) -> Vec3<f64> {
    Vec3 {
        x: a[0],
        y: a[1],
        z: a[2],
    }
}

fn largest(v: Vec3<f64>) -> f64 {
    v.x.abs().max(v.y.abs()).max(v.z.abs())
}

const ZERO: Vec3<f64> = Vec3 {
    x: 0.0,
    y: 0.0,
    z: 0.0,
};

/// Acceleration and derivatives, after `t`, of the first body on its polynomial, due to two bodies on theirs.
fn forces_at(bodies: &[Taylor<f64>; 3], t: f64, eps: f64) -> [Vec3<f64>; 4] {
    let at = bodies
        .each_ref()
        .map(|x| predict::<f64, 8, 4>(&std::array::from_fn(|k| x[k]), t));
    let mut sum = [ZERO; 4];
    for (j, mass) in [(1, 0.7), (2, 1.9)] {
        Plain::<f64>::pull(&at[0], &at[j], mass, softening2(eps), &mut sum);
    }
    sum
}

/// The derivative of `f` at 0, by central differences that are extrapolated three times.
fn derivative(f: impl Fn(f64) -> Vec3<f64>) -> Vec3<f64> {
    let d = |h: f64| {
        let (p, m) = (f(h), f(-h));
        vec3([p.x - m.x, p.y - m.y, p.z - m.z].map(|x| x / (2.0 * h)))
    };
    let mix = |fine: Vec3<f64>, coarse: Vec3<f64>, k: f64| {
        let m = |a: f64, b: f64| (k * a - b) / (k - 1.0);
        vec3([
            m(fine.x, coarse.x),
            m(fine.y, coarse.y),
            m(fine.z, coarse.z),
        ])
    };
    let [a, b, c] = [0.016, 0.008, 0.004].map(d);
    mix(mix(c, b, 4.0), mix(b, a, 4.0), 16.0)
}

#[test]
fn jerk_snap_and_crackle_are_derivatives_of_the_acceleration() {
    for eps in [0.0, 0.1] {
        let body = |seed: f64| -> Taylor<f64> {
            std::array::from_fn(|k| {
                let s = |i: f64| ((seed + 1.3 * i + k as f64) * 2.7).sin();
                if k < 8 {
                    vec3([s(0.0), s(1.0), s(2.0)])
                } else {
                    ZERO
                }
            })
        };
        let bodies = [body(0.1), body(4.2), body(9.9)];
        let now = forces_at(&bodies, 0.0, eps);
        for k in 0..3 {
            let numeric = derivative(|t| forces_at(&bodies, t, eps)[k]);
            let (error, size) = (largest(numeric - now[k + 1]), largest(now[k + 1]));
            assert!(
                error < 1e-7 * size.max(1.0),
                "derivative {k}, eps {eps}: {error:e} of {size:e}"
            );
        }
    }
}

#[test]
fn the_acceleration_is_the_slope_of_the_potential() {
    let (j, eps2) = (vec3([0.3, -0.4, 0.9]), softening2(0.05));
    let at = vec3([0.1, 0.2, -0.1]);
    let slope = |e: Vec3<f64>| {
        derivative(|h| {
            vec3([
                potential(1.7, separation::<f64, 3>(at.add_scaled(h, e), j, eps2).1),
                0.0,
                0.0,
            ])
        })
        .x
    };
    let mut sum = [ZERO; 2];
    Plain::<f64>::pull(&[at, ZERO], &[j, ZERO], 1.7, eps2, &mut sum);
    let numeric =
        vec3([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|e| -slope(vec3(e))));
    assert!(largest(numeric - sum[0]) < 1e-9);
}

#[test]
fn a_body_does_not_pull_itself() {
    for eps in [0.0, 0.25] {
        let b = [
            vec3([0.3, -0.2, 0.1]),
            vec3([1.0, 2.0, 3.0]),
            vec3([-4.0, 1.0, 2.0]),
            vec3([9.0; 3]),
        ];
        let mut sum = [vec3([1.0, 2.0, 3.0]); 4];
        Plain::<f64>::pull(&b, &b, 5.0, softening2(eps), &mut sum);
        assert_eq!(sum, [vec3([1.0, 2.0, 3.0]); 4]);
    }
}

/// The polynomial Σ xₖ tᵏ/k! of degree `degree` and its derivatives at `t`.
fn polynomial(coefficients: &[[f64; 3]], degree: usize, t: f64) -> Taylor<f64> {
    std::array::from_fn(|d| {
        let mut sum = [0.0; 3];
        let mut term = 1.0;
        for (k, c) in coefficients.iter().enumerate().take(degree + 1).skip(d) {
            if k > d {
                term *= t / (k - d) as f64;
            }
            for (sum, c) in sum.iter_mut().zip(c) {
                *sum += c * term;
            }
        }
        vec3(sum)
    })
}

/// A force whose time dependence is a polynomial of degree p - 1 must be integrated without error.
fn corrector_is_exact<const D: usize>(c: &[[f64; 3]], dt: f64) {
    let degree = 2 * D + 1;
    let start = polynomial(c, degree, 0.0);
    let end = polynomial(c, degree, dt);
    let forces = std::array::from_fn::<_, D, _>(|d| end[2 + d]);
    let got = correct::<f64, D>(&start, &forces, dt / 2.0, 2.0 / dt);
    for k in 0..TERMS {
        if k == 0 {
            continue; // its interpolant has one degree less: see below
        }
        let error = largest(got[k] - if k <= degree { end[k] } else { ZERO });
        let noise = 1e-12 * (2.0 / dt).powi((k as i32 - 2).max(0)).max(1.0) * 40.0;
        assert!(error <= noise, "order {}, term {k}: {error:e}", 2 * D);
    }
}

/// If the force has one degree less, the position must be exact as well.
fn position_is_exact<const D: usize>(c: &[[f64; 3]], dt: f64) {
    let degree = 2 * D;
    let start = polynomial(c, degree, 0.0);
    let end = polynomial(c, degree, dt);
    let forces = std::array::from_fn::<_, D, _>(|d| end[2 + d]);
    let got = correct::<f64, D>(&start, &forces, dt / 2.0, 2.0 / dt);
    assert!(largest(got[0] - end[0]) < 1e-13, "order {}", 2 * D);
}

proptest! {
    #[test]
    fn the_corrector_is_exact_up_to_its_degree(
        c in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), TERMS),
        dt in 0.05..1.0f64,
    ) {
        corrector_is_exact::<2>(&c, dt);
        corrector_is_exact::<3>(&c, dt);
        corrector_is_exact::<4>(&c, dt);
        position_is_exact::<2>(&c, dt);
        position_is_exact::<3>(&c, dt);
        position_is_exact::<4>(&c, dt);
    }

    #[test]
    fn the_predictor_is_the_taylor_polynomial(
        c in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), TERMS),
        dt in -1.0..1.0f64,
    ) {
        let c: Vec<[f64; 3]> = c;
        let x = polynomial(&c, TERMS - 1, 0.0);
        let check = |got: &[Vec3<f64>], p: usize| {
            let truth = polynomial(&c, p - 1, dt);
            got.iter().zip(&truth).all(|(a, b)| largest(*a - *b) < 1e-14)
        };
        prop_assert!(check(&predict::<f64, 4, 2>(&std::array::from_fn(|k| x[k]), dt), 4));
        prop_assert!(check(&predict::<f64, 6, 3>(&std::array::from_fn(|k| x[k]), dt), 6));
        prop_assert!(check(&predict::<f64, 8, 4>(&std::array::from_fn(|k| x[k]), dt), 8));
    }

    #[test]
    fn quantised_steps_are_the_longest_powers_of_two_allowed(dt in 1e-9..4.0f64, n in 1..6u32) {
        let allowed = Power { value: dt.powi(2 * n as i32), exponent: 2 * n };
        let step = quantised(allowed, 0.0625, 2f64.powi(-40));
        prop_assert_eq!(step, 2f64.powf(step.log2().round()));
        prop_assert!(step <= dt * (1.0 + 1e-12) && (step == 0.0625 || 2.0 * step > dt * (1.0 - 1e-12)));
    }
}

#[test]
fn quantised_steps_are_those_of_halving_from_the_longest() {
    let plain = |allowed: Power, longest: f64, shortest: f64| {
        let mut step = longest;
        while step > shortest && power(step, allowed.exponent) > allowed.value {
            step *= 0.5;
        }
        step
    };
    let mut values = vec![0.0, -0.0, -1.0, 5e-324, f64::MAX, f64::INFINITY, f64::NAN];
    for exponent in -1074..1024 {
        let two = 2.0 * 2f64.powi(exponent - 1);
        values.extend([two.next_down(), two, two.next_up(), 1.4 * two]);
    }
    for value in values {
        for exponent in [1, 2, 3, 4, 6, 10] {
            let allowed = Power { value, exponent };
            for longest in [4.0, 1.0, 0.0625, 1e-9f64.log2().floor().exp2()] {
                for shortest in [0.0, 2f64.powi(-40), 1e-9, 0.0625, 0.3, 8.0] {
                    assert_eq!(
                        quantised(allowed, longest, shortest),
                        plain(allowed, longest, shortest),
                        "{value:e} {exponent} {longest:e} {shortest:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_general_criterion_at_order_4_is_aarseths() {
    let x: Taylor<f64> = std::array::from_fn(|k| vec3([1.0 + k as f64, 0.5, -(k as f64)]));
    let n = |k: usize| x[k].norm2_plus(0.0).sqrt();
    let aarseth = 0.02 * (n(2) * n(4) + n(3) * n(3)) / (n(3) * n(5) + n(4) * n(4));
    let general = criterion(4, &x, 0.02f64.sqrt());
    assert_eq!(general.exponent, 2);
    assert!((general.value / aarseth - 1.0).abs() < 1e-14);
    // A particle on which no force acts takes the longest step.
    assert_eq!(
        quantised(criterion(8, &[ZERO; TERMS], 0.1), 0.25, 1e-9),
        0.25
    );
}

#[test]
fn every_body_has_its_place_in_the_order_of_summation() {
    assert_eq!(
        [1, 127, 128, 1024, 8191, 65536, 1 << 20].map(partial_sums),
        [8, 8, 16, 128, 128, 2048, 2048]
    );
    for n in [1, 3, 9, 128, 1000, 1024, 5000, 8192, 20_000, 65_537] {
        let (g, t) = (partial_sums(n), terms(n));
        assert!(g.is_power_of_two() && g * t >= n && g * (t - 1) < n);
    }
    assert_eq!(fold(&mut [1.0, 2.0, 3.0, 4.0]), (1.0 + 3.0) + (2.0 + 4.0));
}
