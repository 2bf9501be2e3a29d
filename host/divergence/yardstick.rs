//! The straightforward divergence loop for one pixel in scalar `f64`, with roots and with a division for each component of each
//! acceleration, as in the CUDA program of Badger's study. Tests and benchmarks compare the engines with it.

use std::hint::black_box;

use crate::Validated;

type Vector = [f64; 3];

/// Positions and velocities of three bodies.
#[derive(Clone, Copy)]
struct System {
    p: [Vector; 3],
    v: [Vector; 3],
}

/// Number of steps that `pixel` (row-major) begins while its twins are together.
pub fn steps_together(valid: &Validated, pixel: u64) -> u32 {
    let s = valid.specification();
    let grid_body = usize::from(s.body) - 1;
    let mut system = System {
        p: s.positions.map(|p| p.to_array()),
        v: s.velocities.map(|v| v.to_array()),
    };
    system.p[grid_body] = valid.job(0, 1).grid.start(pixel);
    let mut twin = system;
    for (x, d) in twin.p[grid_body].iter_mut().zip(s.shift.to_array()) {
        *x += d;
    }
    let softening2 = s.softening * s.softening;
    let mut steps_together = 0;
    for _ in 0..s.steps {
        let a = accelerations(&system.p, &s.masses, s.g, softening2);
        let b = accelerations(&twin.p, &s.masses, s.g, softening2);
        let (p, q) = (system.p[grid_body], twin.p[grid_body]);
        let apart = (sq(p[0] - q[0]) + sq(p[1] - q[1]) + sq(p[2] - q[2])).sqrt();
        // Written so that NaN ends the pixel.
        if !matches!(
            apart.partial_cmp(&s.critical_distance),
            Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)
        ) {
            break;
        }
        steps_together += 1;
        advance(&mut system, &a, s.dt);
        advance(&mut twin, &b, s.dt);
    }
    steps_together
}

fn sq(x: f64) -> f64 {
    x * x
}

fn accelerations(p: &[Vector; 3], m: &[f64; 3], g: f64, softening2: f64) -> [Vector; 3] {
    let distance = |a: Vector, b: Vector| {
        (sq(a[0] - b[0]) + sq(a[1] - b[1]) + sq(a[2] - b[2]) + softening2).sqrt()
    };
    let cube = |r: f64| r * r * r;
    // Opaque, because the compiler would otherwise merge the divisions into SIMD divisions.
    let pull = |i: usize, j: usize, axis: usize| {
        black_box(g * m[j] * (p[i][axis] - p[j][axis]) / cube(distance(p[i], p[j])))
    };
    let component = |i, j, k, axis| -pull(i, j, axis) - pull(i, k, axis);
    let body = |i, j, k| {
        [
            component(i, j, k, 0),
            component(i, j, k, 1),
            component(i, j, k, 2),
        ]
    };
    [body(0, 1, 2), body(1, 0, 2), body(2, 0, 1)]
}

/// Explicit Euler: positions by the old velocities.
fn advance(s: &mut System, a: &[Vector; 3], dt: f64) {
    for ((p, v), a) in s.p.iter_mut().zip(&mut s.v).zip(a) {
        for axis in 0..3 {
            p[axis] += dt * v[axis];
            v[axis] += dt * a[axis];
        }
    }
}
