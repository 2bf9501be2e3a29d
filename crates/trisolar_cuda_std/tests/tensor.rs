//! Copies of tiles in the emulator.

use cuda_std::emulator;
use cuda_std::tensor::{self, TensorMap, Tile, Tiles};
use cuda_std::{mbarrier, shared_array};

/// An array of 16-byte groups, so that it starts at a multiple of 16 bytes.
fn array(n: usize) -> Vec<[u16; 8]> {
    (0..n / 8)
        .map(|i| std::array::from_fn(|k| (8 * i + k + 1) as u16))
        .collect()
}

const TILES: Tiles<3> = Tiles {
    shape: [12, 3, 2],
    strides: [1, 16, 64],
    tile: [8, 2, 2],
};

#[test]
fn what_is_beyond_the_array_is_zero() {
    let mut numbers = array(128);
    let map = TensorMap::<u16, 3>::emulated(numbers.as_mut_ptr().cast(), &TILES);
    let map = &raw const map;
    for at in [[0, 0, 0], [8, 1, 1], [-8, 2, -1], [16, 0, 0], [0, -2, 5]] {
        let mut found = vec![7u16; 32];
        let out = found.as_mut_ptr();
        let kernel = || {
            let tile = shared_array![Tile<u16, 32>; 1].cast::<u16>();
            let barrier = shared_array![u64; 1];
            // SAFETY: one thread, which waits for its copies.
            unsafe {
                mbarrier::init(barrier, 1);
                mbarrier::fence_init();
                tensor::acquire(map);
                mbarrier::arrive_expect(barrier, 64);
                tensor::load(tile, map, at, barrier);
                mbarrier::wait(barrier, 0);
                for i in 0..32 {
                    *out.add(i) = *tile.add(i);
                }
            }
        };
        // SAFETY: one thread.
        unsafe { emulator::launch(1, 1, 0, kernel) }.expect("the kernel runs");
        for (i, found) in (0..).zip(found) {
            let place = [at[0] + i % 8, at[1] + i / 8 % 2, at[2] + i / 16];
            let inside = (0..3).all(|k| (0..TILES.shape[k] as i32).contains(&place[k]));
            let expected = place[0] + 16 * place[1] + 64 * place[2] + 1;
            assert_eq!(
                i32::from(found),
                if inside { expected } else { 0 },
                "{at:?} {i}"
            );
        }
    }
}

/// Stores a tile of ones at `at`; `wait` waits for it.
fn stored(at: [i32; 3], wait: bool) -> Result<Vec<u16>, String> {
    let mut numbers = vec![[0u16; 8]; 16];
    let map = TensorMap::<u16, 3>::emulated(numbers.as_mut_ptr().cast(), &TILES);
    let map = &raw const map;
    let kernel = || {
        let tile = shared_array![Tile<u16, 32>; 1].cast::<u16>();
        // SAFETY: one thread.
        unsafe {
            tensor::acquire(map);
            for i in 0..32 {
                *tile.add(i) = 1;
            }
            tensor::fence_shared();
            tensor::store(map, at, tile);
            tensor::commit();
            if wait {
                tensor::wait::<0>();
            }
        }
    };
    // SAFETY: one thread.
    unsafe { emulator::launch(1, 1, 0, kernel) }.map_err(|e| e.to_string())?;
    Ok(numbers.concat())
}

#[test]
fn a_store_leaves_what_is_beyond_the_array_alone() {
    let numbers = stored([8, 2, -1], true).expect("the kernel runs");
    for (i, number) in numbers.into_iter().enumerate() {
        // Of the tile, columns 8 to 11 of row 2 of layer 0 are within the array.
        let inside = (40..44).contains(&i);
        assert_eq!(number, u16::from(inside), "{i}");
    }
}

#[test]
fn forgotten_waits_show_and_bad_places_are_reported() {
    let numbers = stored([0, 0, 0], false).expect("the kernel runs");
    assert!(numbers.iter().all(|n| *n == 0));
    let error = stored([3, 0, 0], true).expect_err("a bad place");
    assert!(
        error.contains(
            "multiple of 16 bytes along the first dimension, not at element 3 of 2 bytes"
        ),
        "{error}"
    );
}
