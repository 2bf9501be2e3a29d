//! Kernels of Trisolar: their PTX, interpreted, gives the bits of their Rust, without a fault.

mod embedded;

use cuda_std::emulator::Launch;
use cuda_std::{Entry, Kernel};
use kernels_gpu::device::sweep::Reduced;
use kernels_gpu::device::tile::Basic;
use kernels_gpu::device::{Body, DeviceNumber};
use kernels_gpu::kernels::{HermitePredict, HermiteScatter, NbodyPlain, NbodyReduced};
use trisolar_ptx::{Grid, Machine, Memory, Module};

/// Launches a kernel's PTX on `memory`, and its Rust on the same memory as it was before; both must leave the same bits.
fn same<K: Kernel>(blocks: u32, threads: u32, arguments: K::Arguments, memory: &mut [&mut [u64]])
where
    K::Arguments: Clone,
{
    let name = K::name().expect("an exported kernel");
    let text = embedded::texts()
        .into_iter()
        .find(|text| text.contains(&format!(".entry {name}(")));
    let module = Module::decode(&text.expect("its module")).expect("PTX");
    let mut known = Memory::new();
    for piece in memory.iter_mut() {
        // SAFETY: the pieces outlive the launch.
        unsafe { known.add(piece.as_mut_ptr() as u64, size_of_val(&**piece), true) };
    }
    let before: Vec<Vec<u64>> = memory.iter().map(|piece| piece.to_vec()).collect();
    let mut bytes = Vec::new();
    let mut sizes = module.parameters(name).into_iter();
    Entry::of::<K>().each(&arguments, &mut |address| {
        let size = sizes.next().expect("a parameter") as usize;
        // SAFETY: an argument of this size.
        bytes.push(unsafe { std::slice::from_raw_parts(address.cast::<u8>(), size) }.to_vec());
    });
    let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let ran = Machine::new(module).launch(&mut known, name, Grid::new(blocks, threads), &bytes);
    let stats = ran.unwrap_or_else(|fault| panic!("{fault}"));
    assert!(stats.instructions > 0 && !stats.approximate);
    let interpreted: Vec<Vec<u64>> = memory.iter().map(|piece| piece.to_vec()).collect();
    assert_ne!(interpreted, before, "{name} has written nothing");
    for (piece, before) in memory.iter_mut().zip(&before) {
        piece.copy_from_slice(before);
    }
    // SAFETY: the caller's arguments are right for the kernel.
    unsafe { Launch::new(blocks, threads).run_kernel::<K>(arguments.clone()) }
        .expect("the emulator");
    let emulated: Vec<Vec<u64>> = memory.iter().map(|piece| piece.to_vec()).collect();
    assert!(interpreted == emulated, "{name}: other bits");
}

/// Numbers between 0 and 1.
fn numbers(count: usize) -> Vec<u64> {
    let number = |i: usize| ((i * 7919 + 13) % 10_007) as f64 / 10_007.0;
    (0..count).map(|i| number(i).to_bits()).collect()
}

#[test]
fn nbody() {
    let n = 300_u32;
    let row = <f64 as DeviceNumber>::ROW;
    let padded = n.next_multiple_of(row);
    let mut bodies = numbers(4 * padded as usize);
    let at = bodies.as_mut_ptr().cast_const().cast::<Body<f64>>();
    let mut sums = vec![0; 4 * n as usize];
    let to = sums.as_mut_ptr().cast::<Body<f64>>();
    let job = Basic {
        softening2: 1e-4_f64,
        n,
        chunk: 128,
        splits: 1,
        first: 0,
        count: n,
    };
    same::<NbodyPlain<f64>>(10, 32, (job, at, to), &mut [&mut bodies, &mut sums]);
    // Bodies travel through warps by shuffles.
    let job = Reduced {
        softening2: 1e-4_f64,
        n,
        length: row,
        chunk: row,
        row: 0,
        rows: padded / row,
        stride: padded,
    };
    let size = (padded / row * 3 * padded) as usize;
    let (mut p, mut q) = (vec![0; size], vec![0; size]);
    let at = bodies.as_mut_ptr().cast_const().cast::<Body<f64>>();
    let (to_p, to_q) = (p.as_mut_ptr().cast(), q.as_mut_ptr().cast());
    let memory = &mut [&mut bodies[..], &mut p, &mut q];
    same::<NbodyReduced<f64, 4, 4>>(job.units().div_ceil(2), 64, (job, at, to_p, to_q), memory);
}

#[test]
fn clusters() {
    let places = 70_u32;
    // Mass, time and four vectors each.
    let mut stars = numbers(14 * places as usize);
    let width = kernels_gpu::device::hermite::width(2);
    let mut predicted = vec![0; width * places as usize + 1];
    let from = stars.as_mut_ptr().cast_const().cast::<f64>();
    let start = usize::from(!(predicted.as_ptr() as usize).is_multiple_of(16));
    let to = predicted[start..].as_mut_ptr().cast::<f64>();
    let arguments = (from, to, 1.25, places);
    same::<HermitePredict<4, 2>>(3, 32, arguments, &mut [&mut stars, &mut predicted]);
    // Two places a word.
    let mut order: Vec<u64> = (0..35)
        .map(|i| (34 - i) << 1 | ((34 - i) << 1 | 1) << 32)
        .collect();
    let mut records = vec![0; 5 * 70];
    let from = stars.as_mut_ptr().cast_const().cast::<f64>();
    let places = order.as_mut_ptr().cast_const().cast::<u32>();
    let to = records.as_mut_ptr().cast::<f64>();
    let arguments = (from, places, to, 70, 4, 5, 1);
    same::<HermiteScatter>(
        9,
        32,
        arguments,
        &mut [&mut stars, &mut order, &mut records],
    );
}
