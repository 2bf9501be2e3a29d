//! The code that the kernels of the ladder share. The ladder shows the steps by which the divergence loop became fast: each rung
//! changes one thing. The last rung is [`map`](fn@crate::device::fetch::map), which does not use this code.
//!
//! The rungs follow Badger's study (docs/references.md): three positions and velocities for each system in `f64`, no fused operations,
//! explicit Euler.

#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;

use crate::map::Grid;

/// The specification of a map for the rungs. Body 0 is the grid body.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Plan {
    /// Start positions.
    pub grid: Grid,
    /// The shift of the position of body 0 in the twin system (length).
    pub shift: [f64; 3],
    /// Masses.
    pub masses: [f64; 3],
    /// Gravitational constant.
    pub g: f64,
    /// Time step.
    pub dt: f64,
    /// Distance of the grid bodies up to which the twins are together.
    pub critical: f64,
    /// Number of pixels of the map.
    pub count: u32,
    /// Steps after which a pixel ends even if its twins have not parted.
    pub steps: u32,
}

/// Positions and velocities of three bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct System {
    /// Positions.
    pub p: [[f64; 3]; 3],
    /// Velocities.
    pub v: [[f64; 3]; 3],
}

impl Plan {
    /// The start states of a pixel's system and its twin.
    #[inline(always)]
    pub fn start(&self, pixel: u32) -> [System; 2] {
        let mut p = self.grid.positions;
        p[0] = self.grid.start(pixel as u64);
        let system = System {
            p,
            v: self.grid.velocities,
        };
        let mut twin = system;
        let mut k = 0;
        while k < 3 {
            twin.p[0][k] += self.shift[k];
            k += 1;
        }
        [system, twin]
    }
}

/// The functions for squares, roots and cubes.
pub trait Arithmetic {
    /// x².
    fn square(x: f64) -> f64;
    /// √x.
    fn root(x: f64) -> f64;
    /// x³.
    fn cube(x: f64) -> f64;
}

/// Uses the general power function.
#[derive(Clone, Copy, Debug)]
pub struct Powers;

impl Arithmetic for Powers {
    #[inline(always)]
    fn square(x: f64) -> f64 {
        x.powf(2.0)
    }
    #[inline(always)]
    fn root(x: f64) -> f64 {
        x.sqrt()
    }
    #[inline(always)]
    fn cube(x: f64) -> f64 {
        x.powf(3.0)
    }
}

/// Uses products.
#[derive(Clone, Copy, Debug)]
pub struct Products;

impl Arithmetic for Products {
    #[inline(always)]
    fn square(x: f64) -> f64 {
        x * x
    }
    #[inline(always)]
    fn root(x: f64) -> f64 {
        x.sqrt()
    }
    #[inline(always)]
    fn cube(x: f64) -> f64 {
        x * x * x
    }
}

/// Uses products, with roots in `f32` (rounded to nearest, while Badger's study rounds them down).
#[derive(Clone, Copy, Debug)]
pub struct SingleRoot;

impl Arithmetic for SingleRoot {
    #[inline(always)]
    fn square(x: f64) -> f64 {
        x * x
    }
    #[inline(always)]
    fn root(x: f64) -> f64 {
        (x as f32).sqrt() as f64
    }
    #[inline(always)]
    fn cube(x: f64) -> f64 {
        x * x * x
    }
}

/// |a - b|².
#[inline(always)]
fn distance2<A: Arithmetic>(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    A::square(a[0] - b[0]) + A::square(a[1] - b[1]) + A::square(a[2] - b[2])
}

/// Takes one step of a system: accelerations, then positions by the old velocities, then velocities.
#[inline(always)]
pub fn step<A: Arithmetic>(s: &mut System, plan: &Plan) {
    let p = s.p;
    let cubed = |i: usize, j: usize| A::cube(A::root(distance2::<A>(&p[i], &p[j])));
    let (d01, d02, d12) = (cubed(0, 1), cubed(0, 2), cubed(1, 2));
    let pull =
        |i: usize, j: usize, k: usize, d: f64| -plan.g * plan.masses[j] * (p[i][k] - p[j][k]) / d;
    let mut k = 0;
    while k < 3 {
        let a = [
            pull(0, 1, k, d01) + pull(0, 2, k, d02),
            pull(1, 0, k, d01) + pull(1, 2, k, d12),
            pull(2, 0, k, d02) + pull(2, 1, k, d12),
        ];
        let mut body = 0;
        while body < 3 {
            s.p[body][k] += plan.dt * s.v[body][k];
            s.v[body][k] += plan.dt * a[body];
            body += 1;
        }
        k += 1;
    }
}

/// Whether the grid bodies are within the critical distance, judged by the distance itself.
#[inline(always)]
pub fn together<A: Arithmetic>(twins: &[System; 2], plan: &Plan) -> bool {
    A::root(distance2::<A>(&twins[0].p[0], &twins[1].p[0])) <= plan.critical
}

/// Whether the grid bodies are within the critical distance, judged by the square of the distance, without a root.
#[inline(always)]
pub fn together_squared<A: Arithmetic>(twins: &[System; 2], plan: &Plan) -> bool {
    distance2::<A>(&twins[0].p[0], &twins[1].p[0]) <= plan.critical * plan.critical
}
