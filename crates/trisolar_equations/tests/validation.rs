//! The systems of `trisolar new` against values of other programs: heyoka with 113 bits (Biscani & Izzo 2021), and counts that are known.

use cuda_std::emulator::Launch;
use trisolar_equations::job::{MAX_NUMBERS, NOT_FINITE, STIFF};
use trisolar_equations::{Column, DeviceJob, Exported, Job, Lanes, Law, Method, System as _};

#[path = "../../../host/cli/new/double_pendulum.rs"]
mod double_pendulum;
#[path = "../../../host/cli/new/henon_heiles.rs"]
mod henon_heiles;
#[path = "../../../host/cli/new/lorenz.rs"]
mod lorenz;
#[path = "../../../host/cli/new/magnetic_pendulum.rs"]
mod magnetic_pendulum;
#[path = "../../../host/cli/new/newton.rs"]
mod newton;
#[path = "../../../host/cli/new/restricted_three_body.rs"]
mod restricted_three_body;
#[path = "../../../host/cli/new/standard_map.rs"]
mod standard_map;
#[path = "../../../host/cli/new/three_bodies.rs"]
mod three_bodies;

use double_pendulum::DoublePendulum;
use henon_heiles::HenonHeiles;
use lorenz::Lorenz;
use magnetic_pendulum::MagneticPendulum;
use newton::Newton;
use restricted_three_body::RestrictedThreeBody;
use standard_map::StandardMap;
use three_bodies::ThreeBodies;

fn fixed(low: f64) -> Law {
    Law {
        low,
        ..Law::default()
    }
}

/// One item of a system with its defaults, all columns.
fn job<S: Exported>(method: Method, end: f64) -> Job {
    let mut job = Job {
        parameters: [Law::default(); MAX_NUMBERS],
        start: [Law::default(); MAX_NUMBERS],
        seed: 0,
        size: [1, 1],
        steps: 10_000_000,
        step: S::STEP,
        tolerance: 1e-14,
        begin: 0.0,
        end,
        columns: (1 << (Column::STATE.0 as usize + S::STATE.len())) - 1,
        method,
        tangent: 1,
    };
    for (i, (_, value)) in S::PARAMETERS.iter().enumerate() {
        job.parameters[i] = fixed(*value);
    }
    for (i, (_, value)) in S::STATE.iter().enumerate() {
        job.start[i] = fixed(*value);
    }
    if !method.is_adaptive() {
        let step = if method == Method::ITERATION {
            1.0
        } else {
            S::STEP
        };
        job.steps = (end / step).round() as u64;
        job.step = end / job.steps as f64;
    }
    job
}

/// The columns of the first `count` items.
fn scalar<S: Exported>(job: &Job, count: u64) -> Vec<Vec<f64>> {
    let columns = job.columns.count_ones() as usize;
    let item = |i| {
        let mut row = vec![0.0; columns];
        S::follow::<f64>(job, i, |_, place, number| row[place] = number);
        row
    };
    (0..count).map(item).collect()
}

/// The same by lanes of a CPU.
fn by_lanes<S: Exported>(job: &Job, count: u64) -> Vec<Vec<f64>> {
    let columns = job.columns.count_ones() as usize;
    let mut rows = vec![vec![0.0; columns]; count.next_multiple_of(4) as usize];
    for first in (0..count).step_by(4) {
        S::follow::<Lanes<4>>(job, first, |lane, place, number| {
            rows[first as usize + lane][place] = number;
        });
    }
    rows.truncate(count as usize);
    rows
}

/// The same by the kernel in the emulator of the grid.
fn by_kernel<S: Exported>(job: &Job, count: u64) -> Vec<Vec<f64>> {
    let width = job.columns.count_ones() as usize;
    let mut out = vec![0.0; count as usize * width];
    let arguments = (DeviceJob {
        job,
        out: out.as_mut_ptr(),
        first: 0,
        count: count as u32,
        width: width as u32,
    },);
    let kernel = S::entry(job).code().exported.expect("it is exported");
    let launch = Launch::new((count as u32).div_ceil(32), 32);
    // SAFETY: `out` has room for the columns of all items.
    unsafe { launch.run_exported(&kernel, (&raw const arguments).cast()) }.unwrap();
    out.chunks(width).map(<[f64]>::to_vec).collect()
}

/// ln |d(t)|, MEGNO and the state.
fn values<S: Exported>(job: &Job) -> (f64, f64, Vec<f64>) {
    let row = scalar::<S>(job, 1).remove(0);
    assert_eq!(row[0], 0.0, "{row:?}");
    assert_eq!(row[1], job.end);
    (row[3] * job.end, row[4], row[5..].to_vec())
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], within: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < within,
            "{found} instead of {expected}"
        );
    }
}

#[test]
fn lorenz_is_followed_as_by_others() {
    // Errors grow by e^L, and the last of these by 2e7.
    for (end, state, chaos, within) in [
        (
            10.0,
            [
                -4.902687541134645732,
                -3.743872921802919616,
                24.69085810279055545,
            ],
            [0.563947920606865480, 0.0286040712624095389],
            1e-11,
        ),
        (
            20.0,
            [
                13.79319959512861883,
                12.95180393618989854,
                34.90160868113514291,
            ],
            [6.83013546900583204, 9.73357889987118529],
            2e-10,
        ),
        (
            30.0,
            [
                7.394985523949071346,
                2.051642562928770062,
                31.76107506496638549,
            ],
            [16.8845619116363504, 22.8844455090222302],
            1e-5,
        ),
    ] {
        let (l, megno, x) = values::<Lorenz>(&job::<Lorenz>(Method::DOP853, end));
        near(&x, &state, within);
        near(&[l, megno], &chaos, within);
    }
}

#[test]
fn orders_are_as_named() {
    // The error at t = 10 with a step and with half of it.
    let state = [
        -4.902687541134645732,
        -3.743872921802919616,
        24.69085810279055545,
    ];
    let error = |change: &dyn Fn(&mut Job)| {
        let mut job = job::<Lorenz>(Method::RK4, 10.0);
        change(&mut job);
        let (_, _, x) = values::<Lorenz>(&job);
        (0..3)
            .map(|k| (x[k] - state[k]).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let rk4 = |steps: u64| {
        error(&|job| {
            job.steps = steps;
            job.step = 10.0 / steps as f64;
        })
    };
    let order = (rk4(8000) / rk4(16000)).log2();
    assert!((order - 4.0).abs() < 0.5, "{order}");
    for method in [Method::TSIT5, Method::DOP853] {
        let with = |tolerance: f64| {
            error(&|job| {
                job.method = method;
                job.tolerance = tolerance;
                job.steps = 1_000_000;
            })
        };
        let [coarse, fine] = [with(1e-7), with(1e-10)];
        assert!(
            coarse < 1e-2 && fine < 1e-5 && fine < coarse / 50.0,
            "{coarse} {fine}"
        );
    }
    // The symplectic ones, by the energy: the tangent vector does not change the path.
    let energy = |method: Method, steps: u64| {
        let mut job = job::<HenonHeiles>(method, 50.0);
        job.steps = steps;
        job.step = 50.0 / steps as f64;
        job.start[1] = fixed(0.3);
        job.parameters[0] = fixed(1.0 / 12.0);
        let (_, _, state) = values::<HenonHeiles>(&job);
        let [x, y, px, py] = state[..] else {
            panic!("four numbers")
        };
        let energy = (px * px + py * py + x * x + y * y) / 2.0 + x * x * y - y * y * y / 3.0;
        (energy - 1.0 / 12.0).abs()
    };
    for (method, steps, expected) in [
        (Method::LEAPFROG, 1000, 2.0),
        (Method::FOREST_RUTH, 1000, 4.0),
        (Method::KAHAN_LI_8, 125, 8.0),
    ] {
        let order = (energy(method, steps) / energy(method, 2 * steps)).log2();
        assert!((order - expected).abs() < 0.6, "{method:?}: {order}");
    }
}

#[test]
fn henon_heiles_is_followed_as_by_others() {
    let regular = [
        -0.265036332377577738,
        -0.0199154493168138891,
        -0.122118847236235505,
        0.289664283500160350,
    ];
    let chaotic = [
        0.0783593191469368792,
        -0.358501035098802245,
        0.0873418046403412853,
        -0.285295766056080679,
    ];
    for (energy, y, end, state, chaos, within) in [
        (
            1.0 / 12.0,
            0.3,
            1000.0,
            regular,
            [0.363035663816115924, 0.235285691725824339],
            [1e-10, 1e-6],
        ),
        (
            1.0 / 8.0,
            -0.25,
            500.0,
            chaotic,
            [21.9539804457905875, 19.6796653467743097],
            [2e-5, 0.03],
        ),
    ] {
        for method in [Method::DOP853, Method::KAHAN_LI_8] {
            let mut job = job::<HenonHeiles>(method, end);
            job.parameters[0] = fixed(energy);
            job.start[1] = fixed(y);
            if method == Method::KAHAN_LI_8 {
                job.steps *= 2;
                job.step /= 2.0;
            }
            let (l, megno, x) = values::<HenonHeiles>(&job);
            near(&x, &state, within[0]);
            near(&[l, megno], &chaos, within[1]);
        }
    }
}

#[test]
fn an_orbit_of_arenstorf_and_a_double_pendulum() {
    let mut orbit = job::<RestrictedThreeBody>(Method::DOP853, 5.0);
    orbit.tangent = 0;
    let (_, _, x) = values::<RestrictedThreeBody>(&orbit);
    let state = [
        0.0226887836479771232,
        0.866540140171247303,
        -0.117736478640864391,
        -0.421785804162877763,
    ];
    near(&x, &state, 1e-12);
    orbit.end = RestrictedThreeBody::END;
    let (_, _, x) = values::<RestrictedThreeBody>(&orbit);
    // It closes; errors grow a millionfold.
    near(&x, &[0.994, 0.0, 0.0, -2.00158510637908252], 5e-10);
    for (end, angles, within) in [
        (5.0, [-1.41070668894158426, -4.04171687887718969], 1e-12),
        (10.0, [-0.602162610665853957, -10.5014745157145199], 2e-11),
    ] {
        let (_, _, x) = values::<DoublePendulum>(&job::<DoublePendulum>(Method::DOP853, end));
        near(&x[..2], &angles, within);
    }
}

#[test]
fn three_bodies_fall_as_in_twice_the_precision() {
    let mut job = job::<ThreeBodies>(Method::DOP853, 8.0);
    job.tangent = 0;
    let (_, _, x) = values::<ThreeBodies>(&job);
    // Errors grow by e^15.
    near(&x, &[4.31876797140383003044, 0.615039026757203787324], 1e-6);
    near(
        &x[4..],
        &[-8.55381107374162029413, -0.571101514501700654843],
        1e-6,
    );
    // Then it leaves the other two.
    job.end = 50.0;
    job.tolerance = 1e-10;
    assert_eq!(scalar::<ThreeBodies>(&job, 1)[0][0], 3.0);
}

/// A map of the plane with this many columns and rows.
fn plane<S: Exported>(
    method: Method,
    end: f64,
    axes: [usize; 2],
    low: f64,
    high: f64,
    n: u64,
) -> Job {
    let mut job = job::<S>(method, end);
    job.size = [n, n];
    for (axis, kind) in axes.into_iter().zip([Law::COLUMNS, Law::ROWS]) {
        job.start[axis] = Law {
            kind,
            low,
            high,
            ..Law::default()
        };
    }
    job
}

#[test]
fn roots_that_newton_finds_are_counted() {
    // The centres of 1000 x 1000 pixels of [-2, 2] x [-2, 2].
    let mut job = plane::<Newton>(Method::ITERATION, 200.0, [0, 1], -1.998, 2.002, 1000);
    job.tangent = 0;
    job.columns = 1 << Column::OUTCOME.0;
    let mut counts = [0; 4];
    for row in by_lanes::<Newton>(&job, 1_000_000) {
        counts[row[0] as usize] += 1;
    }
    assert_eq!(counts, [0, 352_806, 323_597, 323_597]);
}

#[test]
fn the_standard_map_is_chaotic_where_it_is_known_to_be() {
    // Near the unstable fixed point with k = 6 the exponent is about ln(k/2) (Chirikov 1979).
    let mut job = job::<StandardMap>(Method::ITERATION, 100_000.0);
    job.parameters[0] = fixed(6.0);
    job.start[0] = fixed(0.1);
    let (l, megno, _) = values::<StandardMap>(&job);
    assert!((l / 1e5 - 3.0_f64.ln()).abs() < 0.05, "{l}");
    // MEGNO of chaos grows as the exponent times the time.
    assert!((megno / l - 1.0).abs() < 0.05, "{megno}");
    // That of a regular orbit stays near 2 for ever.
    job.parameters[0] = fixed(0.5);
    job.start = [fixed(1.5); MAX_NUMBERS];
    job.start[1] = fixed(0.0);
    let (_, megno, _) = values::<StandardMap>(&job);
    assert!((megno - 2.0).abs() < 1.5, "{megno}");
}

#[track_caller]
fn same<S: Exported>(job: &Job, count: u64) {
    let bits =
        |rows: Vec<Vec<f64>>| -> Vec<u64> { rows.concat().iter().map(|x| x.to_bits()).collect() };
    let expected = bits(scalar::<S>(job, count));
    assert!(
        bits(by_lanes::<S>(job, count)) == expected,
        "{:?}: lanes",
        job.method
    );
    assert!(
        bits(by_kernel::<S>(job, count)) == expected,
        "{:?}: kernel",
        job.method
    );
}

#[test]
fn scalar_code_lanes_and_kernels_have_the_same_bits() {
    for tangent in [0, 1] {
        for &method in Lorenz::KIND.methods() {
            let mut job = plane::<Lorenz>(method, 2.0, [0, 2], -20.0, 20.0, 6);
            job.tangent = tangent;
            same::<Lorenz>(&job, 36);
        }
        for &method in HenonHeiles::KIND.methods() {
            let mut job = plane::<HenonHeiles>(method, 5.0, [1, 3], -0.6, 0.6, 6);
            job.tangent = tangent;
            same::<HenonHeiles>(&job, 36);
        }
        let mut job = plane::<RestrictedThreeBody>(Method::DOP853, 3.0, [0, 1], -1.2, 1.2, 6);
        job.tangent = tangent;
        job.tolerance = 1e-8;
        job.parameters[0] = Law {
            kind: Law::UNIFORM,
            low: 0.01,
            high: 0.3,
            ..Law::default()
        };
        same::<RestrictedThreeBody>(&job, 36);
        let mut job = plane::<DoublePendulum>(Method::TSIT5, 1.0, [0, 1], -3.0, 3.0, 6);
        job.tangent = tangent;
        job.tolerance = 1e-8;
        same::<DoublePendulum>(&job, 36);
        let mut job = plane::<MagneticPendulum>(Method::DOP853, 30.0, [0, 1], -1.5, 1.5, 6);
        job.tangent = tangent;
        job.tolerance = 1e-8;
        same::<MagneticPendulum>(&job, 36);
        let mut job = plane::<ThreeBodies>(Method::TSIT5, 1.0, [4, 5], 0.2, 0.8, 4);
        job.tangent = tangent;
        job.tolerance = 1e-8;
        same::<ThreeBodies>(&job, 16);
        let mut job = plane::<StandardMap>(Method::ITERATION, 50.0, [0, 1], 0.0, 6.0, 6);
        job.tangent = tangent;
        same::<StandardMap>(&job, 36);
    }
}

#[test]
fn what_cannot_be_followed_is_flagged() {
    let outcome = |job: &Job| scalar::<RestrictedThreeBody>(job, 1)[0][0];
    // On the first body at the start: the outcome comes first.
    let mut on = job::<RestrictedThreeBody>(Method::DOP853, 1.0);
    on.start[0] = fixed(-0.012277471);
    assert_eq!(outcome(&on), 1.0);
    let mut nan = job::<RestrictedThreeBody>(Method::DOP853, 1.0);
    nan.start[0] = fixed(f64::NAN);
    assert_eq!(outcome(&nan), NOT_FINITE);
    let mut few = job::<RestrictedThreeBody>(Method::DOP853, 1.0);
    few.steps = 3;
    assert_eq!(outcome(&few), STIFF);
    let mut newton = job::<Newton>(Method::ITERATION, 5.0);
    newton.start = [fixed(0.0); MAX_NUMBERS];
    assert_eq!(scalar::<Newton>(&newton, 1)[0][0], NOT_FINITE);
}
