//! Every group of instructions, with answers that are known.

use trisolar_ptx::{Grid, Machine, Memory, Module};

/// What a piece of code leaves in a register, with three numbers in `%rd1` to `%rd3`, their lower halves in `%r1` to `%r3` and quarters in
/// `%rs1` to `%rs3`.
fn computed(code: &str, out: &str, numbers: [u64; 3]) -> u64 {
    let store = match out {
        _ if out.starts_with("%rd") => format!("mov.b64 %rd9, {out};"),
        _ if out.starts_with("%rs") => format!("cvt.u64.u16 %rd9, {out};"),
        _ if out.starts_with("%r") => format!("cvt.u64.u32 %rd9, {out};"),
        _ => format!("selp.b64 %rd9, 1, 0, {out};"),
    };
    let text = format!(
        ".version 7.0
        .target sm_70
        .address_size 64
        .visible .entry k(.param .u64 x) {{
        .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<10>;
        ld.param.b64 %rd8, [x];
        ld.global.b64 %rd1, [%rd8]; ld.global.b64 %rd2, [%rd8+8]; ld.global.b64 %rd3, [%rd8+16];
        cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
        cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2; cvt.u16.u64 %rs3, %rd3;
        {code}
        {store}
        st.global.b64 [%rd8], %rd9;
        ret; }}"
    );
    let module = Module::decode(&text).unwrap_or_else(|e| panic!("{code}: {e}"));
    assert_eq!(module.unknown(), [""; 0]);
    let mut memory = Memory::new();
    let mut x = numbers;
    let address = x.as_mut_ptr() as u64;
    // SAFETY: the array outlives the launch, and nothing else uses it.
    unsafe { memory.add(address, 24, true) };
    let argument = address.to_ne_bytes();
    let ran = Machine::new(module).launch(&mut memory, "k", Grid::new(1, 1), &[&argument]);
    ran.unwrap_or_else(|e| panic!("{code}: {e}"));
    x[0]
}

/// Code whose last word is the register that it leaves, the numbers, and the result.
fn check(rows: &[(&str, [u64; 3], u64)]) {
    for (code, numbers, expected) in rows {
        let (code, out) = code.rsplit_once(' ').expect("code and a register");
        let got = computed(code, out, *numbers);
        assert_eq!(
            got, *expected,
            "{code} {numbers:x?}: {got:#x}, not {expected:#x}"
        );
    }
}

const M: u64 = u64::MAX;

#[test]
fn integers() {
    check(&[
        ("add.s32 %r4, %r1, %r2; %r4", [0xffff_ffff, 2, 0], 1),
        (
            "add.sat.s32 %r4, %r1, %r2; %r4",
            [0x7fff_ffff, 2, 0],
            0x7fff_ffff,
        ),
        ("sub.s64 %rd4, %rd1, %rd2; %rd4", [1, 2, 0], M),
        ("add.s16 %rs4, %rs1, 3; %rs4", [0xffff, 0, 0], 2),
        ("mul.lo.s64 %rd4, %rd1, %rd2; %rd4", [M, 3, 0], M - 2),
        ("mul.hi.u64 %rd4, %rd1, %rd2; %rd4", [M, M, 0], M - 1),
        ("mul.hi.s64 %rd4, %rd1, %rd2; %rd4", [M, 2, 0], M),
        ("mul.hi.u32 %r4, %r1, %r2; %r4", [0xffff_ffff, 16, 0], 15),
        ("mul.hi.s16 %rs4, %rs1, 10923; %rs4", [300, 0, 0], 50),
        ("mul.wide.s32 %rd4, %r1, -4; %rd4", [3, 0, 0], M - 11),
        (
            "mul.wide.u32 %rd4, %r1, %r2; %rd4",
            [0xffff_ffff, 0xffff_ffff, 0],
            0xffff_fffe_0000_0001,
        ),
        ("mul.wide.u16 %r4, %rs1, 2; %r4", [0xffff, 0, 0], 0x1_fffe),
        (
            "mad.lo.s32 %r4, %r1, %r2, %r3; %r4",
            [7, 6, 0xffff_ffff],
            41,
        ),
        (
            "mad.wide.u32 %rd4, %r1, %r2, %rd3; %rd4",
            [1 << 31, 4, 5],
            (1 << 33) + 5,
        ),
        ("mad.hi.s32 %r4, %r1, %r2, %r3; %r4", [0x8000_0000, 2, 5], 4),
        (
            "div.s32 %r4, %r1, %r2; %r4",
            [(-7_i32) as u32 as u64, 2, 0],
            (-3_i32) as u32 as u64,
        ),
        (
            "rem.s32 %r4, %r1, %r2; %r4",
            [(-7_i32) as u32 as u64, 2, 0],
            0xffff_ffff,
        ),
        ("div.u64 %rd4, %rd1, %rd2; %rd4", [M, 10, 0], M / 10),
        ("rem.u32 %r4, %r1, %r2; %r4", [0xffff_ffff, 10, 0], 5),
        ("abs.s32 %r4, %r1; %r4", [0xffff_fffb, 0, 0], 5),
        ("neg.s64 %rd4, %rd1; %rd4", [5, 0, 0], M - 4),
        ("min.s32 %r4, %r1, %r2; %r4", [M, 1, 0], 0xffff_ffff),
        ("max.u32 %r4, %r1, -2960; %r4", [5, 0, 0], 0xffff_f470),
        ("min.u64 %rd4, %rd1, 4; %rd4", [M, 0, 0], 4),
        ("max.s64 %rd4, %rd1, 4; %rd4", [M, 0, 0], 4),
        ("sad.u32 %r4, %r1, %r2, %r3; %r4", [3, 10, 5], 12),
        (
            "add.cc.u32 %r4, %r1, %r2; addc.u32 %r5, %r3, 0; %r5",
            [0xffff_ffff, 1, 7],
            8,
        ),
        (
            "add.cc.s64 %rd4, %rd1, %rd2; addc.cc.s64 %rd5, %rd3, %rd3; %rd5",
            [M, 1, 1],
            3,
        ),
        (
            "sub.cc.u32 %r4, %r1, %r2; subc.u32 %r5, %r3, 0; %r5",
            [0, 1, 7],
            6,
        ),
        (
            "mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r5, %r1, %r2, 0; %r5",
            [M, 2, 4],
            2,
        ),
    ]);
}

#[test]
fn bits() {
    check(&[
        ("and.b32 %r4, %r1, %r2; %r4", [12, 10, 0], 8),
        ("or.b64 %rd4, %rd1, %rd2; %rd4", [12, 10, 0], 14),
        ("xor.b16 %rs4, %rs1, %rs2; %rs4", [12, 10, 0], 6),
        ("not.b32 %r4, %r1; %r4", [0, 0, 0], 0xffff_ffff),
        ("cnot.b32 %r4, %r1; %r4", [0, 0, 0], 1),
        ("shl.b32 %r4, %r1, 31; %r4", [3, 0, 0], 1 << 31),
        ("shl.b32 %r4, %r1, %r2; %r4", [3, 32, 0], 0),
        ("shl.b64 %rd4, %rd1, 63; %rd4", [3, 0, 0], 1 << 63),
        ("shr.u32 %r4, %r1, 33; %r4", [M, 0, 0], 0),
        (
            "shr.s32 %r4, %r1, 40; %r4",
            [0x8000_0000, 0, 0],
            0xffff_ffff,
        ),
        ("shr.s64 %rd4, %rd1, 63; %rd4", [M, 0, 0], M),
        ("shr.s16 %rs4, %rs1, 2; %rs4", [0x8000, 0, 0], 0xe000),
        (
            "shf.l.wrap.b32 %r4, %r1, %r2, %r3; %r4",
            [0x8000_0000, 1, 33],
            3,
        ),
        (
            "shf.l.clamp.b32 %r4, %r1, %r2, %r3; %r4",
            [0x1234, 1, 40],
            0x1234,
        ),
        (
            "shf.r.wrap.b32 %r4, %r1, %r2, %r3; %r4",
            [0x10, 1, 4],
            0x1000_0001,
        ),
        ("shf.r.clamp.b32 %r4, %r1, %r2, %r3; %r4", [0x10, 7, 40], 7),
        ("bfe.u32 %r4, %r1, 4, 8; %r4", [0x1234_5678, 0, 0], 0x67),
        ("bfe.s32 %r4, %r1, 4, 4; %r4", [0x80, 0, 0], 0xffff_fff8),
        (
            "bfe.s32 %r4, %r1, 28, 20; %r4",
            [0x8000_0000, 0, 0],
            0xffff_fff8,
        ),
        ("bfe.u64 %rd4, %rd1, 60, 20; %rd4", [M, 0, 0], 15),
        ("bfe.u32 %r4, %r1, 40, 4; %r4", [M, 0, 0], 0),
        (
            "bfi.b32 %r4, %r1, %r2, 8, 4; %r4",
            [0xab, 0xffff_ffff, 0],
            0xffff_fbff,
        ),
        (
            "bfi.b64 %rd4, %rd1, %rd2, 60, 8; %rd4",
            [5, 1, 0],
            5 << 60 | 1,
        ),
        ("popc.b64 %r4, %rd1; %r4", [M, 0, 0], 64),
        ("popc.b32 %r4, %r1; %r4", [0xf0f0, 0, 0], 8),
        ("clz.b32 %r4, %r1; %r4", [1, 0, 0], 31),
        ("clz.b64 %r4, %rd1; %r4", [0, 0, 0], 64),
        ("brev.b32 %r4, %r1; %r4", [1, 0, 0], 1 << 31),
        ("brev.b64 %rd4, %rd1; %rd4", [2, 0, 0], 1 << 62),
        ("bfind.u32 %r4, %r1; %r4", [0x10, 0, 0], 4),
        ("bfind.s32 %r4, %r1; %r4", [0xffff_ffff, 0, 0], 0xffff_ffff),
        ("bfind.shiftamt.u32 %r4, %r1; %r4", [0x10, 0, 0], 27),
        (
            "prmt.b32 %r4, %r1, %r2, 0x0517U; %r4",
            [0x4433_2211, 0x8877_6655, 0],
            0x1166_2288,
        ),
        (
            "prmt.b32 %r4, %r1, %r2, 0x8B8C; %r4",
            [0x8000_0080, 0x55, 0],
            0xffff_ff00,
        ),
        (
            "prmt.b32.b4e %r4, %r1, %r2, %r3; %r4",
            [0x4433_2211, 0x8877_6655, 1],
            0x7788_1122,
        ),
        (
            "prmt.b32.rc8 %r4, %r1, %r2, 2; %r4",
            [0x4433_2211, 0, 0],
            0x3333_3333,
        ),
        (
            "prmt.b32.rc16 %r4, %r1, %r2, 1; %r4",
            [0x4433_2211, 0, 0],
            0x4433_4433,
        ),
        (
            "lop3.b32 %r4, %r1, %r2, %r3, 0x96; %r4",
            [12, 10, 7],
            12 ^ 10 ^ 7,
        ),
        ("lop3.b32 %r4, %r1, %r2, %r3, 0xE8; %r4", [12, 10, 7], 14),
        (
            "dp4a.s32.u32 %r4, %r1, %r2, %r3; %r4",
            [0x01ff_0203, 0x0102_0304, 10],
            10 + 1 - 2 + 6 + 12,
        ),
    ]);
}

fn f(x: f64) -> u64 {
    x.to_bits()
}

fn s(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[test]
fn floating_point() {
    let near = [1.0 / 3.0, 0.1, 7.0];
    check(&[
        (
            "add.rn.f64 %rd4, %rd1, %rd2; %rd4",
            [f(near[0]), f(near[1]), 0],
            f(near[0] + near[1]),
        ),
        (
            "sub.rn.f32 %r4, %r1, %r2; %r4",
            [s(0.1), s(0.7), 0],
            s(0.1 - 0.7),
        ),
        (
            "mul.rn.f64 %rd4, %rd1, %rd2; %rd4",
            [f(0.1), f(0.1), 0],
            f(0.1 * 0.1),
        ),
        (
            "mul.rp.f64 %rd4, %rd1, %rd2; %rd4",
            [f(0.1), f(0.1), 0],
            f(0.1 * 0.1),
        ),
        (
            "mul.rz.f64 %rd4, %rd1, %rd2; %rd4",
            [f(0.1), f(0.1), 0],
            f(0.1 * 0.1) - 1,
        ),
        (
            "add.rp.f64 %rd4, %rd1, %rd2; %rd4",
            [f(1.0), f(1e-30), 0],
            f(1.0) + 1,
        ),
        (
            "add.rm.f64 %rd4, %rd1, %rd2; %rd4",
            [f(1.0), f(-1e-30), 0],
            f(1.0) - 1,
        ),
        (
            "add.rm.f64 %rd4, %rd1, %rd2; %rd4",
            [f(1.0), f(-1.0), 0],
            f(-0.0),
        ),
        (
            "add.rz.f32 %r4, %r1, %r2; %r4",
            [s(1.0), s(6e-8), 0],
            s(1.0),
        ),
        (
            "fma.rn.f64 %rd4, %rd1, %rd1, %rd2; %rd4",
            [f(0.1), f(-0.01), 0],
            f(0.1_f64.mul_add(0.1, -0.01)),
        ),
        (
            "fma.rn.f32 %r4, %r1, %r1, 0f3F800000; %r4",
            [s(0.1), 0, 0],
            s(0.1_f32.mul_add(0.1, 1.0)),
        ),
        (
            "fma.rm.f64 %rd4, %rd1, %rd2, %rd3; %rd4",
            [f(1.0), f(-1e-30), f(1.0)],
            f(1.0) - 1,
        ),
        (
            "div.rn.f64 %rd4, %rd1, %rd2; %rd4",
            [f(1.0), f(3.0), 0],
            f(near[0]),
        ),
        (
            "div.rp.f64 %rd4, %rd1, %rd2; %rd4",
            [f(1.0), f(3.0), 0],
            f(near[0]) + 1,
        ),
        (
            "div.rz.f32 %r4, %r1, %r2; %r4",
            [s(2.0), s(3.0), 0],
            s(2.0 / 3.0) - 1,
        ),
        ("rcp.rn.f64 %rd4, %rd1; %rd4", [f(3.0), 0, 0], f(near[0])),
        (
            "rcp.rp.f64 %rd4, %rd1; %rd4",
            [f(3.0), 0, 0],
            f(near[0]) + 1,
        ),
        (
            "sqrt.rn.f64 %rd4, %rd1; %rd4",
            [f(2.0), 0, 0],
            f(2_f64.sqrt()),
        ),
        (
            "sqrt.rz.f64 %rd4, %rd1; %rd4",
            [f(2.0), 0, 0],
            f(2_f64.sqrt()) - 1,
        ),
        ("sqrt.rn.f32 %r4, %r1; %r4", [s(2.0), 0, 0], s(2_f32.sqrt())),
        ("abs.f64 %rd4, %rd1; %rd4", [f(-2.5), 0, 0], f(2.5)),
        ("neg.f32 %r4, %r1; %r4", [s(0.0), 0, 0], s(-0.0)),
        (
            "min.f64 %rd4, %rd1, %rd2; %rd4",
            [f(0.0), f(-0.0), 0],
            f(-0.0),
        ),
        ("max.f64 %rd4, %rd1, %rd2; %rd4", [f(-0.0), f(0.0), 0], 0),
        (
            "max.f32 %r4, %r1, %r2; %r4",
            [s(f32::NAN), s(2.0), 0],
            s(2.0),
        ),
        (
            "min.f64 %rd4, %rd1, %rd2; %rd4",
            [f(3.0), f(f64::NAN), 0],
            f(3.0),
        ),
        (
            "max.f32 %r4, %r1, %r2; %r4",
            [s(f32::NAN), s(f32::NAN), 0],
            0x7fff_ffff,
        ),
        (
            "copysign.f64 %rd4, %rd1, %rd2; %rd4",
            [f(-1.0), f(3.0), 0],
            f(-3.0),
        ),
        ("add.ftz.f32 %r4, %r1, %r2; %r4", [1, s(-0.0), 0], 0),
        (
            "mul.ftz.f32 %r4, %r1, %r2; %r4",
            [s(1e-30), s(-1e-10), 0],
            s(-0.0),
        ),
        (
            "add.sat.f32 %r4, %r1, %r2; %r4",
            [s(0.75), s(0.75), 0],
            s(1.0),
        ),
        (
            "fma.rn.sat.f32 %r4, %r1, %r2, %r3; %r4",
            [s(-0.75), s(0.75), 0],
            0,
        ),
        ("testp.subnormal.f32 %p4, %r1; %p4", [1, 0, 0], 1),
        (
            "testp.finite.f64 %p4, %rd1; %p4",
            [f(f64::INFINITY), 0, 0],
            0,
        ),
        (
            "rcp.approx.ftz.f32 %r4, %r1; %r4",
            [s(3.0), 0, 0],
            s(1.0 / 3.0),
        ),
        (
            "div.approx.ftz.f32 %r4, %r1, %r2; %r4",
            [s(3.0), s(8e37), 0],
            s(3.75e-38),
        ),
        (
            "div.approx.ftz.f32 %r4, %r1, %r2; %r4",
            [s(3.0), s(3e38), 0],
            0,
        ),
        (
            "rsqrt.approx.ftz.f64 %rd4, %rd1; %rd4",
            [f(4.0), 0, 0],
            f(0.5),
        ),
        ("ex2.approx.ftz.f32 %r4, %r1; %r4", [s(3.0), 0, 0], s(8.0)),
        ("lg2.approx.ftz.f32 %r4, %r1; %r4", [s(8.0), 0, 0], s(3.0)),
        (
            "add.rn.f16 %rs4, %rs1, %rs2; %rs4",
            [0x3c00, 0x1400, 0],
            0x3c01,
        ),
        (
            "fma.rn.f16 %rs4, %rs1, %rs2, %rs3; %rs4",
            [0x3c01, 0x3c01, 0xbc00],
            0x1800,
        ),
    ]);
}

#[test]
fn conversions() {
    let big = 1e300;
    check(&[
        ("cvt.rn.f32.f64 %r4, %rd1; %r4", [f(0.1), 0, 0], s(0.1)),
        ("cvt.rz.f32.f64 %r4, %rd1; %r4", [f(0.1), 0, 0], s(0.1) - 1),
        (
            "cvt.rn.f32.f64 %r4, %rd1; %r4",
            [f(big), 0, 0],
            s(f32::INFINITY),
        ),
        ("cvt.rz.f32.f64 %r4, %rd1; %r4", [f(big), 0, 0], s(f32::MAX)),
        (
            "cvt.f64.f32 %rd4, %r1; %rd4",
            [s(1e-45), 0, 0],
            f(f64::from(1e-45_f32)),
        ),
        ("cvt.rn.f16.f32 %rs4, %r1; %rs4", [s(65520.0), 0, 0], 0x7c00),
        (
            "cvt.f32.f16 %r4, %rs1; %r4",
            [0x0001, 0, 0],
            s(5.960_464_5e-8),
        ),
        (
            "cvt.rn.bf16.f32 %rs4, %r1; %rs4",
            [s(1.003_906_4), 0, 0],
            0x3f81,
        ),
        (
            "cvt.rzi.s32.f64 %r4, %rd1; %r4",
            [f(-2.9), 0, 0],
            0xffff_fffe,
        ),
        ("cvt.s8.s64 %rs4, %rd1; %rs4", [0x0d5e, 0, 0], 0x5e),
        ("cvt.s16.s32 %r4, %r1; %r4", [0x1_8000, 0, 0], 0xffff_8000),
        ("cvt.rni.s32.f64 %r4, %rd1; %r4", [f(2.5), 0, 0], 2),
        ("cvt.rmi.s64.f64 %rd4, %rd1; %rd4", [f(-2.1), 0, 0], M - 2),
        ("cvt.rpi.u32.f32 %r4, %r1; %r4", [s(2.1), 0, 0], 3),
        (
            "cvt.rzi.s32.f64 %r4, %rd1; %r4",
            [f(big), 0, 0],
            0x7fff_ffff,
        ),
        ("cvt.rzi.u32.f64 %r4, %rd1; %r4", [f(-5.0), 0, 0], 0),
        ("cvt.rzi.s32.f32 %r4, %r1; %r4", [s(f32::NAN), 0, 0], 0),
        (
            "cvt.rzi.s64.f64 %rd4, %rd1; %rd4",
            [f(f64::NAN), 0, 0],
            1 << 63,
        ),
        ("cvt.rzi.f64.f64 %rd4, %rd1; %rd4", [f(-0.7), 0, 0], f(-0.0)),
        ("cvt.rpi.f32.f32 %r4, %r1; %r4", [s(1.2), 0, 0], s(2.0)),
        ("cvt.rn.f64.u64 %rd4, %rd1; %rd4", [M, 0, 0], f(M as f64)),
        (
            "cvt.rz.f64.u64 %rd4, %rd1; %rd4",
            [M, 0, 0],
            f(M as f64) - 1,
        ),
        ("cvt.rn.f32.s32 %r4, %r1; %r4", [0xffff_fffd, 0, 0], s(-3.0)),
        ("cvt.rn.f64.s64 %rd4, %rd1; %rd4", [M, 0, 0], f(-1.0)),
        ("cvt.u16.u32 %rs4, %r1; %rs4", [0x1_2345, 0, 0], 0x2345),
        (
            "cvt.s64.s32 %rd4, %r1; %rd4",
            [0x8000_0000, 0, 0],
            0xffff_ffff_8000_0000,
        ),
        (
            "cvt.u64.u32 %rd4, %r1; %rd4",
            [0x8000_0000, 0, 0],
            0x8000_0000,
        ),
        ("cvt.s32.s8 %r4, %r1; %r4", [0x180, 0, 0], 0xffff_ff80),
        ("cvt.sat.u8.s32 %r4, %r1; %r4", [300, 0, 0], 255),
        ("mov.b64 {%r4, %r5}, %rd1; %r5", [0x1_0000_0002, 0, 0], 1),
        ("mov.b64 %rd4, {%r1, %r2}; %rd4", [5, 6, 0], 6 << 32 | 5),
        (
            "{ .reg .b32 t; mov.b64 {t, %r4}, %rd1; } %r4",
            [7 << 32, 0, 0],
            7,
        ),
        ("mov.b32 %r4, {%rs1, %rs2}; %r4", [5, 6, 0], 6 << 16 | 5),
    ]);
}

#[test]
fn comparisons_and_choices() {
    check(&[
        ("setp.lt.s32 %p1, %r1, %r2; %p1", [M, 1, 0], 1),
        ("setp.lt.u32 %p1, %r1, %r2; %p1", [M, 1, 0], 0),
        ("setp.hi.u64 %p1, %rd1, %rd2; %p1", [M, 1, 0], 1),
        ("setp.ge.s64 %p1, %rd1, %rd2; %p1", [M, 1, 0], 0),
        ("setp.eq.b16 %p1, %rs1, -1; %p1", [0xffff, 0, 0], 1),
        ("setp.ne.f64 %p1, %rd1, %rd1; %p1", [f(f64::NAN), 0, 0], 0),
        ("setp.neu.f64 %p1, %rd1, %rd1; %p1", [f(f64::NAN), 0, 0], 1),
        (
            "setp.ltu.f64 %p1, %rd1, 0d0000000000000000; %p1",
            [f(f64::NAN), 0, 0],
            1,
        ),
        ("setp.nan.f32 %p1, %r1, %r1; %p1", [s(f32::NAN), 0, 0], 1),
        ("setp.num.f64 %p1, %rd1, %rd2; %p1", [f(1.0), f(2.0), 0], 1),
        ("setp.leu.f32 %p1, %r1, %r2; %p1", [s(1.0), s(0.5), 0], 0),
        ("setp.eq.f64 %p1, %rd1, %rd2; %p1", [0, 1 << 63, 0], 1),
        (
            "setp.eq.u32 %p2, %r2, 1; setp.lt.and.u32 %p1, %r1, 5, %p2; %p1",
            [3, 1, 0],
            1,
        ),
        (
            "setp.eq.u32 %p2, %r2, 1; setp.lt.and.u32 %p1, %r1, 5, !%p2; %p1",
            [3, 1, 0],
            0,
        ),
        ("setp.lt.u32 %p1|%p2, %r1, 5; %p2", [3, 0, 0], 0),
        (
            "set.lt.u32.f32 %r4, %r1, %r2; %r4",
            [s(1.0), s(2.0), 0],
            0xffff_ffff,
        ),
        ("set.lt.f32.s32 %r4, %r1, %r2; %r4", [M, 2, 0], s(1.0)),
        (
            "setp.eq.u32 %p1, %r1, 3; selp.f64 %rd4, %rd2, %rd3, %p1; %rd4",
            [3, 8, 9],
            8,
        ),
        ("slct.b32.s32 %r4, %r1, %r2, %r3; %r4", [5, 6, M], 6),
        (
            "mov.pred %p1, -1; not.pred %p2, %p1; or.pred %p3, %p1, %p2; %p3",
            [0; 3],
            1,
        ),
        (
            "setp.eq.u32 %p1, %r1, 3; mov.b32 %r4, 1; @%p1 mov.b32 %r4, 2; %r4",
            [3, 0, 0],
            2,
        ),
        (
            "setp.eq.u32 %p1, %r1, 3; mov.b32 %r4, 1; @!%p1 mov.b32 %r4, 2; %r4",
            [3, 0, 0],
            1,
        ),
        (
            "mov.b32 %r4, 1; bra.uni D; mov.b32 %r4, 2; D: %r4",
            [0; 3],
            1,
        ),
        (
            "T: .branchtargets A, B, C; brx.idx %r1, T; A: mov.b32 %r4, 10; bra.uni D; B: mov.b32 %r4, 20; bra.uni D; C: mov.b32 %r4, 30; D: %r4",
            [2, 0, 0],
            30,
        ),
    ]);
}

#[test]
fn memory_and_atomics() {
    check(&[
        (
            "st.global.b32 [%rd8+4], %r2; ld.global.b64 %rd4, [%rd8]; %rd4",
            [1, 2, 0],
            2 << 32 | 1,
        ),
        (
            "ld.global.v2.b32 {%r4, %r5}, [%rd8]; %r5",
            [7 << 32, 0, 0],
            7,
        ),
        ("ld.s8 %r4, [%rd8]; %r4", [0x80, 0, 0], 0xffff_ff80),
        (
            "ld.volatile.global.u16 %rs4, [%rd8+2]; %rs4",
            [0x5678_1234, 0, 0],
            0x5678,
        ),
        (
            "atom.global.add.u32 %r4, [%rd8], 5; ld.global.b32 %r5, [%rd8]; %r5",
            [3, 0, 0],
            8,
        ),
        ("atom.global.add.u64 %rd4, [%rd8], 5; %rd4", [3, 0, 0], 3),
        (
            "atom.relaxed.gpu.add.f64 %rd4, [%rd8], 0d3FF0000000000000; ld.b64 %rd5, [%rd8]; %rd5",
            [f(0.5), 0, 0],
            f(1.5),
        ),
        (
            "red.relaxed.gpu.add.f32 [%rd8], 0f3F800000; ld.b32 %r5, [%rd8]; %r5",
            [s(0.5), 0, 0],
            s(1.5),
        ),
        (
            "atom.cas.b32 %r4, [%rd8], 3, 9; ld.b32 %r5, [%rd8]; %r5",
            [3, 0, 0],
            9,
        ),
        (
            "atom.cas.b64 %rd4, [%rd8], 4, 9; ld.b64 %rd5, [%rd8]; %rd5",
            [3, 0, 0],
            3,
        ),
        (
            "atom.exch.b32 %r4, [%rd8], 9; ld.b32 %r5, [%rd8]; add.s32 %r4, %r4, %r5; %r4",
            [3, 0, 0],
            12,
        ),
        (
            "atom.max.s32 %r4, [%rd8], 1; ld.b32 %r5, [%rd8]; %r5",
            [M, 0, 0],
            1,
        ),
        (
            "atom.min.u32 %r4, [%rd8], 1; ld.b32 %r5, [%rd8]; %r5",
            [M, 0, 0],
            1,
        ),
        (
            "atom.inc.u32 %r4, [%rd8], 3; ld.b32 %r5, [%rd8]; %r5",
            [3, 0, 0],
            0,
        ),
        (
            "atom.dec.u32 %r4, [%rd8], 3; ld.b32 %r5, [%rd8]; %r5",
            [0, 0, 0],
            3,
        ),
        (
            "atom.global.or.b64 %rd4, [%rd8], 12; ld.b64 %rd5, [%rd8]; %rd5",
            [3, 0, 0],
            15,
        ),
        (
            "atom.xor.b32 %r4, [%rd8], 1; ld.b32 %r5, [%rd8]; %r5",
            [3, 0, 0],
            2,
        ),
        (
            ".local .align 8 .b8 a[16]; mov.b64 %rd4, a; st.local.b64 [%rd4+8], %rd1; cvta.local.u64 %rd5, %rd4; ld.b64 %rd6, [%rd5+8]; %rd6",
            [77, 0, 0],
            77,
        ),
        (
            ".local .align 8 .b8 a[16]; mov.b64 %rd4, a; cvta.local.u64 %rd5, %rd4; isspacep.local %p1, %rd5; %p1",
            [0; 3],
            1,
        ),
        (
            ".shared .align 8 .b8 a[16]; st.shared.b64 [a+8], %rd1; mov.b32 %r4, a; ld.shared.b64 %rd6, [%r4+8]; %rd6",
            [77, 0, 0],
            77,
        ),
        (
            ".shared .align 8 .b8 a[16]; mov.b64 %rd4, a; cvta.shared.u64 %rd5, %rd4; st.b64 [%rd5], 5; ld.shared.b64 %rd6, [a]; %rd6",
            [0; 3],
            5,
        ),
        ("isspacep.global %p1, %rd8; %p1", [0; 3], 1),
    ]);
}

/// Launches a kernel of one pointer to words, which are zeros at first.
fn words<const N: usize>(text: &str, grid: Grid) -> [u32; N] {
    let text = format!(".version 7.0\n.target sm_70\n.address_size 64\n{text}");
    let module = Module::decode(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.unknown(), [""; 0]);
    let mut memory = Memory::new();
    let mut x = [0_u32; N];
    let address = x.as_mut_ptr() as u64;
    // SAFETY: the array outlives the launch, and nothing else uses it.
    unsafe { memory.add(address, 4 * N, true) };
    let argument = address.to_ne_bytes();
    let ran = Machine::new(module).launch(&mut memory, "k", grid, &[&argument]);
    ran.unwrap_or_else(|e| panic!("{e}"));
    x
}

/// A kernel in which each thread stores what a piece of code leaves in `%r9`.
fn each(code: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 x) {{
        .reg .pred %p<9>; .reg .b32 %r<10>; .reg .b64 %rd<9>;
        ld.param.b64 %rd1, [x];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
        mad.lo.s32 %r4, %r2, %r3, %r1;
        mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
        {code}
        st.global.b32 [%rd3], %r9; ret; }}"
    )
}

#[test]
fn lanes_of_a_warp() {
    let run = |code: &str| words::<32>(&each(code), Grid::new(1, 32));
    let by = |f: fn(u32) -> u32| std::array::from_fn::<u32, 32, _>(|i| f(i as u32));
    assert_eq!(
        run("shfl.sync.bfly.b32 %r9, %r1, 5, 31, -1;"),
        by(|i| i ^ 5)
    );
    assert_eq!(
        run("shfl.sync.up.b32 %r9, %r1, 3, 0, -1;"),
        by(|i| if i < 3 { i } else { i - 3 })
    );
    assert_eq!(
        run("shfl.sync.down.b32 %r9, %r1, 3, 31, -1;"),
        by(|i| if i > 28 { i } else { i + 3 })
    );
    assert_eq!(run("shfl.sync.idx.b32 %r9, %r1, 7, 31, -1;"), [7; 32]);
    // Segments of 8 lanes: the segment mask is 24.
    assert_eq!(
        run("shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;"),
        by(|i| i / 8 * 8 + 2)
    );
    assert_eq!(
        run("shfl.sync.down.b32 %r8|%p1, %r1, 3, 31, -1; selp.b32 %r9, 1, 0, %p1;"),
        by(|i| u32::from(i < 29))
    );
    let odd = "and.b32 %r8, %r1, 1; setp.eq.b32 %p1, %r8, 1;";
    assert_eq!(
        run(&format!("{odd} vote.sync.ballot.b32 %r9, %p1, -1;")),
        [0xaaaa_aaaa; 32]
    );
    assert_eq!(
        run(&format!(
            "{odd} vote.sync.any.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;"
        )),
        [1; 32]
    );
    assert_eq!(
        run(&format!(
            "{odd} vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r9, 1, 0, %p2;"
        )),
        [0; 32]
    );
    assert_eq!(
        run("and.b32 %r8, %r1, 1; match.any.sync.b32 %r9, %r8, -1;"),
        by(|i| if i % 2 == 1 { 0xaaaa_aaaa } else { 0x5555_5555 })
    );
    assert_eq!(run("redux.sync.add.u32 %r9, %r1, -1;"), [496; 32]);
    assert_eq!(run("redux.sync.max.s32 %r9, %r1, -1;"), [31; 32]);
    assert_eq!(
        run(
            "setp.lt.u32 %p1, %r1, 8; @%p1 bra A; activemask.b32 %r9; bra.uni B; A: activemask.b32 %r9; B:"
        ),
        by(|i| if i < 8 { 255 } else { 0xffff_ff00 })
    );
    assert_eq!(run("mov.u32 %r9, %laneid;"), by(|i| i));
    assert_eq!(run("mov.u32 %r9, %lanemask_lt;"), by(|i| (1 << i) - 1));
}

#[test]
fn blocks_meet_at_barriers() {
    let mirror = ".shared .align 4 .b8 tile[256];
        shl.b32 %r5, %r1, 2; mov.b32 %r6, tile; add.s32 %r7, %r6, %r5;
        st.shared.b32 [%r7], %r4;
        bar.sync 0;
        sub.s32 %r5, 252, %r5; add.s32 %r7, %r6, %r5;
        ld.shared.b32 %r9, [%r7];";
    let x = words::<128>(&each(mirror), Grid::new(2, 64));
    assert_eq!(
        x,
        std::array::from_fn(|i| (i / 64 * 64 + 63 - i % 64) as u32)
    );
    let votes = "setp.lt.u32 %p1, %r1, 40; barrier.red.popc.u32 %r9, 0, %p1;";
    assert_eq!(words::<64>(&each(votes), Grid::new(1, 64)), [40; 64]);
    let all =
        "setp.lt.u32 %p1, %r1, 40; barrier.red.and.pred %p2, 0, %p1; selp.b32 %r9, 1, 0, %p2;";
    assert_eq!(words::<64>(&each(all), Grid::new(1, 64)), [0; 64]);
    let sizes = "mov.u32 %r5, %nctaid.x; mul.lo.s32 %r9, %r5, %r3;";
    assert_eq!(words::<64>(&each(sizes), Grid::new(2, 32)), [64; 64]);
    // The second warp does not wait for the first one.
    let arrive = ".shared .align 4 .b8 word[4];
        setp.lt.u32 %p1, %r1, 32; @%p1 bra A;
        mov.b32 %r9, 0; setp.eq.u32 %p2, %r1, 32; @%p2 st.shared.b32 [word], 9; bar.arrive 1, 64; bra.uni B;
        A: bar.sync 1, 64; ld.shared.b32 %r9, [word];
        B:";
    let x = words::<64>(&each(arrive), Grid::new(1, 64));
    assert_eq!(x, std::array::from_fn(|i| if i < 32 { 9 } else { 0 }));
}

#[test]
fn functions_have_frames_of_their_own() {
    // A factorial by recursion, through a function's address.
    let text = ".visible .global .align 8 .u64 table[1] = {fact};
        .func (.param .b32 result) fact(.param .b32 n) {
        .reg .pred %p<2>; .reg .b32 %r<5>;
        ld.param.b32 %r1, [n];
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra ONE;
        add.s32 %r2, %r1, -1;
        { .param .b32 param0; st.param.b32 [param0], %r2; .param .b32 retval0;
        call.uni (retval0), fact, (param0);
        ld.param.b32 %r3, [retval0]; }
        mul.lo.s32 %r4, %r3, %r1;
        st.param.b32 [result], %r4; ret;
        ONE: st.param.b32 [result], 1; ret; }
        .visible .entry k(.param .u64 x) {
        .reg .b32 %r<5>; .reg .b64 %rd<5>;
        ld.param.b64 %rd1, [x];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        ld.global.b64 %rd4, [table];
        { .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;
        prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
        call (retval0), %rd4, (param0), prototype_0;
        ld.param.b32 %r3, [retval0]; }
        st.global.b32 [%rd3], %r3; ret; }";
    assert_eq!(words::<6>(text, Grid::new(1, 6)), [1, 1, 2, 6, 24, 120]);
}

#[test]
fn blocks_of_a_cooperative_grid_wait_for_each_other() {
    // Every block adds 1, waits until all have, and stores the sum.
    let text = ".visible .entry k(.param .u64 x) {
        .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
        ld.param.b64 %rd1, [x];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
        atom.release.gpu.add.u32 %r3, [%rd1], 1;
        WAIT: ld.acquire.gpu.b32 %r4, [%rd1];
        setp.lt.u32 %p1, %r4, %r2;
        @%p1 bra WAIT;
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        st.global.b32 [%rd3+4], %r4; ret; }";
    let grid = Grid {
        cooperative: true,
        ..Grid::new(3, 1)
    };
    assert_eq!(words::<4>(text, grid), [3; 4]);
}

#[test]
fn asynchronous_copies_arrive_when_they_are_waited_for() {
    let code = ".shared .align 16 .b8 tile[512];
        ld.global.b32 %r5, [%rd3];
        mul.wide.u32 %rd4, %r1, 16; shl.b32 %r6, %r1, 4; mov.b32 %r7, tile; add.s32 %r7, %r7, %r6;
        cp.async.ca.shared.global [%r7], [%rd3], 4;
        cp.async.commit_group;
        cp.async.wait_group 0;
        ld.shared.b32 %r9, [%r7]; add.s32 %r9, %r9, 1;";
    assert_eq!(words::<32>(&each(code), Grid::new(1, 32)), [1; 32]);
}

#[test]
fn a_launch_that_reads_a_clock_says_so() {
    let registers = [
        ("globaltimer", true),
        ("clock64", true),
        ("lanemask_lt", false),
    ];
    for (register, timed) in registers {
        let (width, class) = if timed { (64, "rd") } else { (32, "r") };
        let text = format!(
            ".version 7.0
            .target sm_70
            .address_size 64
            .visible .entry k() {{
            .reg .b{width} %{class}<2>;
            mov.u{width} %{class}1, %{register};
            ret; }}"
        );
        let mut machine = Machine::new(Module::decode(&text).expect("decodes"));
        let stats = machine.launch(&mut Memory::new(), "k", Grid::new(1, 1), &[]);
        assert_eq!(stats.expect("runs").timed, timed, "{register}");
    }
}
