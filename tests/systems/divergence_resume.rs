//! Pixels that continue where a computation with fewer steps left them have the bits of a single computation, on the CPU and in
//! the kernel under the emulator.

use std::sync::atomic::Ordering;

use cuda_std::emulator::Launch;
use kernels_gpu::device::fetch::{Shared, Thread};
use kernels_gpu::kernels::map_resume_divergence_explicit_euler_f64;
use trisolar::divergence::{
    Backend, CpuEngine, Engine, Item, RunOptions, Specification, Unattended, Validated, resume,
};

/// The headline map's start positions, with partings within a few hundred steps.
fn valid(steps: u64) -> Validated {
    let spec = Specification {
        size: [23, 19],
        steps,
        dt: 0.02,
        critical_distance: 0.005,
        ..Specification::default()
    };
    spec.validate().expect("valid")
}

fn whole(valid: &Validated) -> Vec<u32> {
    let engine = CpuEngine::new(None).expect("threads");
    engine
        .compute(valid, &Unattended)
        .expect("computes")
        .values
        .into()
        .expect("steps")
}

fn items(valid: &Validated) -> Vec<Item> {
    (0..valid.pixels()).map(|pixel| valid.item(pixel)).collect()
}

fn on_cpu(valid: &Validated, items: &mut [Item]) {
    for threads in [1, 3] {
        let options = RunOptions {
            backend: Backend::Cpu,
            threads: Some(threads),
            ..RunOptions::default()
        };
        // In the second round, there is nothing left to do.
        resume(valid, items, &options, &Unattended).expect("computes");
    }
}

/// Resumes with the kernel, in the shortest possible launches.
fn emulated(valid: &Validated, items: &mut [Item]) {
    let steps = valid.specification().steps as u32;
    let places: Vec<usize> = (0..items.len())
        .filter(|i| items[*i].goes_on(steps))
        .collect();
    let mut list: Vec<Item> = places.iter().map(|i| items[*i]).collect();
    let job = valid.job(0, list.len() as u32);
    let mut threads = vec![Thread::fresh(&job); 3 * 32];
    let (list_, threads_) = (list.as_mut_ptr(), threads.as_mut_ptr());
    let shared = Shared::new();
    while shared.steps.load(Ordering::Relaxed) < list.len() as u64 * steps as u64 {
        // SAFETY: there are as many items as the job says and a state for each thread; only one thread works on an item at a
        // time.
        let launch = || unsafe {
            map_resume_divergence_explicit_euler_f64(job, 0, list_, threads_, &shared);
        };
        // SAFETY: as above.
        unsafe { Launch::new(3, 32).run(launch) }.expect("runs");
    }
    for (place, item) in places.into_iter().zip(list) {
        items[place] = item;
    }
}

#[test]
fn computations_in_parts_of_any_length_have_the_bits_of_one() {
    let legs = [1, 2, 7, 100, 101, 230, 231, 400];
    let mut both = [items(&valid(1)), items(&valid(1))];
    for steps in legs {
        let valid = valid(steps);
        let expected = whole(&valid);
        on_cpu(&valid, &mut both[0]);
        emulated(&valid, &mut both[1]);
        for (engine, items) in ["CPU", "kernel"].iter().zip(&both) {
            let times: Vec<u32> = items.iter().map(|i| i.counted(steps as u32)).collect();
            assert!(times == expected, "{engine}, {steps} steps");
        }
    }
    let parted = both[0].iter().filter(|i| i.over > 0).count();
    assert!((50..both[0].len() - 50).contains(&parted), "{parted} part");
}
