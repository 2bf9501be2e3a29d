//! All engines give the same bits for the same run, and correct ones.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use trisolar::bodies::{DVec3, numbers};
use trisolar::divergence::Unattended;
use trisolar::nbody::{
    Bodies, CpuEngine, DeviceEngine, Engine, Integrator, LaunchPlan, Model, NbodyKernel, Precision,
    Ranks, Schedule, Solver, Specification, Validated,
};
use trisolar::simd::Simd;

fn plummer(n: usize) -> Bodies {
    Model::Plummer.build(Some(n), 7, 1.0, 3).unwrap()
}

fn problem(bodies: Bodies, change: impl FnOnce(&mut Specification)) -> Validated {
    let mut spec = Specification {
        softening: 0.01,
        steps: 3,
        ..Specification::default()
    };
    change(&mut spec);
    spec.validate(bodies).unwrap()
}

fn run(engine: &dyn Engine, problem: &Validated) -> Bodies {
    let mut run = engine.start(problem, problem.bodies()).unwrap();
    run.advance(problem.specification().steps, &Unattended)
        .unwrap();
    run.bodies().unwrap()
}

fn scalar(problem: &Validated) -> Bodies {
    run(
        &CpuEngine::with_simd(Some(1), Schedule::Dynamic, Simd::Scalar).unwrap(),
        problem,
    )
}

/// Positions and velocities.
fn all_numbers(bodies: &Bodies) -> Vec<f64> {
    [numbers(&bodies.position), numbers(&bodies.velocity)].concat()
}

fn bits(bodies: &Bodies) -> Vec<u64> {
    all_numbers(bodies).iter().map(|x| x.to_bits()).collect()
}

/// Sizes near those of vectors, tiles, rows, blocks and chunks.
const SIZES: [usize; 12] = [1, 2, 3, 8, 31, 33, 127, 128, 129, 300, 513, 1111];

#[test]
fn lanes_threads_and_schedules_do_not_change_a_bit() {
    for n in SIZES {
        for (solver, softening) in [
            (Solver::Basic, 0.0),
            (Solver::Reduced, 0.0),
            (Solver::Basic, 0.01),
            (Solver::Reduced, 0.01),
        ] {
            let problem = problem(plummer(n), |s| {
                s.solver = solver;
                s.softening = softening;
            });
            let expected = bits(&scalar(&problem));
            for simd in Simd::available() {
                for (schedule, threads) in [
                    (Schedule::Dynamic, 1),
                    (Schedule::Dynamic, 3),
                    (Schedule::Block, 2),
                    (Schedule::Cyclic, 5),
                ] {
                    let engine = CpuEngine::with_simd(Some(threads), schedule, simd).unwrap();
                    assert!(
                        bits(&run(&engine, &problem)) == expected,
                        "{n} {solver} {softening} {simd} {schedule} {threads}"
                    );
                }
            }
        }
    }
}

/// A Plummer sphere with different masses, some of which are 0. Some pairs are far closer and some bodies far more distant than
/// the range in which weights are computed side by side.
fn extremes(n: usize) -> Bodies {
    let mut bodies = plummer(n);
    for i in 0..n {
        bodies.mass[i] *= (i % 7) as f64;
    }
    for i in (0..n.saturating_sub(140)).step_by(97) {
        bodies.position[i + 139] = bodies.position[i] + 1e-12;
        bodies.position[i + 50] *= 1e11;
    }
    bodies
}

#[test]
fn any_masses_and_distances_have_the_same_bits_in_all_lanes_and_kernels() {
    for n in [130, 300, 513] {
        for (kernel, solver) in [
            (NbodyKernel::Tile1, Solver::Basic),
            (NbodyKernel::Reduced, Solver::Reduced),
        ] {
            let problem = problem(extremes(n), |s| {
                s.solver = solver;
                s.softening = 0.0;
                s.steps = 2;
            });
            let engine = DeviceEngine::emulated(LaunchPlan::new(kernel), None);
            let expected = bits(&run(&engine, &problem));
            for simd in Simd::available() {
                let engine = CpuEngine::with_simd(Some(1), Schedule::Dynamic, simd).unwrap();
                assert!(
                    bits(&run(&engine, &problem)) == expected,
                    "{n} {solver} {simd}"
                );
            }
        }
    }
}

#[test]
fn two_dimensions_give_the_bits_of_three_with_z_zero() {
    for n in [3, 200, 300] {
        for solver in Solver::ALL {
            let bodies = Model::Cube {
                half_width: 1.0,
                speed: 0.1,
                mass: [0.0, 1.0],
                whole_masses: false,
            }
            .build(Some(n), 3, 1.0, 2)
            .unwrap();
            let flat = problem(bodies.clone(), |s| {
                s.dimensions = 2;
                s.solver = *solver;
            });
            let space = problem(bodies, |s| s.solver = *solver);
            let engine = CpuEngine::new(Some(1), Schedule::Dynamic).unwrap();
            assert_eq!(bits(&run(&engine, &flat)), bits(&run(&engine, &space)));
        }
    }
}

#[test]
fn emulated_kernels_and_the_cpu_agree_bit_for_bit() {
    for n in [1, 2, 33, 128, 300, 513] {
        for kernel in NbodyKernel::ALL
            .into_iter()
            .filter(|k| k.is_deterministic())
        {
            let softening = if n == 300 { 0.0 } else { 0.02 };
            let problem = problem(plummer(n), |s| {
                s.solver = if kernel.is_reduced() {
                    Solver::Reduced
                } else {
                    Solver::Basic
                };
                s.softening = softening;
                s.steps = 1;
            });
            let expected = bits(&scalar(&problem));
            for (block, splits, rows, seed) in [
                (128, 1, u32::MAX, None),
                (32, 2, 1, Some(1)),
                (64, 9, 2, Some(2)),
                (96, 3, 3, None),
            ] {
                let plan = LaunchPlan {
                    kernel,
                    block,
                    splits,
                    rows,
                };
                let engine = DeviceEngine::emulated(plan, seed);
                assert!(
                    bits(&run(&engine, &problem)) == expected,
                    "{n} {plan:?} {seed:?}"
                );
            }
        }
    }
}

#[test]
fn many_steps_in_one_launch_give_the_bits_of_single_steps() {
    for integrator in Integrator::of_any_bodies() {
        for (n, solver) in [
            (6, Solver::Basic),
            (300, Solver::Basic),
            (100, Solver::Reduced),
        ] {
            let problem = problem(plummer(n), |s| {
                s.integrator = integrator.into();
                s.solver = solver;
            });
            let engine = DeviceEngine::emulated(LaunchPlan::new(NbodyKernel::Steps), Some(3));
            assert!(
                bits(&run(&engine, &problem)) == bits(&scalar(&problem)),
                "{integrator} {n}"
            );
        }
    }
}

#[test]
fn emulated_and_cpu_integrators_agree_bit_for_bit() {
    for integrator in Integrator::of_any_bodies() {
        let problem = problem(plummer(40), |s| s.integrator = integrator.into());
        let engine = DeviceEngine::emulated(LaunchPlan::new(NbodyKernel::Reduced), None);
        assert!(
            bits(&run(&engine, &problem)) == bits(&scalar(&problem)),
            "{integrator}"
        );
    }
}

fn largest_difference(a: &Bodies, b: &Bodies) -> f64 {
    all_numbers(a)
        .iter()
        .zip(all_numbers(b))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// One explicit step from rest gives velocities proportional to the accelerations.
fn accelerations(engine: &dyn Engine, mut bodies: Bodies, spec: &Specification) -> Vec<DVec3> {
    bodies.velocity.fill(DVec3::ZERO);
    let spec = Specification {
        dt: 1.0,
        steps: 1,
        integrator: Integrator::ExplicitEuler.into(),
        ..spec.clone()
    };
    run(engine, &spec.validate(bodies).unwrap()).velocity
}

#[test]
fn both_solvers_give_the_sum_over_all_pairs() {
    for n in SIZES {
        let bodies = plummer(n);
        for softening in [0.0, 0.05] {
            let expected: Vec<DVec3> = (0..n)
                .map(|i| {
                    let mut a = DVec3::ZERO;
                    for j in (0..n).filter(|j| *j != i) {
                        let d = bodies.position[j] - bodies.position[i];
                        let r2 = d.length_squared() + softening * softening;
                        a += 2.5 * bodies.mass[j] / (r2 * r2.sqrt()) * d;
                    }
                    a
                })
                .collect();
            for solver in Solver::ALL {
                let spec = Specification {
                    solver: *solver,
                    softening,
                    g: 2.5,
                    ..Specification::default()
                };
                let engine = CpuEngine::new(Some(2), Schedule::Dynamic).unwrap();
                let found = accelerations(&engine, bodies.clone(), &spec);
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    for (f, e) in found.to_array().iter().zip(expected.to_array()) {
                        assert!(
                            (f - e).abs() <= 1e-13 * (1.0 + e.abs()) * 100.0,
                            "{n} {i}: {f} {e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn test_bodies_move_without_exerting_forces() {
    let mut bodies = plummer(300);
    bodies.mass[100..].fill(0.0);
    let alone = Bodies {
        mass: bodies.mass[..100].to_vec(),
        position: bodies.position[..100].to_vec(),
        velocity: bodies.velocity[..100].to_vec(),
    };
    let engine = CpuEngine::new(Some(1), Schedule::Dynamic).unwrap();
    let all = run(
        &engine,
        &problem(bodies.clone(), |s| s.solver = Solver::Basic),
    );
    let few = run(&engine, &problem(alone, |s| s.solver = Solver::Basic));
    assert_eq!(all.position[..100], few.position);
    assert!(
        all.velocity[100..]
            .iter()
            .zip(&bodies.velocity[100..])
            .all(|(a, b)| a != b)
    );
}

#[test]
fn single_precision_follows_double_precision() {
    for kernel in NbodyKernel::ALL {
        let of = |precision, softening| {
            problem(plummer(300), |s| {
                s.solver = if kernel.is_reduced() {
                    Solver::Reduced
                } else {
                    Solver::Basic
                };
                s.precision = precision;
                s.softening = softening;
                s.steps = 1;
            })
        };
        for softening in [0.02, 0.0] {
            let engine = DeviceEngine::emulated(LaunchPlan::new(kernel), None);
            let found = run(&engine, &of(Precision::F32, softening));
            let expected = scalar(&of(Precision::F64, softening));
            let worst = largest_difference(&found, &expected);
            assert!(worst < 1e-5, "{}: {worst}", kernel.name());
        }
    }
}

#[test]
fn float_float_kernels_agree_with_each_other_and_nearly_with_double_precision() {
    for solver in Solver::ALL {
        let of = |precision| {
            problem(plummer(150), |s| {
                s.solver = *solver;
                s.precision = precision;
            })
        };
        let problem = of(Precision::FloatFloat);
        let expected = scalar(&of(Precision::F64));
        let mut first = None;
        for kernel in NbodyKernel::ALL {
            if !kernel.is_deterministic() || kernel.is_reduced() != (*solver == Solver::Reduced) {
                continue;
            }
            for (block, splits, rows) in [(64, 1, u32::MAX), (32, 2, 1)] {
                let plan = LaunchPlan {
                    kernel,
                    block,
                    splits,
                    rows,
                };
                let found = run(&DeviceEngine::emulated(plan, None), &problem);
                let worst = largest_difference(&found, &expected);
                assert!(worst < 1e-11, "{plan:?}: {worst}");
                let first = first.get_or_insert_with(|| bits(&found));
                assert!(*first == bits(&found), "{plan:?}");
            }
        }
    }
}

#[test]
fn the_atomic_kernels_agree_to_rounding() {
    for n in [1, 33, 513] {
        let problem = problem(plummer(n), |s| s.steps = 1);
        for kernel in [NbodyKernel::Atomic, NbodyKernel::Equal] {
            let engine = DeviceEngine::emulated(LaunchPlan::new(kernel), Some(5));
            let worst = largest_difference(&run(&engine, &problem), &scalar(&problem));
            assert!(worst < 1e-14, "{n} {}: {worst}", kernel.name());
        }
    }
}

#[test]
fn the_kernel_for_equal_masses_rejects_other_masses() {
    let mut bodies = plummer(40);
    bodies.mass[7] *= 2.0;
    let problem = problem(bodies, |_| ());
    let engine = DeviceEngine::emulated(LaunchPlan::new(NbodyKernel::Equal), None);
    let refused = engine.start(&problem, problem.bodies()).err().unwrap();
    assert!(refused.to_string().contains("body 8"), "{refused}");
}

#[test]
fn narrow_precisions_on_the_cpu_agree_in_all_lanes_and_have_the_promised_accuracy() {
    for n in [3, 130, 300] {
        for solver in Solver::ALL {
            let of = |precision| {
                problem(plummer(n), |s| {
                    s.solver = *solver;
                    s.precision = precision;
                    s.steps = 20;
                })
            };
            let exact = scalar(&of(Precision::F64));
            for (precision, error) in [(Precision::F32, 3e-5), (Precision::FloatFloat, 1e-11)] {
                let problem = of(precision);
                let expected = scalar(&problem);
                for simd in Simd::available() {
                    let engine = CpuEngine::with_simd(Some(2), Schedule::Cyclic, simd).unwrap();
                    assert!(
                        bits(&run(&engine, &problem)) == bits(&expected),
                        "{n} {solver} {precision} {simd}"
                    );
                }
                let worst = all_numbers(&exact)
                    .iter()
                    .zip(all_numbers(&expected))
                    .fold(0.0_f64, |worst, (a, b)| worst.max((a - b).abs()));
                assert!(
                    worst < error && worst > 0.0,
                    "{n} {solver} {precision}: {worst}"
                );
            }
        }
    }
}

#[test]
fn textbook_arrays_agree_to_rounding_and_bit_for_bit_with_one_thread() {
    let problem = problem(plummer(700), |s| s.solver = Solver::Reduced);
    let expected = scalar(&problem);
    for (threads, schedule) in [
        (1, Schedule::Dynamic),
        (3, Schedule::Block),
        (4, Schedule::Cyclic),
    ] {
        let engine = CpuEngine::new(Some(threads), schedule).unwrap();
        let engine = engine.with_partials(trisolar::nbody::Partials::Threads);
        let found = run(&engine, &problem);
        if threads == 1 {
            assert_eq!(bits(&found), bits(&expected));
        }
        for (a, b) in numbers(&found.position)
            .iter()
            .zip(numbers(&expected.position))
        {
            assert!((a - b).abs() < 1e-13);
        }
    }
}

#[test]
fn a_run_resumed_after_every_step_has_the_bits_of_an_uninterrupted_run() {
    let emulator = DeviceEngine::emulated(LaunchPlan::new(NbodyKernel::Tile1), None);
    let cpu = CpuEngine::new(Some(1), Schedule::Dynamic).unwrap();
    let engines: [&dyn Engine; 2] = [&emulator, &cpu];
    for (engine, precision) in engines
        .into_iter()
        .flat_map(|engine| Precision::ALL.iter().map(move |p| (engine, *p)))
    {
        // Multistep methods need accelerations of earlier steps, which bodies do not contain.
        let integrators = Integrator::of_any_bodies().filter(|i| !i.is_multistep());
        for (integrator, dt) in integrators.zip([1e-3, 1e-6].iter().cycle()) {
            let problem = problem(plummer(40), |s| {
                s.integrator = integrator.into();
                s.precision = precision;
                s.solver = Solver::Basic;
                s.dt = *dt;
                s.steps = 15;
            });
            let (mut bodies, mut lower) = (problem.bodies().clone(), None);
            for _ in 0..problem.specification().steps {
                let mut run = engine.resume(&problem, &bodies, lower.as_ref()).unwrap();
                run.advance(1, &Unattended).unwrap();
                bodies = run.bodies().unwrap();
                lower = run.lower_parts();
            }
            let pairs = engine.name() == "emulator" && precision == Precision::FloatFloat;
            assert_eq!(lower.is_some(), pairs);
            assert!(
                bits(&bodies) == bits(&run(engine, &problem)),
                "{} {precision} {integrator}",
                engine.name()
            );
        }
    }
}

/// A thread in the place of a process under mpirun.
#[derive(Debug)]
struct ThreadRank {
    rank: usize,
    to: Vec<Sender<Vec<f64>>>,
    from: Vec<Receiver<Vec<f64>>>,
}

impl ThreadRank {
    /// Ranks that can send to each other.
    fn all(size: usize) -> Vec<Self> {
        let mut to: Vec<Vec<Sender<Vec<f64>>>> = (0..size).map(|_| Vec::new()).collect();
        let mut ranks = Vec::new();
        for rank in 0..size {
            let (senders, from) = (0..size).map(|_| channel()).unzip::<_, _, Vec<_>, _>();
            for (to, sender) in to.iter_mut().zip(senders) {
                to.push(sender);
            }
            ranks.push((rank, from));
        }
        let ranks = ranks.into_iter().zip(to);
        ranks
            .map(|((rank, from), to)| Self { rank, to, from })
            .collect()
    }
}

impl Ranks for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn here(&self) -> [usize; 2] {
        [self.rank, self.size()]
    }

    fn gather(&self, mine: &[f64], counts: &[usize], all: &mut [f64]) {
        self.to
            .iter()
            .for_each(|to| to.send(mine.to_vec()).unwrap());
        let mut rest = all;
        for (from, count) in self.from.iter().zip(counts) {
            let (part, others) = rest.split_at_mut(*count);
            part.copy_from_slice(&from.recv().unwrap());
            rest = others;
        }
    }

    fn pass(&self, give: &[f64], take: &mut [f64]) {
        let size = self.size();
        self.send((self.rank + size - 1) % size, give.to_vec());
        self.receive((self.rank + 1) % size, take);
    }

    fn send(&self, to: usize, numbers: Vec<f64>) {
        self.to[to].send(numbers).unwrap();
    }

    fn receive(&self, from: usize, numbers: &mut [f64]) {
        numbers.copy_from_slice(&self.from[from].recv().unwrap());
    }

    fn delivered(&self) {}

    fn any(&self, here: bool) -> bool {
        let mut all = vec![0.0; self.size()];
        self.gather(&[f64::from(u8::from(here))], &vec![1; all.len()], &mut all);
        all.contains(&1.0)
    }
}

/// With few rows at a time the sums go from the last rank back to the first one.
#[test]
fn devices_of_several_ranks_have_the_bits_of_one_device_in_several_rounds() {
    for (n, devices) in [(700, [1, 1, 1]), (700, [2, 1, 2]), (130, [1, 2, 1])] {
        let problem = problem(plummer(n), |spec| spec.solver = Solver::Reduced);
        let plan = LaunchPlan {
            rows: 1,
            ..LaunchPlan::new(NbodyKernel::Reduced)
        };
        let expected = run(&DeviceEngine::emulated(plan, None), &problem);
        std::thread::scope(|scope| {
            for (rank, devices) in ThreadRank::all(devices.len()).into_iter().zip(devices) {
                let (problem, expected) = (&problem, &expected);
                scope.spawn(move || {
                    let engine = DeviceEngine::emulated_on(devices, plan, None);
                    let bodies = run(&engine.with_ranks(Rc::new(rank)), problem);
                    assert!(bodies == *expected, "{n} bodies");
                });
            }
        });
    }
}
