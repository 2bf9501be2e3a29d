//! Equations as text against the same equations in Rust, bit by bit, and against values of other programs.

use trisolar_equation_text::{Equations, Program, Traced, trace};
use trisolar_equations::job::MAX_NUMBERS;
use trisolar_equations::{Column, Exported, Job, Law, Method};
use trisolar_simd::Simd;

#[path = "../../cli/new/double_pendulum.rs"]
mod double_pendulum;
#[path = "../../cli/new/henon_heiles.rs"]
mod henon_heiles;
#[path = "../../cli/new/lorenz.rs"]
mod lorenz;
#[path = "../../cli/new/newton.rs"]
mod newton;
#[path = "../../cli/new/restricted_three_body.rs"]
mod restricted_three_body;

const LORENZ: &str = "x' = sigma*(y-x); y' = x*(rho-z)-y; z' = x*y-beta*z";
const ARENSTORF: &str = "x1 = x + mu; x2 = x + mu - 1; other = -mu + 1
    r1 = x1*x1 + y*y; r2 = x2*x2 + y*y
    f1 = other/(r1*sqrt(r1)); f2 = mu/(r2*sqrt(r2))
    x' = vx; y' = vy
    vx' = x + vy*2 - f1*x1 - f2*x2
    vy' = y - vx*2 - (f1 + f2)*y
    first: -(x1*x1) - y*y + 1e-4 > 0
    second: -(x2*x2) - y*y + 1e-5 > 0
    escapes: x*x + y*y - 100 > 0";
const PENDULUM: &str = "sine = sin(a1 - a2); cosine = cos(a1 - a2); mass = m1 + m2
    share = m1 + m2*sine*sine
    pull1 = g*(m2*sin(a2)*cosine - mass*sin(a1))
    pull2 = g*mass*(sin(a1)*cosine - sin(a2))
    turn1 = m2*sine*(l1*w1*w1*cosine + l2*w2*w2)
    turn2 = sine*(mass*l1*w1*w1 + m2*l2*w2*w2*cosine)
    a1' = w1; a2' = w2; w1' = (pull1 - turn1)/(l1*share); w2' = (pull2 + turn2)/(l2*share)";
const HENON_HEILES: &str = "x' = px; y' = py; px' = -x - x*y*2; py' = -y - x*x + y*y";
const NEWTON: &str = "a = x*x - y*y; b = x*y*2; size = a*a + b*b
    x' = (x*2 + a/size)/3; y' = (y*2 - b/size)/3
    one: -((x - 1)*(x - 1)) - (y - 0)*(y - 0) + 1e-6 > 0
    up: -((x + 0.5)*(x + 0.5)) - (y - 0.8660254037844386)*(y - 0.8660254037844386) + 1e-6 > 0
    down: -((x + 0.5)*(x + 0.5)) - (y + 0.8660254037844386)*(y + 0.8660254037844386) + 1e-6 > 0";

/// A map over two numbers of the start, all columns.
fn job(state: usize, parameters: &[f64], method: Method, tangent: u32) -> Job {
    let fixed = |low| Law {
        low,
        ..Law::default()
    };
    let columns = (1 << (Column::STATE.0 as usize + state)) - 1;
    let chaos = 1 << Column::LYAPUNOV.0 | 1 << Column::MEGNO.0;
    let mut job = Job {
        parameters: [Law::default(); MAX_NUMBERS],
        start: [Law::default(); MAX_NUMBERS],
        seed: 3,
        size: [9, 8],
        steps: 3_000,
        step: if method == Method::ITERATION {
            1.0
        } else {
            0.01
        },
        tolerance: 1e-9,
        begin: 0.0,
        end: if method == Method::ITERATION {
            60.0
        } else {
            5.0
        },
        columns: if tangent == 0 {
            columns & !chaos
        } else {
            columns
        },
        method,
        tangent,
    };
    if !method.is_adaptive() {
        job.steps = (job.end / job.step).round() as u64;
    }
    for (law, value) in job.parameters.iter_mut().zip(parameters) {
        *law = fixed(*value);
    }
    job.start[..state].fill(fixed(1.0));
    let kinds = [Law::COLUMNS, Law::ROWS, Law::UNIFORM];
    for (law, kind) in job.start[..state].iter_mut().zip(kinds) {
        *law = Law {
            kind,
            low: -1.9,
            high: 2.1,
            unused: 0,
        };
    }
    job
}

/// The bits of the columns of the first `count` items.
fn rows(
    count: u64,
    width: usize,
    group: u64,
    mut follow: impl FnMut(u64, &mut dyn FnMut(usize, usize, f64)),
) -> Vec<Vec<u64>> {
    let mut rows = vec![vec![0; width]; count.next_multiple_of(group) as usize];
    for first in (0..count).step_by(group as usize) {
        follow(first, &mut |lane, place, x: f64| {
            rows[first as usize + lane][place] = x.to_bits()
        });
    }
    rows.truncate(count as usize);
    rows
}

fn traced(text: &str, parameters: &[&str], job: &Job) -> Traced {
    trace(&Equations::parse(text, parameters).unwrap(), job)
}

fn of_text(traced: &Traced, job: &Job, simd: Simd, count: u64) -> Vec<Vec<u64>> {
    let program = Program::new(traced);
    let group = trisolar_equation_text::block::LANES as u64;
    let items = |first| -> Vec<u64> { (first..count).take(group as usize).collect() };
    rows(
        count,
        job.columns.count_ones() as usize,
        group,
        |first, write| {
            program.follow(simd, job, &items(first), write);
        },
    )
}

fn same<S: Exported>(text: &str, method: Method) {
    let names = S::PARAMETERS.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names.filter(|name| text.contains(name)).collect();
    let values: Vec<f64> = S::PARAMETERS.iter().map(|(_, value)| *value).collect();
    for tangent in [0, 1] {
        let job = job(S::STATE.len(), &values, method, tangent);
        let traced = traced(text, &names, &job);
        let width = job.columns.count_ones() as usize;
        let expected = rows(72, width, 1, |first, write| {
            S::follow::<f64>(&job, first, write)
        });
        for simd in Simd::available() {
            let found = of_text(&traced, &job, simd, 72);
            for (item, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let numbers = |row: &[u64]| {
                    row.iter()
                        .map(|bits| f64::from_bits(*bits))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    found,
                    expected,
                    "{}, {method:?}, tangent {tangent}, item {item}: {:?} instead of {:?}",
                    S::NAME,
                    numbers(found),
                    numbers(expected)
                );
            }
        }
    }
}

#[test]
fn text_has_the_bits_of_rust() {
    for method in [Method::RK4, Method::TSIT5, Method::DOP853] {
        same::<lorenz::Lorenz>(LORENZ, method);
        same::<restricted_three_body::RestrictedThreeBody>(ARENSTORF, method);
        same::<double_pendulum::DoublePendulum>(PENDULUM, method);
    }
    for method in [Method::LEAPFROG, Method::FOREST_RUTH, Method::KAHAN_LI_8] {
        same::<henon_heiles::HenonHeiles>(HENON_HEILES, method);
    }
    same::<newton::Newton>(NEWTON, Method::ITERATION);
}

/// The columns of one item.
fn item(
    text: &str,
    parameters: &[(&str, f64)],
    start: &[f64],
    method: Method,
    end: f64,
) -> Vec<f64> {
    let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let values: Vec<f64> = parameters.iter().map(|(_, value)| *value).collect();
    let mut job = job(start.len(), &values, method, 1);
    for (law, x) in job.start.iter_mut().zip(start) {
        *law = Law {
            low: *x,
            ..Law::default()
        };
    }
    job.end = end;
    job.steps = 10_000_000;
    job.tolerance = 1e-14;
    let traced = traced(text, &names, &job);
    let row = of_text(&traced, &job, Simd::best(), 1).remove(0);
    row.into_iter().map(f64::from_bits).collect()
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

/// Values of heyoka with 113 bits (Biscani & Izzo 2021): the state, the growth of the tangent vector, and MEGNO.
#[test]
fn items_are_followed_as_by_others() {
    let lorenz = [("sigma", 10.0), ("rho", 28.0), ("beta", 8.0 / 3.0)];
    let found = item(LORENZ, &lorenz, &[1.0; 3], Method::DOP853, 20.0);
    near(
        &found[5..],
        &[
            13.79319960512861883,
            12.95180393618989854,
            34.90160868113514291,
        ],
        1e-7,
    );
    near(
        &[found[3] * 20.0, found[4]],
        &[6.83013546900583204, 9.73357889987118529],
        1e-6,
    );
    let henon = "x' = u; y' = v; u' = -x - 2*x*y; v' = -y - x^2 + y^2";
    let u = (2.0_f64 / 12.0 - 0.09 + 2.0 * 0.027 / 3.0).sqrt();
    let found = item(henon, &[], &[0.0, 0.3, u, 0.0], Method::DOP853, 1000.0);
    near(
        &found[5..],
        &[
            -0.265036332377577738,
            -0.0199154493168138891,
            -0.122118847236235505,
            0.289664283500160350,
        ],
        1e-9,
    );
    near(
        &[found[3] * 1000.0, found[4]],
        &[0.363035663816115924, 0.235285691725824339],
        1e-7,
    );
    let start = [0.994, 0.0, 0.0, -2.00158510637908252240537862224];
    let orbit: String = ARENSTORF
        .split('\n')
        .filter(|line| !line.contains(':'))
        .collect::<Vec<_>>()
        .join("\n");
    let found = item(&orbit, &[("mu", 0.012277471)], &start, Method::DOP853, 5.0);
    near(
        &found[5..],
        &[
            0.0226887836479771232,
            0.866540140171247303,
            -0.117736478640864391,
            -0.421785804162877763,
        ],
        1e-9,
    );
    let pendulum = [
        ("m1", 1.0),
        ("m2", 1.0),
        ("l1", 1.0),
        ("l2", 1.0),
        ("g", 9.81),
    ];
    let found = item(
        PENDULUM,
        &pendulum,
        &[2.0, 2.0, 0.0, 0.0],
        Method::DOP853,
        10.0,
    );
    near(
        &found[5..7],
        &[-0.602162610665853957, -10.5014745157145199],
        1e-8,
    );
}

/// The largest exponent of the Lorenz model is 0.9056 (Sprott 2003). The first 200 units of time lead to the attractor.
#[test]
fn the_lyapunov_exponent_of_lorenz() {
    let growth = |end: f64| {
        let mut job = job(3, &[10.0, 28.0, 8.0 / 3.0], Method::RK4, 1);
        (job.end, job.steps, job.columns) = (end, (end / 0.01) as u64, 1 << Column::LYAPUNOV.0);
        let traced = traced(LORENZ, &["sigma", "rho", "beta"], &job);
        let rows = of_text(&traced, &job, Simd::best(), 64);
        rows.iter().map(|row| f64::from_bits(row[0])).sum::<f64>() / 64.0 * end
    };
    let exponent = (growth(1000.0) - growth(200.0)) / 800.0;
    assert!((exponent - 0.9056).abs() < 0.003, "{exponent}");
}

#[test]
fn lanes_take_items_from_anywhere() {
    use lorenz::Lorenz;
    use trisolar_equations::System as _;
    let names: Vec<&str> = Lorenz::PARAMETERS.iter().map(|(name, _)| *name).collect();
    let values: Vec<f64> = Lorenz::PARAMETERS.iter().map(|(_, x)| *x).collect();
    let job = job(3, &values, Method::TSIT5, 1);
    let traced = traced(LORENZ, &names, &job);
    let width = job.columns.count_ones() as usize;
    let expected = of_text(&traced, &job, Simd::Scalar, 72);
    let items = [70, 2, 41, 3];
    let mut found = vec![vec![0; width]; items.len()];
    Program::new(&traced).follow(Simd::Scalar, &job, &items, &mut |lane, place, x: f64| {
        found[lane][place] = x.to_bits();
    });
    for (item, found) in items.iter().zip(&found) {
        assert_eq!(*found, expected[*item as usize], "item {item}");
    }
}
