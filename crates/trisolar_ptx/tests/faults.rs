//! Seeded faults: each is found in its line, and its mended twin gives no report.

use trisolar_ptx::{Fault, Grid, Kind, Machine, Memory, Module};

/// Runs code, each line of which is a line of `kernel.rs`. Before it, `%rd1` is a buffer `x` of 64 words that the host has set to 0, 1, 2, …,
/// `%rd2` one that nothing has written, and `%rd3` one that has been freed; `%r1` is the thread in the block, `%r2` the block, `%r3` the thread
/// in the grid, `%rd4` the address of its word in `x`, `%r4` four times `%r1`, and `%r5` the address of the thread's word in the shared array
/// `tile` of 64 words, behind which another one stands. Functions and variables stand before a line `---`.
fn run(code: &str, grid: Grid) -> Result<[u32; 64], Fault> {
    let (outside, code) = code.split_once("---\n").unwrap_or(("", code));
    let lines: Vec<String> = (code.lines().enumerate())
        .map(|(n, line)| format!(".loc 1 {} 1\n{}\n", n + 1, line.replace("// !", "")))
        .collect();
    let text = format!(
        ".version 7.0
        .target sm_70
        .address_size 64
        .file 1 \"kernel.rs\"
        .shared .align 16 .b8 tile[256];
        .shared .align 16 .b8 behind[256];
        .const .align 4 .b8 table[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};
        .visible .global .align 4 .u32 counter;
        {outside}
        .visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z) {{
        .local .align 16 .b8 depot[32];
        .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b64 %SP; .reg .b64 %SPL;
        mov.b64 %SPL, depot; cvta.local.u64 %SP, %SPL;
        ld.param.b64 %rd1, [x]; ld.param.b64 %rd2, [y]; ld.param.b64 %rd3, [z];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
        mad.lo.s32 %r3, %r2, %r3, %r1; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd4, %rd1, %rd4;
        shl.b32 %r4, %r1, 2; mov.b32 %r5, tile; add.s32 %r5, %r5, %r4;
        {}
        ret; }}",
        lines.concat()
    );
    let module = Module::decode(&text).unwrap_or_else(|e| panic!("{code}: {e}"));
    assert_eq!(module.unknown(), [""; 0]);
    let mut memory = Memory::new();
    let mut x: [u32; 64] = std::array::from_fn(|i| i as u32);
    let (mut y, mut z) = ([0_u32; 64], [0_u32; 64]);
    let addresses = [&mut x, &mut y, &mut z].map(|a| (a.as_mut_ptr() as u64).to_ne_bytes());
    for (address, written) in addresses.iter().zip([true, false, true]) {
        // SAFETY: the arrays outlive the launch, and nothing else uses them.
        unsafe { memory.add(u64::from_ne_bytes(*address), 256, written) };
    }
    memory.free(u64::from_ne_bytes(addresses[2]));
    let arguments = addresses.each_ref().map(|a| &a[..]);
    let mut machine = Machine::new(module).at_most(1 << 22);
    machine.launch(&mut memory, "k", grid, &arguments)?;
    Ok(x)
}

/// Code with a fault, whose line ends with `// !`, blocks and threads.
fn finds(kind: Kind, faults: &[(u32, u32, &str)]) {
    for (blocks, threads, code) in faults {
        let body = code.split_once("---\n").map_or(*code, |(_, body)| body);
        let line = body.lines().position(|line| line.ends_with("// !"));
        let line = line.expect("a line with a fault") as u32 + 1;
        let grid = Grid {
            shared_bytes: 64,
            ..Grid::new(*blocks, *threads)
        };
        let fault = run(code, grid).expect_err(code);
        assert_eq!(fault.kind, kind, "{code}\n{fault}");
        let place = fault.place.as_ref().expect("a place");
        let source = place.source.clone();
        assert_eq!(source, Some(("kernel.rs".into(), line)), "{code}\n{fault}");
        assert!(fault.thread.is_some() && fault.kernel == "k");
        let said = fault.to_string();
        assert!(said.contains(&format!("kernel.rs:{line}")), "{said}");
    }
}

/// Code without a fault, in natural grids.
fn clean(kernels: &[(u32, u32, &str)]) {
    for (blocks, threads, code) in kernels {
        let grid = Grid {
            shared_bytes: 64,
            cooperative: *blocks > 1,
            ..Grid::new(*blocks, *threads)
        };
        if let Err(fault) = run(code, grid) {
            panic!("{code}\n{fault}");
        }
    }
}

#[test]
fn accesses_out_of_bounds() {
    finds(
        Kind::OutOfBounds,
        &[
            (1, 1, "add.s32 %r6, %r1, 1;\nld.global.b32 %r6, [%rd1+256]; // !"),
            (1, 1, "st.global.b32 [%rd1+256], 1; // !"),
            (1, 1, "ld.global.b32 %r6, [%rd1+-4]; // !"),
            (2, 64, "ld.global.b32 %r6, [%rd4]; // !"),
            (1, 64, "mul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd5, %rd1, %rd5;\nst.global.b32 [%rd5], 1; // !"),
            (1, 1, "ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd1+256]; // !"),
            (1, 1, "mov.b64 %rd5, 0;\nst.b32 [%rd5], 1; // !"),
            (1, 1, "mov.b64 %rd5, 0;\nld.b64 %rd6, [%rd5+40]; // !"),
            (1, 1, "add.s64 %rd5, %rd1, 2147483648;\nst.global.b32 [%rd5], 1; // !"),
            (1, 1, "mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, -400;\nld.global.b32 %r6, [%rd5]; // !"),
            (1, 1, "mov.b64 %rd5, -8;\nld.b64 %rd6, [%rd5]; // !"),
            (1, 1, "atom.global.add.u32 %r6, [%rd1+256], 1; // !"),
            (1, 1, "red.global.add.u32 [%rd1+1024], 1; // !"),
            (1, 64, "st.shared.b32 [%r5+4], 1; // !"),
            (1, 1, "ld.shared.b32 %r6, [%r5+-4]; // !"),
            (1, 1, "st.shared.b32 [tile+256], 1; // !"),
            (1, 1, "mov.b64 %rd5, tile;\ncvta.shared.u64 %rd5, %rd5;\nst.b64 [%rd5+260], 1;\nret; // !".trim_end_matches("\nret; // !")).3(),
        ],
    );
}
