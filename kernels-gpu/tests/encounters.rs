//! Physics of the regularised integrator, one encounter at a time on one lane.

use kernels_gpu::encounters::lanes::{Runs, integrate};
use kernels_gpu::encounters::start::{BodiesStart, Law, Plan, Setup, Start};
use kernels_gpu::encounters::step::{ORDER_6, ORDER_8, Pairs, stages};
use kernels_gpu::encounters::{Outcome, Record, Settings};

/// Some runs one after the other.
struct Starts {
    left: Vec<Start>,
    ended: Vec<(Record, Pairs<f64>)>,
}

impl Runs for Starts {
    fn next(&mut self) -> Option<u64> {
        (!self.left.is_empty()).then_some(0)
    }
    fn start(&mut self, _: u64) -> Start {
        self.left.remove(0)
    }
    fn ended(&mut self, _: u64, record: &Record, state: &Pairs<f64>) {
        self.ended.push((*record, *state));
    }
}

fn run(starts: Vec<Start>, settings: &Settings, order: &[f64]) -> Vec<(Record, Pairs<f64>)> {
    let (table, count) = stages(order);
    let mut runs = Starts {
        left: starts,
        ended: Vec::new(),
    };
    integrate::<f64, _>(settings, &table[..count], &mut runs);
    runs.ended
}

/// Burrau's problem (1913): masses 3, 4, 5 at rest at the corners of a right-angled triangle.
fn burrau() -> BodiesStart {
    BodiesStart {
        positions: [[1.0, 3.0, 0.0], [-2.0, -1.0, 0.0], [1.0, -1.0, 0.0]],
        velocities: [[0.0; 3]; 3],
        masses: [3.0, 4.0, 5.0],
    }
}

/// Places of the bodies relative to their centre of mass, in the user's units.
fn positions(start: &Start, s: &Pairs<f64>) -> [[f64; 3]; 3] {
    let m = &start.masses;
    let length = |p: usize, k: usize| m.length[p] * s.x[p][k] * start.length;
    std::array::from_fn(|body| {
        std::array::from_fn(|k| {
            // From body 1: the others are at pairs 0 and 2.
            let of = [0.0, length(0, k), length(2, k)];
            let centre: f64 = (0..3).map(|i| m.fractions[i] * of[i]).sum();
            of[body] - centre
        })
    })
}

#[test]
fn burraus_problem_is_solved_to_its_escape() {
    let start = Start::new(&burrau());
    let settings = Settings {
        max_time: 60.0,
        ..Settings::new(200.0)
    };
    let [(record, state)] = run(vec![start], &settings, &ORDER_8)[..] else {
        panic!("one run")
    };
    println!("{record:?} {:?}", positions(&start, &state));
    let settings = Settings::new(200.0);
    let [(record, _)] = run(vec![start], &settings, &ORDER_8)[..] else {
        panic!("one run")
    };
    println!("{record:?}");
}

#[test]
fn trani() {
    let mut plan = Plan {
        setup: Setup::BINARY_SINGLE.0,
        seed: 7,
        size: [1, 1],
        ..Plan::default()
    };
    let fixed = |x: f64| Law {
        low: x,
        high: x,
        ..Law::default()
    };
    let pi = std::f64::consts::PI;
    let uniform = |x: f64| Law {
        kind: Law::UNIFORM,
        unused: 0,
        low: 0.0,
        high: x,
    };
    plan.laws = [
        fixed(15.0),
        fixed(17.5),
        fixed(12.5),
        fixed(5.0),
        fixed(0.0),
        uniform(pi),
        fixed(0.0),
        fixed(1.5 * pi),
        uniform(2.0 * pi),
        fixed(100.0),
        fixed(-1.0),
        fixed(0.0),
    ];
    let n = 3000;
    for jump in [0.0, 20.0, 31.6] {
        let settings = Settings {
            jump_radius: jump,
            max_steps: 400_000,
            ..Settings::new(50.0)
        };
        let starts = (0..n).map(|i| Start::new(&plan.bodies(i))).collect();
        let t = std::time::Instant::now();
        let all = run(starts, &settings, &ORDER_6);
        let s = t.elapsed().as_secs_f64();
        let count = |f: &dyn Fn(&Record) -> bool| {
            100.0 * all.iter().filter(|(r, _)| f(r)).count() as f64 / n as f64
        };
        let steps: f64 = all.iter().map(|(r, _)| r.steps as f64).sum();
        println!(
            "jump {jump}: {s} s, {:.3e} kicks/s, {:.3e} kicks",
            steps * 9.0 / s,
            steps * 9.0 / n as f64
        );
        for b in 0..3 {
            println!(
                "  body {b}: {}",
                count(&|r| r.outcome == Outcome::ESCAPE.0 && r.body == b)
            );
        }
        for o in Outcome::ALL {
            println!("  {o:?} {}", count(&|r| r.outcome == o.0));
        }
        println!(
            "  before 60 years {}",
            count(&|r| r.outcome == 0 && r.time < 60.0 * 2.0 * pi)
        );
        for e in [1e-10, 1e-9, 1e-8, 1e-7, 1e-6] {
            println!("  dE > {e}: {}", count(&|r| !(r.energy_error.abs() <= e)));
        }
    }
    println!(
        "{:?}",
        &run(
            vec![Start::new(&plan.bodies(0)), Start::new(&plan.bodies(2))],
            &Settings {
                jump_radius: 20.0,
                ..Settings::new(50.0)
            },
            &ORDER_6
        )[..]
    );
}
