//! Seeded faults: each is found in its line, and its mended twin gives no report.

use trisolar_ptx::{Fault, Grid, Kind, Machine, Memory, Module};

/// Runs code, each line of which is a line of `kernel.rs`. Before it, `%rd1` is a buffer `x` of 64 words that the host has set to 0, 1, 2, …,
/// `%rd2` one that nothing has written, and `%rd3` one that has been freed; `%r1` is the thread in the block, `%r2` the block, `%r3` the thread
/// in the grid, `%rd4` the address of its word in `x`, `%r4` four times `%r1`, and `%r5` the address of the thread's word in the shared array
/// `tile` of 64 words, behind which another one stands. Functions and variables stand before a line `---`.
#[expect(clippy::result_large_err, reason = "a test")]
fn run(code: &str, grid: Grid) -> Result<(), Fault> {
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
    // Behind each buffer there is room that belongs to none.
    #[repr(align(256))]
    struct Words([u32; 128]);
    let mut words = [(); 3].map(|()| Words([0x7e7e_7e7e; 128]));
    words[0].0[..64].copy_from_slice(&std::array::from_fn::<u32, 64, _>(|i| i as u32));
    let addresses = (words.each_mut()).map(|a| (a.0.as_mut_ptr() as u64).to_ne_bytes());
    for (address, written) in addresses.iter().zip([true, false, true]) {
        // SAFETY: the arrays outlive the launch, and nothing else uses them.
        unsafe { memory.add(u64::from_ne_bytes(*address), 256, written) };
    }
    memory.free(u64::from_ne_bytes(addresses[2]));
    let arguments = addresses.each_ref().map(|a| &a[..]);
    let mut machine = Machine::new(module).at_most(1 << 22);
    machine.launch(&mut memory, "k", grid, &arguments)?;
    Ok(())
}

/// Kernels of a list: blocks and threads, a title, and the code.
fn kernels(list: &str) -> impl Iterator<Item = (Grid, &str, &str)> {
    list.trim().split("\n\n").map(|kernel| {
        let (head, code) = kernel.split_once('\n').expect("a title and code");
        let mut words = head.splitn(3, ' ');
        let mut next = || words.next().expect("blocks, threads and a title");
        let (blocks, threads) = (next(), next());
        let number = |text: &str| text.parse().expect("a number");
        let grid = Grid {
            shared_bytes: 64,
            cooperative: blocks != "1",
            ..Grid::new(number(blocks), number(threads))
        };
        (grid, next(), code)
    })
}

/// Each kernel of a list has a fault, in the line that ends with `// !`.
fn finds(kind: Kind, list: &str) {
    for (grid, title, code) in kernels(list) {
        let body = code.split_once("---\n").map_or(code, |(_, body)| body);
        let line = body.lines().position(|line| line.ends_with("// !"));
        let line = line.unwrap_or_else(|| panic!("{title} has no marked line")) as u32 + 1;
        let Err(fault) = run(code, grid) else {
            panic!("{title} is not found");
        };
        assert_eq!(fault.kind, kind, "{title}: {fault}");
        let source = fault.place.as_ref().and_then(|place| place.source.clone());
        assert_eq!(source, Some(("kernel.rs".into(), line)), "{title}: {fault}");
        assert!(fault.thread.is_some() && fault.kernel == "k");
        let said = fault.to_string();
        assert!(said.contains(&format!("kernel.rs:{line}")), "{said}");
    }
}

#[test]
fn accesses_out_of_bounds() {
    finds(
        Kind::OutOfBounds,
        "
1 1 a read one word behind a buffer
mov.b32 %r6, 0;
ld.global.b32 %r6, [%rd1+256]; // !

1 1 a write one word behind a buffer
st.global.b32 [%rd1+256], 1; // !

1 1 a read before a buffer
ld.global.b32 %r6, [%rd1+-4]; // !

2 64 more threads than words
ld.global.b32 %r6, [%rd4]; // !

1 64 an index scaled by the wrong size
mul.wide.u32 %rd5, %r1, 8;
add.s64 %rd5, %rd1, %rd5;
st.global.b32 [%rd5], 1; // !

1 1 a vector behind the end
ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd1+256]; // !

1 1 a null pointer
mov.b64 %rd5, 0;
st.b32 [%rd5], 1; // !

1 1 a field of a null pointer
mov.b64 %rd5, 0;
ld.b64 %rd6, [%rd5+40]; // !

1 1 two gigabytes away
add.s64 %rd5, %rd1, 2147483648;
st.global.b32 [%rd5], 1; // !

1 1 a negative index
mov.b32 %r6, -100;
mul.wide.s32 %rd5, %r6, 4;
add.s64 %rd5, %rd1, %rd5;
ld.global.b32 %r6, [%rd5]; // !

1 1 a negative index without its sign
mov.b32 %r6, -1;
mul.wide.u32 %rd5, %r6, 4;
add.s64 %rd5, %rd1, %rd5;
ld.global.b32 %r6, [%rd5]; // !

1 1 the end of the address space
mov.b64 %rd5, -8;
ld.b64 %rd6, [%rd5]; // !

1 1 an atomic behind a buffer
atom.global.add.u32 %r6, [%rd1+256], 1; // !

1 1 a reduction behind a buffer
red.global.add.u32 [%rd1+300], 1; // !

1 64 the last thread's neighbour in shared memory
st.shared.b32 [%r5+4], 1; // !

1 1 before a shared array
ld.shared.b32 %r6, [%r5+-4]; // !

1 1 one word behind a shared array, before the next one
st.shared.b32 [tile+256], 1; // !

1 1 behind a shared array by a generic address
mov.b64 %rd5, tile;
cvta.shared.u64 %rd5, %rd5;
st.b32 [%rd5+256], 1; // !

1 1 behind dynamic shared memory
.extern .shared .align 16 .b8 dynamic[];
---
mov.b32 %r6, dynamic;
st.shared.b32 [%r6+60], 1;
st.shared.b32 [%r6+64], 1; // !

1 1 an address of shared memory that was not made generic
mov.b64 %rd5, tile;
st.b32 [%rd5+64], 1; // !

1 1 an address of local memory that was not made generic
st.b32 [%SPL], 1; // !

1 1 shared memory as if it were global
mov.b64 %rd5, tile;
cvta.shared.u64 %rd5, %rd5;
st.global.b32 [%rd5], 1; // !

1 1 a global address as if it were shared
st.shared.b32 [%rd1], 1; // !

1 1 behind a local array
st.local.b32 [%SPL+32], 1; // !

1 1 before a local array
st.local.b32 [%SPL+-4], 1; // !

1 1 a local array by an index
mov.b64 %rd5, 4096;
add.s64 %rd5, %SP, %rd5;
st.b32 [%rd5], 1; // !

1 1 behind a global variable
mov.b64 %rd5, counter;
st.global.b32 [%rd5+4], 1; // !

1 1 behind a constant table
mov.b64 %rd5, table;
ld.const.b32 %r6, [%rd5+8]; // !

1 1 behind the parameters
mov.b64 %rd5, x;
cvta.param.u64 %rd5, %rd5;
ld.b64 %rd6, [%rd5+800]; // !

1 32 an asynchronous copy from behind a buffer
mov.b32 %r6, tile;
cp.async.ca.shared.global [%r6], [%rd1], 4;
add.s64 %rd5, %rd1, 256;
cp.async.ca.shared.global [%r6], [%rd5], 4; // !

1 1 a local array of a function that has returned
.func (.param .b64 result) inner() {
.local .align 8 .b8 own[16];
.reg .b64 %rd<3>;
mov.b64 %rd1, own; cvta.local.u64 %rd2, %rd1;
st.local.b64 [%rd1], 7;
st.param.b64 [result], %rd2; ret; }
---
{ .param .b64 retval0; call.uni (retval0), inner, (); ld.param.b64 %rd5, [retval0]; }
ld.b64 %rd6, [%rd5]; // !
",
    );
}

#[test]
fn recursion_without_an_end_fills_the_stack() {
    let code = ".func inner() { .local .align 8 .b8 own[1600]; call.uni inner, (); ret; }
---
mov.b32 %r6, 0;
call.uni inner, ();";
    let fault = run(code, Grid::new(1, 1)).expect_err("a full stack");
    assert!(fault.to_string().contains("stack is full"), "{fault}");
}

#[test]
fn uses_of_freed_memory() {
    finds(
        Kind::Freed,
        "
1 1 a read of a freed buffer
ld.global.b32 %r6, [%rd3]; // !

1 1 a write to a freed buffer
st.b32 [%rd3+252], 1; // !

1 1 an atomic on a freed buffer
atom.global.add.u32 %r6, [%rd3], 1; // !

1 1 a use after free of the kernel's heap
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
.extern .func free (.param .b64 free_param_0);
---
{ .param .b64 param0; st.param.b64 [param0], 64; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd5, [retval0]; }
st.b64 [%rd5], 5;
{ .param .b64 param0; st.param.b64 [param0], %rd5; call.uni free, (param0); }
ld.b64 %rd6, [%rd5]; // !

1 1 a second free
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
.extern .func free (.param .b64 free_param_0);
---
{ .param .b64 param0; st.param.b64 [param0], 64; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd5, [retval0]; }
{ .param .b64 param0; st.param.b64 [param0], %rd5; call.uni free, (param0); }
{ .param .b64 param0; st.param.b64 [param0], %rd5; call.uni free, (param0); } // !

1 1 a free of what malloc has not given
.extern .func free (.param .b64 free_param_0);
---
{ .param .b64 param0; st.param.b64 [param0], %rd1; call.uni free, (param0); } // !
",
    );
}

#[test]
fn misaligned_accesses() {
    finds(
        Kind::Misaligned,
        "
1 1 a word
ld.global.b32 %r6, [%rd1+2]; // !

1 1 a double word
st.global.b64 [%rd1+4], 1; // !

1 1 half a word
ld.global.b16 %rs1, [%rd1+1]; // !

1 1 a vector of four words
ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd1+8]; // !

1 1 a vector of two double words
st.global.v2.b64 [%rd1+8], {%rd1, %rd2}; // !

1 1 shared memory
st.shared.b64 [tile+4], 1; // !

1 1 local memory
st.local.b32 [%SPL+1], 1; // !

1 1 an atomic
atom.global.add.u64 %rd5, [%rd1+4], 1; // !

1 1 a packed field by a generic address
add.s64 %rd5, %rd1, 6;
ld.b64 %rd6, [%rd5]; // !
",
    );
}

#[test]
fn memory_that_nothing_has_written() {
    finds(
        Kind::Uninitialised,
        "
1 1 shared memory
ld.shared.b32 %r6, [%r5]; // !

1 1 a buffer
ld.global.b32 %r6, [%rd2+8]; // !

1 1 a buffer by an atomic
atom.global.add.u32 %r6, [%rd2], 1; // !

1 64 shared memory that half of the threads have written
setp.lt.u32 %p1, %r1, 32;
@%p1 st.shared.b32 [%r5], 1;
bar.sync 0;
sub.s32 %r6, 252, %r4;
ld.shared.b32 %r6, [tile+252]; // !

2 1 shared memory that an earlier block has written
setp.eq.u32 %p1, %r2, 0;
@%p1 st.shared.b32 [tile], 1;
@%p1 bra DONE;
ld.shared.b32 %r6, [tile]; // !
DONE:

1 1 a sum of local memory that is stored
ld.local.b32 %r6, [%SPL]; // !
add.s32 %r6, %r6, 1;
st.global.b32 [%rd4], %r6;

1 1 local memory that decides
st.local.b32 [%SPL], 1;
ld.local.b32 %r6, [%SPL+4]; // !
setp.eq.s32 %p1, %r6, 5;
@%p1 bra DONE;
DONE:

1 1 local memory as an address
ld.local.b64 %rd5, [%SPL+8]; // !
ld.global.b32 %r6, [%rd5];

1 1 local memory that selects a branch
T: .branchtargets A, B;
ld.local.b32 %r6, [%SPL]; // !
brx.idx %r6, T;
A:
B:

1 1 the upper half of a word of which the lower has been written
st.local.b32 [%SPL], 1;
ld.local.b64 %rd5, [%SPL]; // !
shr.u64 %rd5, %rd5, 32;
setp.eq.u64 %p1, %rd5, 0;
@%p1 bra DONE;
DONE:

1 1 local memory that is copied to shared memory and used there
ld.local.b32 %r6, [%SPL];
st.shared.b32 [%r5], %r6;
ld.shared.b32 %r7, [%r5]; // !

1 1 a comparison of local memory that decides by a choice
ld.local.b32 %r6, [%SPL]; // !
setp.gt.s32 %p1, %r6, 5;
selp.b32 %r7, 1, 2, %p1;
st.global.b32 [%rd4], %r7;

1 1 the kernel's heap
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
---
{ .param .b64 param0; st.param.b64 [param0], 64; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd5, [retval0]; }
ld.b64 %rd6, [%rd5]; // !
add.s64 %rd6, %rd6, 1;
st.global.b64 [%rd1], %rd6;

1 32 an asynchronous copy that is not waited for
mov.b32 %r6, tile;
cp.async.ca.shared.global [%r5], [%rd4], 4;
cp.async.commit_group;
ld.shared.b32 %r6, [%r5]; // !

1 32 the latest of two copies where all but one are waited for
cp.async.ca.shared.global [%r5], [%rd4], 4;
cp.async.commit_group;
cp.async.ca.shared.global [%r5+128], [%rd4], 4;
cp.async.commit_group;
cp.async.wait_group 1;
ld.shared.b32 %r6, [%r5];
ld.shared.b32 %r6, [%r5+128]; // !

1 1 the result of a function that gives none
.func (.param .b32 result) inner() { ret; }
---
{ .param .b32 retval0; call.uni (retval0), inner, ();
ld.param.b32 %r6, [retval0]; } // !
add.s32 %r6, %r6, 1;
st.global.b32 [%rd4], %r6;

1 1 local memory that an atomic adds
ld.local.b32 %r6, [%SPL]; // !
red.global.add.u32 [%rd1], %r6;

1 32 the value of a lane that does not take part
setp.gt.u32 %p1, %r1, 15;
@%p1 bra DONE;
shfl.sync.idx.b32 %r6, %r1, 20, 31, 65535; // !
add.s32 %r6, %r6, 1;
st.global.b32 [%rd4], %r6;
DONE:
",
    );
}

#[test]
fn races() {
    finds(
        Kind::Race,
        "
1 64 a missing barrier
sub.s32 %r6, 252, %r4;
mov.b32 %r7, tile;
add.s32 %r6, %r6, %r7;
st.shared.b32 [%r5], %r1; // !
st.shared.b32 [%r6], %r1;

1 64 a neighbour's word without a barrier
setp.eq.u32 %p1, %r1, 0;
st.shared.b32 [%r5], %r1;
@!%p1 ld.shared.b32 %r6, [%r5+-4]; // !

1 64 all threads write the same word
st.shared.b32 [tile], %r1; // !

2 1 two blocks write the same word
st.global.b32 [%rd1], %r2; // !

1 64 a neighbour's word of a buffer
st.global.b32 [%rd4], %r1;
setp.eq.u32 %p1, %r1, 0;
@!%p1 ld.global.b32 %r6, [%rd4+-4]; // !

1 32 lanes of one warp
st.shared.b32 [%r5], %r1;
setp.eq.u32 %p1, %r1, 0;
@!%p1 ld.shared.b32 %r6, [%r5+-4]; // !

1 64 the next round overwrites what is still read
st.shared.b32 [%r5], %r1;
bar.sync 0;
ld.shared.b32 %r6, [tile];
setp.eq.u32 %p1, %r1, 1;
@%p1 st.shared.b32 [tile], 5; // !

1 64 a broadcast that its owner overwrites
setp.eq.u32 %p1, %r1, 63;
ld.global.b32 %r6, [%rd1];
@%p1 st.global.b32 [%rd1], 5; // !

1 128 a barrier of one half does not order the other
setp.lt.u32 %p1, %r1, 64;
and.b32 %r6, %r1, 31;
@%p1 bra HALF;
setp.eq.u32 %p2, %r1, 64;
@%p2 st.shared.b32 [tile], 1; // !
bra.uni DONE;
HALF:
setp.eq.u32 %p2, %r1, 0;
@%p2 st.shared.b32 [tile], 1;
bar.sync 1, 64;
DONE:

2 1 a sum without atomics
ld.global.b32 %r6, [%rd1]; // !
add.s32 %r6, %r6, 1;
st.global.b32 [%rd1], %r6;

2 1 atomics beside a plain read
setp.eq.u32 %p1, %r2, 0;
@%p1 atom.global.add.u32 %r6, [%rd1], 1;
@!%p1 ld.global.b32 %r6, [%rd1]; // !

2 1 a plain write beside atomics
setp.eq.u32 %p1, %r2, 0;
@%p1 atom.global.add.u32 %r6, [%rd1], 1;
@!%p1 st.global.b32 [%rd1], 0; // !

1 64 a plain zero beside atomics, also of its own thread
setp.eq.u32 %p1, %r1, 0;
@%p1 st.global.b32 [%rd1], 0;
atom.global.add.u32 %r6, [%rd1], 1; // !

1 2 the same byte
st.global.b8 [%rd1+5], 1; // !

1 64 the last step of a reduction without a barrier
st.shared.b32 [%r5], %r1;
bar.sync 0;
setp.lt.u32 %p1, %r1, 32;
@%p1 ld.shared.b32 %r6, [%r5+128];
@%p1 st.shared.b32 [%r5], %r6; // !
setp.lt.u32 %p1, %r1, 16;
@%p1 ld.shared.b32 %r6, [%r5+64];
@%p1 st.shared.b32 [%r5], %r6;

2 1 a flag without fences
setp.eq.u32 %p1, %r2, 1;
@%p1 bra READ;
st.global.b32 [%rd1+4], 7;
st.relaxed.gpu.global.b32 [%rd1], 1;
bra.uni DONE;
READ:
ld.relaxed.gpu.global.b32 %r6, [%rd1];
setp.ne.u32 %p2, %r6, 1;
@%p2 bra READ;
ld.global.b32 %r7, [%rd1+4]; // !
DONE:

2 1 a release without an acquire
setp.eq.u32 %p1, %r2, 1;
@%p1 bra READ;
st.global.b32 [%rd1+4], 7;
st.release.gpu.global.b32 [%rd1], 1;
bra.uni DONE;
READ:
ld.relaxed.gpu.global.b32 %r6, [%rd1];
setp.ne.u32 %p2, %r6, 1;
@%p2 bra READ;
ld.global.b32 %r7, [%rd1+4]; // !
DONE:

2 1 an acquire without a release
setp.eq.u32 %p1, %r2, 1;
@%p1 bra READ;
st.global.b32 [%rd1+4], 7;
st.relaxed.gpu.global.b32 [%rd1], 1;
bra.uni DONE;
READ:
ld.acquire.gpu.global.b32 %r6, [%rd1];
setp.ne.u32 %p2, %r6, 1;
@%p2 bra READ;
ld.global.b32 %r7, [%rd1+4]; // !
DONE:

2 1 a lock that is given back without a release
TRY: atom.acquire.gpu.cas.b32 %r6, [%rd1], 0, 1;
setp.ne.u32 %p1, %r6, 0;
@%p1 bra TRY;
ld.global.b32 %r7, [%rd1+4]; // !
add.s32 %r7, %r7, 1;
st.global.b32 [%rd1+4], %r7;
atom.relaxed.gpu.exch.b32 %r6, [%rd1], 0;

2 8 the last block without a fence
st.global.b32 [%rd4+64], %r1;
bar.sync 0;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra DONE;
atom.relaxed.gpu.add.u32 %r6, [%rd1], 1;
setp.ne.u32 %p1, %r6, 1;
@%p1 bra DONE;
ld.global.b32 %r7, [%rd1+64]; // !
DONE:

1 64 a barrier of the warp does not order other warps
st.shared.b32 [%r5], %r1;
bar.warp.sync -1;
setp.eq.u32 %p1, %r1, 32;
@%p1 ld.shared.b32 %r6, [tile]; // !

1 64 a shuffle orders no memory
st.shared.b32 [%r5], %r1;
shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;
setp.eq.u32 %p1, %r1, 1;
@%p1 ld.shared.b32 %r6, [tile]; // !

1 64 an asynchronous copy over what others still read
st.shared.b32 [%r5], %r1;
bar.sync 0;
ld.shared.b32 %r6, [tile];
setp.eq.u32 %p1, %r1, 63;
@%p1 cp.async.ca.shared.global [tile], [%rd4], 4; // !

2 1 a global variable
mov.b64 %rd5, counter;
st.global.b32 [%rd5], 1; // !
",
    );
}

#[test]
fn threads_that_wait_without_an_end() {
    finds(
        Kind::Hang,
        "
1 64 half of the threads leave before a barrier
setp.gt.u32 %p1, %r1, 31;
@%p1 ret;
bar.sync 0; // !

1 64 a barrier in one branch
setp.gt.u32 %p1, %r1, 31;
@%p1 bra DONE;
bar.sync 0; // !
DONE:

1 32 lanes of a warp at different barriers
setp.gt.u32 %p1, %r1, 15;
@%p1 bra OTHER;
bar.sync 0;
bra.uni DONE;
OTHER:
bar.sync 0; // !
DONE:

1 64 a barrier of more threads than there are
bar.sync 1, 96; // !

1 32 a shuffle of all lanes in one branch
setp.gt.u32 %p1, %r1, 15;
@%p1 bra OTHER;
shfl.sync.bfly.b32 %r6, %r1, 1, 31, -1; // !
OTHER:
bar.sync 0;

1 64 two warps at different barriers
setp.gt.u32 %p1, %r1, 31;
@%p1 bra OTHER;
bar.sync 1; // !
bra.uni DONE;
OTHER:
bar.sync 2;
DONE:

1 64 loops of different lengths around a barrier
mov.b32 %r6, 0;
LOOP:
bar.sync 0; // !
add.s32 %r6, %r6, 1;
shr.u32 %r7, %r1, 5;
add.s32 %r7, %r7, 1;
setp.lt.u32 %p1, %r6, %r7;
@%p1 bra LOOP;

1 32 a vote that the compiler has copied into both branches
setp.gt.u32 %p1, %r1, 15;
@%p1 bra OTHER;
vote.sync.any.pred %p2, %p1, -1; // !
bra.uni DONE;
OTHER:
vote.sync.any.pred %p2, %p1, -1;
DONE:
",
    );
}

#[test]
fn lines_are_found_where_the_table_of_files_follows_a_section() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n.loc 1 7 3\ntrap;\n}\n\t.section\t.debug_macinfo\t{\t}\n\t.file\t1 \"kernel.rs\"\n";
    let mut machine = Machine::new(Module::decode(text).expect("a module"));
    let ran = machine.launch(&mut Memory::new(), "k", Grid::new(1, 1), &[]);
    let place = ran.expect_err("a trap").place.expect("a place");
    assert_eq!(place.source, Some(("kernel.rs".into(), 7)));
}

#[test]
fn a_function_may_have_more_stores_than_registers() {
    let code = "st.global.b32 [%rd4], %r1;\n".repeat(100);
    run(&code, Grid::new(1, 1)).expect("no fault");
}

#[test]
fn a_flag_that_nobody_sets() {
    let code =
        "WAIT: ld.relaxed.gpu.global.b32 %r6, [%rd1];\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra WAIT;";
    let fault = run(code, Grid::new(1, 1)).expect_err("it waits");
    assert_eq!(fault.kind, Kind::Hang, "{fault}");
}

#[test]
fn wrong_use_of_operations() {
    finds(
        Kind::Misuse,
        "
1 32 a lane that is not in its own mask
setp.gt.u32 %p1, %r1, 15;
shfl.sync.bfly.b32 %r6, %r1, 1, 31, 65535; // !

1 32 a shuffle with lanes that have exited
setp.gt.u32 %p1, %r1, 15;
@%p1 exit;
shfl.sync.bfly.b32 %r6, %r1, 1, 31, -1; // !

1 32 lanes that name different masks
setp.gt.u32 %p1, %r1, 15;
selp.b32 %r6, -1, 65535, %p1;
bar.warp.sync %r6; // !

1 64 a barrier of half a warp
bar.sync 1, 48; // !

1 1 a branch behind the table
T: .branchtargets A, B;
mov.b32 %r6, 2;
brx.idx %r6, T; // !
A:
B:

1 1 a call of an address that is no function
prototype_0 : .callprototype ();
call %rd1, (), prototype_0; // !
",
    );
    finds(
        Kind::ReadOnly,
        "
1 1 a write to a constant
mov.b64 %rd5, table;
st.b32 [%rd5], 1; // !
",
    );
    finds(
        Kind::Trap,
        "
1 1 a panic
setp.eq.u32 %p1, %r1, 0;
@%p1 bra PANIC;
ret;
PANIC:
trap; // !
",
    );
    finds(
        Kind::Unsupported,
        "
1 1 a function that the module does not have
.extern .func elsewhere ();
---
call.uni elsewhere, (); // !
",
    );
}

#[test]
fn launches_that_do_not_fit() {
    let refused = |threads, arguments: &[&[u8]], words: &str| {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 x)\n.maxntid 64, 1, 1\n{ ret; }";
        let mut machine = Machine::new(Module::decode(text).expect("a module"));
        let ran = machine.launch(&mut Memory::new(), "k", Grid::new(1, threads), arguments);
        let fault = ran.expect_err(words);
        assert_eq!(fault.kind, Kind::Launch);
        assert!(fault.to_string().contains(words), "{fault}");
    };
    refused(65, &[&[0; 8]], "1 to 64 threads");
    refused(0, &[&[0; 8]], "1 to 64 threads");
    refused(1, &[&[0; 4]], "x has 8 bytes, and 4 are given");
    refused(1, &[], "1 parameters, and 0 are given");
}

/// The twins of the faults above, as they should be, and what a careless check would take for a fault.
#[test]
fn correct_kernels_give_no_report() {
    let list = "
1 64 a barrier
st.shared.b32 [%r5], %r1;
bar.sync 0;
sub.s32 %r6, 252, %r4;
mov.b32 %r7, tile;
add.s32 %r6, %r6, %r7;
ld.shared.b32 %r7, [%r6];
bar.sync 0;
st.shared.b32 [%r5], %r7;

1 32 a barrier of the warp, also after a word that all lanes read
st.shared.b32 [%r5], %r1;
bar.warp.sync -1;
ld.shared.b32 %r6, [tile];
bar.warp.sync -1;
setp.eq.u32 %p1, %r1, 3;
@%p1 st.shared.b32 [tile], 5;
bar.warp.sync -1;
ld.shared.b32 %r6, [tile];

1 32 barriers of the warp in two branches
setp.gt.u32 %p1, %r1, 15;
@%p1 bra OTHER;
bar.warp.sync 65535;
bra.uni DONE;
OTHER:
bar.warp.sync -65536;
DONE:

2 1 a flag with release and acquire
setp.eq.u32 %p1, %r2, 1;
@%p1 bra READ;
st.global.b32 [%rd1+4], 7;
st.release.gpu.global.b32 [%rd1], 1;
bra.uni DONE;
READ:
ld.acquire.gpu.global.b32 %r6, [%rd1];
setp.ne.u32 %p2, %r6, 1;
@%p2 bra READ;
ld.global.b32 %r7, [%rd1+4];
DONE:

2 1 a flag with fences
setp.eq.u32 %p1, %r2, 1;
@%p1 bra READ;
st.global.b32 [%rd1+4], 7;
membar.gl;
st.relaxed.gpu.global.b32 [%rd1], 1;
bra.uni DONE;
READ:
ld.relaxed.gpu.global.b32 %r6, [%rd1];
setp.ne.u32 %p2, %r6, 1;
@%p2 bra READ;
fence.acq_rel.gpu;
ld.global.b32 %r7, [%rd1+4];
DONE:

3 1 a lock
TRY: atom.acquire.gpu.cas.b32 %r6, [%rd1], 0, 1;
setp.ne.u32 %p1, %r6, 0;
@%p1 bra TRY;
ld.global.b32 %r7, [%rd1+4];
add.s32 %r7, %r7, 1;
st.global.b32 [%rd1+4], %r7;
atom.release.gpu.exch.b32 %r6, [%rd1], 0;

2 16 the last block sums what all have written
st.global.b32 [%rd4+64], %r1;
membar.gl;
bar.sync 0;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra DONE;
atom.acq_rel.gpu.add.u32 %r6, [%rd1], 1;
setp.ne.u32 %p1, %r6, 1;
@%p1 bra DONE;
membar.gl;
ld.global.b32 %r7, [%rd1+64];
ld.global.b32 %r7, [%rd1+188];
DONE:

2 16 a barrier of the grid, before and after which others' words are used
st.global.b32 [%rd4+64], %r1;
bar.sync 0;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra HERE;
atom.release.gpu.add.u32 %r6, [%rd1], 1;
WAIT:
ld.acquire.gpu.b32 %r6, [%rd1];
setp.lt.u32 %p1, %r6, 2;
@%p1 bra WAIT;
HERE:
bar.sync 0;
ld.global.b32 %r7, [%rd1+64];
ld.global.b32 %r7, [%rd1+188];

1 4 neighbouring bytes
cvt.u64.u32 %rd5, %r1;
add.s64 %rd5, %rd1, %rd5;
st.global.b8 [%rd5], 1;
bar.sync 0;
ld.global.b32 %r6, [%rd1];

1 64 atomics on one word
atom.global.add.u32 %r6, [%rd1], 1;
red.global.add.u32 [%rd1], 1;
bar.sync 0;
ld.global.b32 %r6, [%rd1];

1 1 a structure with a gap that is copied
st.local.b32 [%SPL], 1;
ld.local.b64 %rd5, [%SPL];
st.local.b64 [%SPL+8], %rd5;
st.global.b64 [%rd1], %rd5;
cvt.u32.u64 %r6, %rd5;
setp.eq.u32 %p1, %r6, 1;
@%p1 bra DONE;
trap;
DONE:

1 1 an absent value that is loaded early and not chosen
st.local.b32 [%SPL], 0;
ld.local.b32 %r6, [%SPL];
ld.local.b32 %r7, [%SPL+4];
add.s32 %r8, %r7, 5;
setp.eq.u32 %p1, %r6, 0;
selp.b32 %r9, 3, %r8, %p1;
st.global.b32 [%rd4], %r9;

1 1 a vector of the kernel's heap that grows, with words that nothing has written
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
---
{ .param .b64 param0; st.param.b64 [param0], 64; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd5, [retval0]; }
{ .param .b64 param0; st.param.b64 [param0], 128; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd6, [retval0]; }
st.b64 [%rd5], 3;
ld.b64 %rd7, [%rd5];
st.b64 [%rd6], %rd7;
ld.b64 %rd7, [%rd5+8];
st.b64 [%rd6+8], %rd7;
ld.b64 %rd7, [%rd6];
add.s64 %rd7, %rd7, 1;
st.global.b64 [%rd1], %rd7;

1 1 the written byte of a word
st.local.b8 [%SPL+1], 5;
ld.local.b32 %r6, [%SPL];
bfe.u32 %r7, %r6, 8, 8;
and.b32 %r8, %r6, 65280;
setp.eq.u32 %p1, %r7, 5;
@%p1 st.global.b32 [%rd4], %r8;

1 64 half a block at a barrier of its own
setp.gt.u32 %p1, %r1, 31;
@%p1 bra DONE;
st.shared.b32 [%r5], %r1;
bar.sync 1, 32;
ld.shared.b32 %r6, [tile+124];
DONE:

1 32 copies that are waited for
cp.async.ca.shared.global [%r5], [%rd4], 4;
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
ld.shared.b32 %r6, [tile+124];

1 64 a loop over two halves of a tile
mov.b32 %r6, 0;
LOOP:
and.b32 %r7, %r6, 1;
shl.b32 %r7, %r7, 8;
add.s32 %r8, %r5, 0;
st.shared.b32 [%r8], %r6;
bar.sync 0;
ld.shared.b32 %r9, [tile+8];
bar.sync 0;
add.s32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 5;
@%p1 bra LOOP;
";
    for (grid, title, code) in kernels(list) {
        if let Err(fault) = run(code, grid) {
            panic!("{title}: {fault}");
        }
    }
}
