//! Runs the kernels of `kernels/`, checks their results and prints their rates. `benches/peers/kernels.cu` measures the same work by CUDA C++,
//! cuBLAS and CUB. Without a GPU the kernels run in the emulator, on small inputs and without times.
//!
//! cargo run --release -p kernel_speed            all kernels
//! cargo run --release -p kernel_speed -- scan    only the named ones: check, functions, tiled, product, copy, sum, scan

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use cuda_std::Entry;
use cuda_std::tensor::{TensorMap, Tiles};
use kernel_speed_kernels as kernels;
use kernels::{
    COPY_EACH, COPY_THREADS, Four, PRODUCT_SHARED, PRODUCT_THREADS, PRODUCT_TILE, SCAN_THREADS,
    SCAN_TILE, SIDE, SUM_THREADS,
};
use trisolar_device::{
    Buffer, Device, Emulator, GpuError, Grid, Plain, gpu_or_emulator, include_kernels,
};

include_kernels!();

type Outcome<T> = Result<T, Box<dyn Error>>;
/// Runs one kernel.
type Run = fn(&Bench) -> Outcome<()>;

/// A device, and how often a launch is timed on it.
struct Bench {
    device: Arc<dyn Device>,
    repeats: usize,
}

impl Bench {
    /// The input's size on a GPU or in the emulator.
    fn size(&self, gpu: usize, emulator: usize) -> usize {
        if self.repeats > 0 { gpu } else { emulator }
    }

    /// Prints the mean time of a launch and what `rate` makes of it, in units of 10¹² per second.
    fn time(
        &self,
        what: &str,
        amount: f64,
        unit: &str,
        mut launch: impl FnMut() -> Result<(), GpuError>,
    ) -> Outcome<()> {
        launch()?;
        self.device.synchronise()?;
        if self.repeats == 0 {
            println!("{what:<44} correct; no times in the emulator");
            return Ok(());
        }
        // The best of some rounds, so that what else happens on the machine does not count.
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..self.repeats {
                launch()?;
            }
            self.device.synchronise()?;
            best = best.min(start.elapsed().as_secs_f64() / self.repeats as f64);
        }
        println!(
            "{what:<44} {:>9.3} ms  {:>7.2} {unit}",
            best * 1e3,
            amount / best / 1e12
        );
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let device = gpu_or_emulator();
    println!("{}", device.info().name);
    let repeats = if device.as_gpu().is_some() { 20 } else { 0 };
    let bench = Bench { device, repeats };
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let all: [(&str, Run); 7] = [
        ("check", check),
        ("functions", functions),
        ("tiled", tiled),
        ("product", product),
        ("copy", copy),
        ("sum", sum),
        ("scan", scan),
    ];
    if let Some(unknown) = asked
        .iter()
        .find(|asked| all.iter().all(|(name, _)| name != asked))
    {
        return Err(format!(
            "there is no kernel {unknown:?}; the names are check, functions, tiled, product, copy, sum and scan"
        )
        .into());
    }
    for (name, run) in all {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            run(&bench)?;
        }
    }
    Ok(())
}

/// Runs every instruction in the emulator and on this device: words must be equal, sums of narrow products nearly.
fn check(bench: &Bench) -> Outcome<()> {
    const BLOCKS: u32 = 200;
    let run = |device: &Arc<dyn Device>| -> Outcome<(Vec<u64>, Vec<f32>)> {
        let threads = 32 * BLOCKS as usize;
        let input: Vec<u32> = whole_numbers(64 * 4 * BLOCKS as usize, 5)
            .map(|x| (x as u32).wrapping_mul(0x9e37_79b9))
            .collect();
        let input = Buffer::of(device, &input)?;
        let words = Buffer::<u64>::filled(device, threads * kernels::CHECK_WORDS, 0)?;
        let sums = Buffer::<f32>::filled(device, threads * kernels::CHECK_SUMS, 0)?;
        let arguments = (
            7,
            input.as_ptr().cast(),
            words.as_mut_ptr(),
            sums.as_mut_ptr(),
        );
        // SAFETY: the buffers have what the kernel asks for.
        unsafe { device.launch::<kernels::Instructions>(Grid::new(BLOCKS, 32), arguments)? };
        let mut found = (vec![0; words.len()], vec![0.0; sums.len()]);
        words.download(&mut found.0)?;
        sums.download(&mut found.1)?;
        Ok(found)
    };
    let emulator: Arc<dyn Device> = Arc::new(Emulator::new("emulator".to_owned()));
    let (expected, sums) = run(&emulator)?;
    let (words, found) = run(&bench.device)?;
    let wrong = expected.iter().zip(&words).filter(|(a, b)| a != b).count();
    let places: std::collections::BTreeSet<_> = (0..words.len())
        .filter(|&i| words[i] != expected[i])
        .map(|i| i % kernels::CHECK_WORDS)
        .collect();
    let error = sums
        .iter()
        .zip(&found)
        .map(|(a, b)| f64::from(a - b).abs() / f64::from(a.abs()).max(1.0))
        .fold(0.0, f64::max);
    println!(
        "instructions: {} words, {wrong} differ from the emulator's {places:?}; sums of narrow products differ by up to {error:.1e}",
        words.len()
    );

    let blocks = bench.device.info().multiprocessors.clamp(2, 132);
    let rounds = 100;
    let first: Vec<u32> = (0..2 * blocks)
        .map(|i| if i < blocks { 1000 * i } else { 0 })
        .collect();
    let numbers = Buffer::of(&bench.device, &first)?;
    let arrived = Buffer::<u32>::filled(&bench.device, 1, 0)?;
    let arguments = (rounds, arrived.as_ptr().cast(), numbers.as_mut_ptr());
    // SAFETY: there are two numbers for each block.
    unsafe {
        bench
            .device
            .launch::<kernels::Around>(Grid::new(blocks, 64).cooperative(), arguments)?
    };
    let mut last = vec![0; numbers.len()];
    numbers.download(&mut last)?;
    let moved = |block: u32| first[((block + blocks - rounds % blocks) % blocks) as usize] + rounds;
    let lost = (0..blocks)
        .filter(|&block| last[block as usize] != moved(block))
        .count();
    println!("grid barrier: {blocks} blocks, {rounds} rounds, {lost} wrong");
    let run = |device: &Arc<dyn Device>| -> Outcome<Vec<u64>> {
        let words = Buffer::<u64>::filled(device, 64 * 64 * kernels::CLUSTER_WORDS, 0)?;
        let grid = Grid::new(64, 64).shared(2048);
        // SAFETY: every thread of the 64 blocks has its words.
        unsafe { device.launch::<kernels::Clusters>(grid, (11, words.as_mut_ptr()))? };
        let mut found = vec![0; words.len()];
        words.download(&mut found)?;
        Ok(found)
    };
    let (expected, found) = (run(&emulator)?, run(&bench.device)?);
    let strange = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
    println!(
        "clusters: {} words, {strange} differ from the emulator's",
        found.len()
    );
    let (expected, found) = (moved_tiles(&emulator)?, moved_tiles(&bench.device)?);
    let misplaced = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
    println!(
        "tiles in one, two and three dimensions: {} bytes, {misplaced} differ from the emulator's",
        found.len()
    );
    let stale = stale_constants(&bench.device)?;
    println!("constants: 3 values of 4 numbers, {stale} products with another value");
    if wrong > 0 || lost > 0 || strange > 0 || misplaced > 0 || stale > 0 || error > 1e-5 {
        return Err("this device and the emulator disagree".into());
    }
    Ok(())
}

/// Launches a kernel with the first value of a constant and with two others that are set while launches are queued; returns the number of
/// results that have another value.
fn stale_constants(device: &Arc<dyn Device>) -> Outcome<usize> {
    const COUNT: usize = 100_000;
    let values = [
        [1.0, 2.0, 3.0, 4.0],
        [0.5, -2.0, 0.25, 8.0],
        [7.0, 0.0, -1.0, 1e300],
    ];
    let first: Vec<f64> = (0..COUNT).map(|i| 1.0 + i as f64).collect();
    let mut arrays = Vec::new();
    for (k, value) in values.iter().enumerate() {
        let numbers = Buffer::of(device, &first)?;
        if k > 0 {
            // SAFETY: a launch in the emulator has ended when it returns, and nothing else uses the constant.
            unsafe { device.set_constant(&kernels::WEIGHTS, *value)? };
        }
        let arguments = (numbers.as_mut_ptr(), COUNT as u32);
        // SAFETY: there are this many numbers.
        unsafe {
            device.launch::<kernels::Weighted>(Grid::covering(COUNT as u32, 128), arguments)?
        };
        arrays.push(numbers);
    }
    let mut stale = 0;
    let mut found = vec![0.0; COUNT];
    for (value, numbers) in values.iter().zip(&arrays) {
        numbers.download(&mut found)?;
        let right = |i: usize| first[i] * value[i % 4];
        stale += (0..COUNT).filter(|&i| found[i] != right(i)).count();
    }
    Ok(stale)
}

/// The bytes of the arrays that [`kernels::tiles`] writes.
fn moved_tiles(device: &Arc<dyn Device>) -> Outcome<Vec<u8>> {
    let mut found = Vec::new();
    let one = Tiled::<f64, 1>::new(device, Tiles::packed([1000], kernels::TILE_1), f64::from)?;
    let two = Tiles {
        strides: [1, 112],
        ..Tiles::packed([100, 37], kernels::TILE_2)
    };
    let two = Tiled::<f32, 2>::new(device, two, |x| x as f32)?;
    let three = Tiles::packed([40, 6, 5], kernels::TILE_3);
    let three = Tiled::<u16, 3>::new(device, three, |x| x as u16)?;
    let arguments = (
        one.from_map.as_ptr(),
        one.to_map.as_ptr(),
        two.from_map.as_ptr(),
        two.to_map.as_ptr(),
        three.from_map.as_ptr(),
        three.to_map.as_ptr(),
        5,
        3,
    );
    // SAFETY: the maps are those of arrays that nothing else uses.
    unsafe { device.launch::<kernels::Tiles>(Grid::new(50, 32), arguments)? };
    found.extend(one.bytes()?);
    found.extend(two.bytes()?);
    found.extend(three.bytes()?);
    Ok(found)
}

/// An array that is read and one that is written, and their maps.
struct Tiled<T: Plain, const D: usize> {
    /// The map needs it.
    _from: Buffer<T>,
    to: Buffer<T>,
    from_map: Buffer<TensorMap<T, D>>,
    to_map: Buffer<TensorMap<T, D>>,
}

impl<T: Plain, const D: usize> Tiled<T, D> {
    fn new(device: &Arc<dyn Device>, tiles: Tiles<D>, number: impl Fn(i32) -> T) -> Outcome<Self> {
        let numbers: Vec<T> = (0..tiles.span() as i32).map(number).collect();
        let from = Buffer::of(device, &numbers)?;
        let to = Buffer::filled(device, numbers.len(), 0)?;
        Ok(Self {
            from_map: Buffer::of(device, &[from.tensor_map(&tiles)?])?,
            to_map: Buffer::of(device, &[to.tensor_map(&tiles)?])?,
            _from: from,
            to,
        })
    }

    /// The bytes of the array that is written.
    fn bytes(&self) -> Outcome<Vec<u8>> {
        let mut values = Vec::<T>::with_capacity(self.to.len());
        // SAFETY: the download writes all values, and all bits of a plain value are valid.
        unsafe {
            self.to.device().download(
                values.as_mut_ptr().cast(),
                self.to.as_ptr() as u64,
                self.to.len() * size_of::<T>(),
            )?;
            values.set_len(self.to.len());
            let bytes =
                std::slice::from_raw_parts(values.as_ptr().cast(), self.to.len() * size_of::<T>());
            Ok(bytes.to_vec())
        }
    }
}

/// The errors of the fast functions. The sum of the bits of all results serves to compare them with CUDA C++'s.
fn functions(bench: &Bench) -> Outcome<()> {
    let n = bench.size(1 << 22, 1 << 12);
    let uniform = |seed: u64, low: f32, high: f32| {
        (0..n as u64)
            .map(move |i| low + (high - low) * ((scrambled(i, seed) >> 40) as f32 / 16_777_216.0))
    };
    // Every exponent from -60 to 59.
    let positive = (0..n as u64).map(|i| {
        let bits = scrambled(i, 8);
        f32::from_bits(((67 + (bits >> 40) % 120) as u32) << 23 | (bits & 0x7f_ffff) as u32)
    });
    let angles = uniform(6, -std::f32::consts::PI, std::f32::consts::PI);
    let x: Vec<f32> = angles
        .chain(uniform(7, -30.0, 30.0))
        .chain(positive)
        .collect();
    let y: Vec<f32> = uniform(9, 0.25, 2.0).collect();
    let (on_x, on_y) = (
        Buffer::of(&bench.device, &x)?,
        Buffer::of(&bench.device, &y)?,
    );
    let results = Buffer::<f32>::filled(&bench.device, kernels::FUNCTIONS.len() * n, 0xff)?;
    let arguments = (on_x.as_ptr(), on_y.as_ptr(), results.as_mut_ptr(), n);
    // SAFETY: the buffers have the numbers that the kernel asks for.
    unsafe {
        bench
            .device
            .launch::<kernels::FastFunctions>(Grid::covering(n as u32, 256), arguments)?
    };
    let mut found = vec![0.0; results.len()];
    results.download(&mut found)?;
    let exact: [fn(f64, f64) -> f64; 10] = [
        |x, _| x.sin(),
        |x, _| x.cos(),
        |x, _| x.tan(),
        |x, _| x.exp(),
        |x, _| 10f64.powf(x),
        |x, _| x.ln(),
        |x, _| x.log2(),
        |x, _| x.log10(),
        f64::powf,
        |x, y| x / y,
    ];
    for ((name, exact), found) in kernels::FUNCTIONS
        .iter()
        .zip(exact)
        .zip(found.chunks_exact(n))
    {
        let part = match *name {
            "sin" | "cos" | "tan" => &x[..n],
            "exp" | "exp10" => &x[n..2 * n],
            _ => &x[2 * n..],
        };
        // Sines, cosines, tangents and logarithms lose their last digits near their zeros, and tangents near their poles.
        let zeros = matches!(*name, "sin" | "cos" | "tan" | "log" | "log2" | "log10");
        let (mut ulps, mut near_zero, mut bits) = (0f64, 0f64, 0u64);
        for ((&x, &y), &found) in part.iter().zip(&y).zip(found) {
            let expected = exact(x.into(), y.into());
            let error = (f64::from(found) - expected).abs();
            bits = bits.wrapping_add(found.to_bits().into());
            let size = expected.abs();
            if zeros && size < 1.0 / 16.0 {
                near_zero = near_zero.max(error);
            } else if size
                <= if *name == "tan" {
                    16.0
                } else {
                    f32::MAX.into()
                }
                && size >= f32::MIN_POSITIVE.into()
            {
                ulps = ulps.max(error / 2f64.powi(size.log2().floor() as i32 - 23));
            }
        }
        let rest = if zeros {
            format!(", {near_zero:.1e} below 1/16")
        } else {
            String::new()
        };
        println!("fast {name:<8} {n} arguments: error up to {ulps:.1} ULP{rest}; bits {bits:016x}");
        if !ulps.is_finite() || !near_zero.is_finite() {
            return Err(format!("the fast {name} is not finite where the function is").into());
        }
    }
    Ok(())
}

/// A number that looks random.
fn scrambled(i: u64, seed: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed;
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

/// Whole numbers between -8 and 8 in a fixed disorder: their products and sums are exact in every order.
fn whole_numbers(count: usize, seed: u64) -> impl Iterator<Item = i32> {
    (0..count as u64).map(move |i| (scrambled(i, seed) >> 40) as i32 % 17 - 8)
}

/// Compares some elements of a product of square matrices with sums on the CPU.
fn check_product(a: &[i32], b: &[i32], n: usize, element: impl Fn(usize) -> f64) -> Outcome<()> {
    for place in (0..n * n).step_by((n * n / 4096).max(1) | 1) {
        let (row, column) = (place / n, place % n);
        let expected: i32 = (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum();
        if element(place) != f64::from(expected) {
            return Err(format!(
                "element {row}, {column} of the product is {}, not {expected}",
                element(place)
            )
            .into());
        }
    }
    Ok(())
}

/// A matrix of whole numbers with `n` rows and columns, here and as numbers of the device.
fn matrix<T: Plain>(
    bench: &Bench,
    n: usize,
    seed: u64,
    number: impl Fn(i32) -> T,
) -> Outcome<(Vec<i32>, Buffer<T>)> {
    let numbers: Vec<i32> = whole_numbers(n * n, seed).collect();
    let there: Vec<T> = numbers.iter().map(|&x| number(x)).collect();
    Ok((numbers, Buffer::of(&bench.device, &there)?))
}

fn tiled(bench: &Bench) -> Outcome<()> {
    let n = bench.size(4096, 50);
    let (a, on_a) = matrix(bench, n, 1, |x| x as f32)?;
    let (b, on_b) = matrix(bench, n, 2, |x| x as f32)?;
    let mut c = Buffer::<f32>::filled(&bench.device, n * n, 0xff)?;
    let blocks = n.div_ceil(SIDE).pow(2) as u32;
    let grid = Grid::new(blocks, (SIDE * SIDE) as u32);
    let mut measure = |entry: Entry<_>, what: &str| {
        let launch = || {
            let arguments = (on_a.slice(), on_b.slice(), c.as_mut_ptr(), n, n, n);
            // SAFETY: the matrices have n rows and n columns.
            unsafe { bench.device.launch_entry(entry, grid, arguments) }
        };
        bench.time(
            &format!("product by tiles, f32, {n}³{what}"),
            2.0 * (n as f64).powi(3),
            "Tflop/s",
            launch,
        )?;
        let mut found = vec![0.0; n * n];
        c.download(&mut found)?;
        c.fill(0xff)?;
        check_product(&a, &b, n, |place| found[place].into())
    };
    measure(Entry::of::<kernels::ProductTiled<false>>(), "")?;
    measure(
        Entry::of::<kernels::ProductTiled<true>>(),
        ", bounds checked",
    )
}

fn product(bench: &Bench) -> Outcome<()> {
    let n = bench.size(8192, PRODUCT_TILE);
    let (a, on_a) = matrix(bench, n, 1, f64::from)?;
    let (b, on_b) = matrix(bench, n, 2, f64::from)?;
    let c = Buffer::<f64>::filled(&bench.device, n * n, 0xff)?;
    let grid = Grid::new((n / PRODUCT_TILE).pow(2) as u32, PRODUCT_THREADS).shared(PRODUCT_SHARED);
    let launch = || {
        let arguments = (on_a.as_ptr(), on_b.as_ptr(), c.as_mut_ptr(), n, n, n);
        // SAFETY: the matrices have n rows and n columns, and n is a multiple of the tile's side.
        unsafe { bench.device.launch::<kernels::ProductF64>(grid, arguments) }
    };
    bench.time(
        &format!("product on tensor cores, f64, {n}³"),
        2.0 * (n as f64).powi(3),
        "Tflop/s",
        launch,
    )?;
    let mut found = vec![0.0; n * n];
    c.download(&mut found)?;
    check_product(&a, &b, n, |place| found[place])
}

/// Groups of four numbers, and the numbers.
fn fours(bench: &Bench) -> (usize, Vec<Four>) {
    let count = bench.size(1 << 26, 3 * 1024 + 5);
    let numbers: Vec<u32> = whole_numbers(4 * count, 3)
        .map(|x| (x + 8) as u32)
        .collect();
    let groups = numbers.chunks_exact(4);
    (
        count,
        groups
            .map(|four| Four {
                x: four[0],
                y: four[1],
                z: four[2],
                w: four[3],
            })
            .collect(),
    )
}

fn copy(bench: &Bench) -> Outcome<()> {
    let (count, x) = fours(bench);
    let from = Buffer::of(&bench.device, &x)?;
    let to = Buffer::<Four>::filled(&bench.device, count, 0xff)?;
    let grid = Grid::covering(count as u32, COPY_THREADS * COPY_EACH);
    let grid = Grid::new(grid.blocks, COPY_THREADS);
    let launch = || {
        let arguments = (from.as_ptr(), to.as_mut_ptr(), count);
        // SAFETY: both buffers have this length.
        unsafe { bench.device.launch::<kernels::Copy>(grid, arguments) }
    };
    bench.time(
        &format!("copy, {count} x 16 bytes"),
        32.0 * count as f64,
        "TB/s",
        launch,
    )?;
    let mut found = vec![Four::default(); count];
    to.download(&mut found)?;
    if found != x {
        return Err("the copy differs".into());
    }
    Ok(())
}

fn sum(bench: &Bench) -> Outcome<()> {
    let count = bench.size(1 << 26, 3 * 1024 + 5);
    // Sums of these stay exact in f32 in every order, and the whole one is far from 0.
    let numbers: Vec<i32> = whole_numbers(4 * count, 3)
        .map(|x| i32::from(x > 7))
        .collect();
    let groups = numbers.chunks_exact(4);
    let x: Vec<_> = groups
        .map(|four| {
            let [x, y, z, w] = [0, 1, 2, 3].map(|i| four[i] as f32);
            cuda_std::shared::F4 { x, y, z, w }
        })
        .collect();
    let on_device = Buffer::of(&bench.device, &x)?;
    let blocks = bench.size(8 * bench.device.info().multiprocessors as usize, 5);
    let parts = Buffer::<f32>::filled(&bench.device, blocks.next_multiple_of(4), 0)?;
    let total = Buffer::<f32>::filled(&bench.device, 1, 0xff)?;
    let launch = || {
        let first = (on_device.as_ptr(), count, parts.as_mut_ptr());
        let second = (
            parts.as_ptr().cast(),
            blocks.div_ceil(4),
            total.as_mut_ptr(),
        );
        // SAFETY: there is a part for each block; parts beyond them are 0.
        unsafe {
            bench
                .device
                .launch::<kernels::Sum>(Grid::new(blocks as u32, SUM_THREADS), first)?;
            bench
                .device
                .launch::<kernels::Sum>(Grid::new(1, SUM_THREADS), second)?;
        }
        Ok(())
    };
    bench.time(
        &format!("sum, {} f32", 4 * count),
        16.0 * count as f64,
        "TB/s",
        launch,
    )?;
    let mut found = [0.0];
    total.download(&mut found)?;
    let expected: i32 = numbers.iter().sum();
    if f64::from(found[0]) != f64::from(expected) {
        return Err(format!("the sum is {}, not {expected}", found[0]).into());
    }
    Ok(())
}

fn scan(bench: &Bench) -> Outcome<()> {
    let (count, x) = fours(bench);
    let on_device = Buffer::of(&bench.device, &x)?;
    let sums = Buffer::<Four>::filled(&bench.device, count, 0xff)?;
    let tiles = (4 * count).div_ceil(SCAN_TILE as usize);
    let mut known = Buffer::<u64>::filled(&bench.device, tiles, 0)?;
    let launch = || {
        known.fill(0)?;
        let arguments = (
            on_device.as_ptr(),
            sums.as_mut_ptr(),
            count,
            known.as_ptr().cast(),
        );
        // SAFETY: all buffers have the lengths that the kernel asks for.
        unsafe {
            bench
                .device
                .launch::<kernels::Scan>(Grid::new(tiles as u32, SCAN_THREADS), arguments)?
        };
        Ok(())
    };
    bench.time(
        &format!("running sums, {} u32", 4 * count),
        32.0 * count as f64,
        "TB/s",
        launch,
    )?;
    let mut found = vec![Four::default(); count];
    sums.download(&mut found)?;
    let mut sum = 0u32;
    let numbers = |four: &Four| [four.x, four.y, four.z, four.w];
    for (i, (x, found)) in x
        .iter()
        .flat_map(numbers)
        .zip(found.iter().flat_map(numbers))
        .enumerate()
    {
        sum = sum.wrapping_add(x);
        if sum != found {
            return Err(format!("running sum {i} is {found}, not {sum}").into());
        }
    }
    Ok(())
}
