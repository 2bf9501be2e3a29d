//! The kernels on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::cell::UnsafeCell;

use cuda_std::emulator::Launch;
use kernels_gpu::kernels::{
    hermite_fold, hermite_force_4, hermite_force_6, hermite_force_8, hermite_potential,
    hermite_predict_4, hermite_predict_6, hermite_predict_8, hermite_scatter,
};

use super::device::{Call, Device, DeviceEngine};
use super::{Engine, Order};
use crate::divergence::EngineError;

/// An engine that runs the kernels' code in emulated grids: blocks of `block` threads for the forces, as many at a time as
/// a device with room for `resident` blocks would get. Neither changes a bit.
pub fn emulator(block: u32, resident: u32, seed: Option<u64>) -> Box<dyn Engine> {
    Box::new(DeviceEngine::new(Emulator { resident, seed }, block))
}

struct Emulator {
    resident: u32,
    seed: Option<u64>,
}

/// Memory that kernels write through its address.
struct Array<T>(Box<[UnsafeCell<T>]>);

impl<T: Copy + Default> Array<T> {
    fn new(length: usize) -> Self {
        Self((0..length).map(|_| UnsafeCell::new(T::default())).collect())
    }

    fn put(&mut self, values: &[T]) {
        for (cell, value) in self.0[..values.len()].iter_mut().zip(values) {
            *cell.get_mut() = *value;
        }
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

impl Device for Emulator {
    type Numbers = Array<f64>;
    type Places = Array<u32>;

    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", crate::machine::cpu_name())
    }

    fn resident_blocks(&self, _: &Call, _: u32) -> Result<u32, EngineError> {
        Ok(self.resident)
    }

    fn numbers(&self, length: usize) -> Result<Array<f64>, EngineError> {
        Ok(Array::new(length))
    }

    fn places(&self, length: usize) -> Result<Array<u32>, EngineError> {
        Ok(Array::new(length))
    }

    fn put(&self, to: &mut Array<f64>, values: &[f64]) -> Result<(), EngineError> {
        to.put(values);
        Ok(())
    }

    fn put_places(&self, to: &mut Array<u32>, values: &[u32]) -> Result<(), EngineError> {
        to.put(values);
        Ok(())
    }

    fn get(&self, from: &Array<f64>, values: &mut [f64]) -> Result<(), EngineError> {
        for (value, cell) in values.iter_mut().zip(&from.0) {
            // SAFETY: launches return when all their threads have ended.
            *value = unsafe { *cell.get() };
        }
        Ok(())
    }

    fn address(&self, of: &Array<f64>) -> u64 {
        of.address()
    }

    fn places_address(&self, of: &Array<u32>) -> u64 {
        of.address()
    }

    unsafe fn launch(
        &self,
        call: &Call,
        blocks: u32,
        threads: u32,
        shared: u32,
    ) -> Result<(), EngineError> {
        let mut launch = Launch::new(blocks, threads).shared_bytes(shared as usize);
        if let Some(seed) = self.seed {
            launch = launch.seed(seed);
        }
        // SAFETY: the caller vouches for the memory; threads of these kernels write to places of their own.
        let outcome = unsafe { launch.run(|| one_thread(call)) };
        outcome.map(|_| ()).map_err(|e| EngineError::Gpu {
            device: self.device(),
            call: call.name(),
            reason: e.to_string(),
        })
    }
}

/// The kernel of one thread.
///
/// # Safety
/// As [`Device::launch`].
unsafe fn one_thread(call: &Call) {
    let read = |address: u64| address as *const f64;
    let write = |address: u64| address as *mut f64;
    let list = |address: u64| address as *const u32;
    // SAFETY: the caller's promise.
    unsafe {
        match *call {
            Call::Predict {
                order,
                stars,
                predicted,
                time,
                places,
            } => {
                let kernel = match order {
                    Order::Four => hermite_predict_4,
                    Order::Six => hermite_predict_6,
                    Order::Eight => hermite_predict_8,
                };
                kernel(read(stars), write(predicted), time, places);
            }
            Call::Scatter {
                from,
                places,
                to,
                count,
                width,
                stride,
                skip,
            } => {
                hermite_scatter(
                    read(from),
                    list(places),
                    write(to),
                    count,
                    width,
                    stride,
                    skip,
                );
            }
            Call::Force {
                order,
                launch,
                predicted,
                places,
                partial,
            } => {
                let kernel = match order {
                    Order::Four => hermite_force_4,
                    Order::Six => hermite_force_6,
                    Order::Eight => hermite_force_8,
                };
                kernel(launch, read(predicted), list(places), write(partial));
            }
            Call::Fold {
                partial,
                out,
                values,
                rest,
            } => {
                hermite_fold(read(partial), write(out), values, rest);
            }
            Call::Potential {
                launch,
                predicted,
                out,
                width,
            } => {
                hermite_potential(launch, read(predicted), write(out), width);
            }
        }
    }
}
