//! Maps of arrays for copies of tiles.

use cuda_std::Plain;
use cuda_std::tensor::{TensorMap, Tiles};

use crate::{Buffer, GpuError};

impl<T: Plain> Buffer<T> {
    /// A map of the first [`span`](Tiles::span) values as an array in `D` dimensions. Kernels take its address in memory of the same device, as
    /// of a `Buffer<TensorMap<T, D>>`.
    ///
    /// # Errors
    /// [`GpuError::Call`] if the hardware does not copy such tiles, with the value and what is allowed, if the array does not fit into
    /// the buffer, or if the driver has no tensor maps (before CUDA 12).
    pub fn tensor_map<const D: usize>(
        &self,
        tiles: &Tiles<D>,
    ) -> Result<TensorMap<T, D>, GpuError> {
        let refused = |reason| GpuError::Call {
            device: self.device().info().name.clone(),
            call: "making a tensor map",
            reason,
        };
        if let Some(problem) = tiles.problem(size_of::<T>()) {
            return Err(refused(problem));
        }
        if tiles.span() > self.len() as u64 {
            return Err(refused(format!(
                "shape {:?} with strides {:?} has {} values, and the buffer {}",
                tiles.shape,
                tiles.strides,
                tiles.span(),
                self.len()
            )));
        }
        #[cfg(feature = "devices")]
        if let Some(gpu) = self.device().as_gpu() {
            return gpu
                .tensor_map(self.as_mut_ptr() as u64, tiles)
                .map_err(refused);
        }
        Ok(TensorMap::emulated(self.as_mut_ptr(), tiles))
    }
}

#[cfg(feature = "devices")]
mod encoded {
    use std::ffi::c_void;
    use std::ptr;

    use super::*;
    use crate::Gpu;

    /// `cuTensorMapEncodeTiled` of the driver API: the map, the type, the number of dimensions, the address, shape, strides (bytes, without
    /// the first), tile, steps in the tile, interleaving, swizzling, promotion in the second cache, and what is beyond the array.
    type Encode = unsafe extern "C" fn(
        *mut c_void,
        i32,
        u32,
        *mut c_void,
        *const u64,
        *const u64,
        *const u32,
        *const u32,
        i32,
        i32,
        i32,
        i32,
    ) -> u32;

    impl Gpu {
        /// The map of an array at an address of this GPU, or the reason why there is none.
        pub(super) fn tensor_map<T: Plain, const D: usize>(
            &self,
            address: u64,
            tiles: &Tiles<D>,
        ) -> Result<TensorMap<T, D>, String> {
            let driver = libcuda_lazy::load().map_err(|e| e.to_string())?;
            let encode = driver
                .function("cuTensorMapEncodeTiled")
                .ok_or("the driver has no tensor maps; CUDA 12 has them")?;
            // SAFETY: this is the function's signature.
            let encode = unsafe { std::mem::transmute::<*mut (), Encode>(encode) };
            // Unsigned whole numbers of this size: what is beyond the array is zero bytes for all types.
            let element = size_of::<T>().trailing_zeros() as i32;
            let element = if element == 3 { 4 } else { element };
            let bytes = tiles.strides.map(|stride| stride * size_of::<T>() as u64);
            let mut map = TensorMap::encoded([0; 16]);
            // SAFETY: the map is at a multiple of 64 bytes; the arrays have as many values as dimensions, and the strides one less.
            let code = unsafe {
                encode(
                    ptr::from_mut(&mut map).cast(),
                    element,
                    D as u32,
                    ptr::with_exposed_provenance_mut(address as usize),
                    tiles.shape.as_ptr(),
                    bytes.as_ptr().wrapping_add(1),
                    tiles.tile.as_ptr(),
                    [1; D].as_ptr(),
                    0,
                    0,
                    0,
                    0,
                )
            };
            match code {
                0 => Ok(map),
                code => Err(format!(
                    "the driver refuses {tiles:?} with its error {code}"
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Device, Emulator};

    #[test]
    fn tiles_that_cannot_be_copied_are_refused_with_what_is_allowed() {
        let device: Arc<dyn Device> = Arc::new(Emulator::new("emulator".to_owned()));
        let buffer = Buffer::<f32>::filled(&device, 60, 0).expect("memory");
        let said = |tiles: Tiles<2>| buffer.tensor_map(&tiles).expect_err("refused").to_string();
        let good = Tiles::packed([12, 5], [4, 2]);
        assert!(buffer.tensor_map(&good).is_ok());
        for (tiles, words) in [
            (
                Tiles {
                    tile: [3, 2],
                    ..good
                },
                "has 12 bytes",
            ),
            (
                Tiles {
                    tile: [4, 0],
                    ..good
                },
                "must be 1 to 256",
            ),
            (
                Tiles {
                    strides: [1, 13],
                    ..good
                },
                "multiples of 16 bytes",
            ),
            (
                Tiles {
                    strides: [2, 12],
                    ..good
                },
                "the first must be 1",
            ),
            (
                Tiles {
                    shape: [12, 6],
                    ..good
                },
                "has 72 values, and the buffer 60",
            ),
            (
                Tiles {
                    shape: [0, 5],
                    ..good
                },
                "must be 1 to 2^32",
            ),
        ] {
            assert!(said(tiles).contains(words), "{}", said(tiles));
        }
    }
}
