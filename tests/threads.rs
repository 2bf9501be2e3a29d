//! All work of a run is done by the run's own threads.

use trisolar::accuracy;
use trisolar::bodies::Model;
use trisolar::hermite::{AhmadCohen, Cluster, CpuEngine, Order, Specification};
use trisolar::nbody;
use trisolar::run::Workers;

/// Rayon starts its global pool when work is not given a pool, and afterwards the global pool cannot be configured. This is the
/// only test in this file, because the global pool belongs to the process.
#[test]
fn the_work_of_a_run_stays_on_its_own_threads() {
    // Enough bodies for several threads to work on corrections, irregular forces and diagnostics.
    let n = 1100;
    let workers = Workers::new(Some(2)).unwrap();
    let bodies = workers
        .install(|| Model::Plummer.build(Some(n), 7, 1.0, 3))
        .unwrap();
    let plain = Specification::new(Order::Six);
    let split = Specification {
        softening: 4.0 / n as f64,
        ahmad_cohen: Some(AhmadCohen::new(n)),
        ..Specification::new(Order::Four)
    };
    for threads in [1, 3] {
        for spec in [&plain, &split] {
            let start = spec.clone().validate(bodies.clone()).unwrap();
            let engine = Box::new(CpuEngine::new(Some(threads)).unwrap());
            let mut cluster = Cluster::new(&start, engine).unwrap();
            let end = 2.0 * cluster.next_time();
            let mut error = None;
            for time in [0.0, end] {
                cluster.advance_to(time).unwrap();
                let stars = cluster.at(time).unwrap();
                let line = cluster.line(time, &stars, None, &mut error).unwrap();
                assert!(line.core_radius > 0.0);
            }
        }
    }
    let start = workers
        .install(|| nbody::Model::Plummer.build(Some(n), 3, 1.0, 3))
        .unwrap();
    let spec = nbody::Specification::default();
    let engine = nbody::CpuEngine::new(Some(1), nbody::Schedule::Dynamic).unwrap();
    accuracy::energies(&start, &spec, &engine, Some(1), None).unwrap();
    let untouched = rayon::ThreadPoolBuilder::new().build_global();
    assert!(
        untouched.is_ok(),
        "the global pool was started: {untouched:?}"
    );
}
