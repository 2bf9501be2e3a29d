//! Maps by the regularised integrators: their times of parting are those of an independent integrator, and do not depend on the map's
//! time step.

use std::path::Path;

use kernels_gpu::integrator::{MapIntegrator, Regularised};
use trisolar::divergence::{
    CpuEngine, Engine, Integrator, Quantity, Specification, Unattended, Validated, ValueVec,
};
use trisolar::io::npy;

fn valid(change: impl FnOnce(&mut Specification)) -> Validated {
    let mut specification = Specification {
        size: [24, 24],
        integrator: Integrator::Regularised6,
        ..Specification::default()
    };
    change(&mut specification);
    specification.validate().expect("valid")
}

fn values(spec: &Validated) -> ValueVec {
    let engine = CpuEngine::new(None).expect("threads");
    engine.compute(spec, &Unattended).expect("computes").values
}

fn times(spec: &Validated) -> Vec<f64> {
    let steps: Vec<u32> = values(spec).into().expect("steps");
    let dt = spec.specification().dt;
    steps.iter().map(|n| f64::from(*n) * dt).collect()
}

/// The time after which twins have never parted.
const END: f64 = 50.0;

/// The times of `golden/parting_ias15.py`.
fn ias15() -> Vec<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parting_ias15_24x24.npy");
    let array = npy::read::<u32>(&path).expect("the golden file");
    array.values.iter().map(|n| f64::from(*n) * 0.002).collect()
}

/// The share of right times, within 5 % of the run and within 0.05, of the pixels that part in either.
fn right(found: &[f64], expected: &[f64]) -> [f64; 2] {
    let early = |t: f64| t < END - 5e-4;
    let pairs = found.iter().zip(expected);
    let parted: Vec<f64> = pairs
        .filter(|(f, e)| early(**f) || early(**e))
        .map(|(f, e)| (f - e).abs())
        .collect();
    [0.05 * END, 0.05].map(|most| {
        let right = parted.iter().filter(|off| **off <= most).count();
        right as f64 / parted.len() as f64
    })
}

#[test]
fn times_of_parting_are_those_of_an_independent_integrator() {
    let expected = ias15();
    for integrator in [Integrator::Regularised6, Integrator::Regularised8] {
        let found = right(&times(&valid(|s| s.integrator = integrator)), &expected);
        assert!(
            found[0] >= 0.99 && found[1] >= 0.99,
            "{integrator}: {found:?}"
        );
    }
    // The comparison sees what is wrong.
    let coarse = valid(|s| (s.integrator, s.dt, s.steps) = (Integrator::Leapfrog, 0.01, 5000));
    let found = right(&times(&coarse), &expected);
    assert!(found[0] < 0.9 && found[1] < 0.8, "leapfrog: {found:?}");
}

#[test]
fn the_time_of_parting_does_not_depend_on_the_step_in_which_it_is_counted() {
    let fine = times(&valid(|_| {}));
    let coarse = valid(|s| (s.dt, s.steps) = (0.5, 100));
    let rounded: Vec<f64> = fine.iter().map(|t| (t / 0.5).ceil() * 0.5).collect();
    assert!(fine.iter().filter(|t| **t < END).count() > 100);
    // A time next to a multiple of the step may be counted on either side of it.
    for (found, expected) in times(&coarse).iter().zip(&rounded) {
        assert!((found - expected).abs() <= 0.5, "{found} {expected}");
    }
    let equal = times(&coarse)
        .iter()
        .zip(&rounded)
        .filter(|(a, b)| a == b)
        .count();
    assert!(equal >= rounded.len() - 3, "{equal}");
}

/// Bodies 1 and 2 relative to the grid body after 4 units of time, with this number of steps per period.
fn end<const ORDER: u32>(steps_per_period: f64) -> Vec<f64> {
    let spec = valid(|s| {
        (s.size, s.dt, s.steps) = ([1, 1], 0.5, 8);
        s.steps_per_period = Some(steps_per_period);
    });
    let job = spec.job(0, 1);
    let masses = Regularised::<ORDER>::masses::<f64>(&job.masses);
    let mut state = Regularised::<ORDER>::begin(&job.grid.point(0).start(job.dt), &masses);
    for _ in 0..job.steps {
        Regularised::<ORDER>::step([&mut state], &masses);
    }
    let q = Regularised::<ORDER>::positions(&state);
    [q.a, q.b].iter().flat_map(|v| [v.x, v.y, v.z]).collect()
}

#[test]
fn they_converge_with_their_orders() {
    let exact = end::<8>(400.0);
    let error = |found: Vec<f64>| {
        let pairs = found.iter().zip(&exact);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let slopes = [
        (error(end::<2>(200.0)) / error(end::<2>(800.0))).log2() / 2.0,
        (error(end::<6>(10.0)) / error(end::<6>(40.0))).log2() / 2.0,
        (error(end::<8>(5.0)) / error(end::<8>(10.0))).log2(),
    ];
    // The quintic polynomials between the steps have order 6.
    for (slope, least) in slopes.into_iter().zip([1.7, 5.0, 5.0]) {
        assert!(slope > least, "{slopes:?}");
    }
    assert!(error(end::<6>(40.0)) < 1e-6);
}

#[test]
fn other_quantities_are_those_of_a_short_time_step() {
    let others = Quantity::ALL.iter().filter(|q| !q.has_twins());
    for quantity in others.copied() {
        let of = |integrator, dt: f64| -> Vec<f64> {
            let spec = valid(|s| {
                (s.size, s.quantity, s.integrator) = ([6, 6], quantity, integrator);
                (s.dt, s.steps) = (dt, (8.0 / dt).round() as u64);
            });
            values(&spec).into().expect("f64")
        };
        let found = of(Integrator::Regularised6, 0.002);
        let expected = of(Integrator::RungeKutta4, 0.002);
        for (found, expected) in found.iter().zip(&expected) {
            let off = (found - expected).abs();
            assert!(
                off < 1e-3 * expected.abs().max(0.1),
                "{quantity}: {found} {expected}"
            );
        }
    }
}

#[test]
fn what_they_cannot_integrate_is_refused_with_the_option() {
    let refused = |option: &str, change: fn(&mut Specification)| {
        let mut specification = Specification {
            integrator: Integrator::Regularised6,
            ..Specification::default()
        };
        change(&mut specification);
        let text = specification.validate().expect_err("refused").to_string();
        assert!(text.contains(option), "{text}");
    };
    refused("--softening", |s| s.softening = 0.1);
    refused("--masses", |s| s.masses[1] = 0.0);
    refused("--g ", |s| s.g = -1.0);
    refused("--steps-per-period", |s| s.steps_per_period = Some(4.0));
    refused("--steps-per-period", |s| {
        (s.integrator, s.steps_per_period) = (Integrator::Leapfrog, Some(10.0));
    });
}
