//! Pixels under way by the kernel under the emulator.

use std::sync::atomic::Ordering;

use kernels_gpu::device::fetch::{Shared, Thread};
use kernels_gpu::kernels::map_resume_divergence_explicit_euler_f64;

use super::super::EmulatorEngine;
use super::super::queue::Share;
use super::{Item, Resuming, Stepper};
use crate::Value as _;
use trisolar_run::EngineError;

/// Items at a time: few, so that small maps take many portions.
const BATCH: u64 = 1 << 8;

impl Stepper for EmulatorEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        if !share.ready() {
            return share.check();
        }
        loop {
            let spans = share.draw_portion(0.0, 1, BATCH)?;
            if spans.is_empty() {
                if !share.wait()? {
                    return Ok(());
                }
                continue;
            }
            for span in spans {
                let numbers = span.clone();
                let mut items: Vec<Item> = numbers.map(|number| task.items.get(number)).collect();
                self.step_items(task, &mut items)?;
                task.items.put(span.start, &items);
                share.deliver(span.start, u32::slice(&task.times(&items)))?;
            }
        }
    }
}

impl EmulatorEngine {
    fn step_items(&self, task: &Resuming<'_>, items: &mut [Item]) -> Result<(), EngineError> {
        let job = task.spec.job(0, items.len() as u32);
        let mut threads = vec![Thread::fresh(&job); (self.blocks * self.block) as usize];
        let (list, threads) = (items.as_mut_ptr(), threads.as_mut_ptr());
        let shared = Shared::new();
        while shared.steps.load(Ordering::Relaxed) < items.len() as u64 * u64::from(job.steps) {
            self.launch(self.blocks, || {
                // SAFETY: as many items as the job says, a state for each thread; an item is one thread's at a time.
                unsafe {
                    map_resume_divergence_explicit_euler_f64(
                        job,
                        self.slice_ns,
                        list,
                        threads,
                        &shared,
                    );
                }
            })?;
        }
        Ok(())
    }
}
