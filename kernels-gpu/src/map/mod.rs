//! Maps as plain data, from which every engine computes. For each pixel, three bodies start from a given state and are followed for a
//! number of steps; the [quantity](crate::quantity) determines what is computed from their motion.

use crate::number::{Long, exact_product, exact_sum, per_lane};
use crate::physics::three_body::{MassTerms, Relative};
use crate::{Real, Vec3};

mod context;

pub use context::{Context, OwnMasses};

/// The rectangle of start positions and everything else that the start state of a pixel depends on.
///
/// Body 0 is the grid body: the pixel determines its position, and the twin system has it shifted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Grid {
    /// Low corner of the map along the two spanned axes: centre - span/2 (length).
    pub corner: [Long; 2],
    /// Extent of the map (length).
    pub span: [f64; 2],
    /// Pixels along the first spanned axis (columns).
    pub width: u32,
    /// Pixels along the second spanned axis (rows).
    pub height: u32,
    /// The coordinates (0, 1 or 2) of the grid body that columns and rows span.
    pub axes: [u32; 2],
    /// Positions; of body 0, only the coordinate that is not spanned is used.
    pub positions: [[f64; 3]; 3],
    /// Velocities (length / time).
    pub velocities: [[f64; 3]; 3],
}

impl Grid {
    /// Start position of the grid body at `pixel` (row-major: row = pixel / width).
    ///
    /// Coordinate = corner + span · (index / count), in this order of operations.
    #[inline(always)]
    pub fn start(&self, pixel: u64) -> [f64; 3] {
        let [x, y, z] = self.place(pixel);
        [x[0], y[0], z[0]]
    }

    /// [`start`](Self::start), with what its rounding takes away as the second part.
    #[inline(always)]
    pub fn place(&self, pixel: u64) -> [Long; 3] {
        let column = pixel % self.width as u64;
        let row = pixel / self.width as u64;
        let a = along(
            self.corner[0],
            self.span[0],
            column as f64 / self.width as f64,
        );
        let b = along(
            self.corner[1],
            self.span[1],
            row as f64 / self.height as f64,
        );
        // Selected by comparisons, because a run-time index would put the vector into local memory on a GPU.
        let pick = |axis: u32| {
            if self.axes[0] == axis {
                a
            } else if self.axes[1] == axis {
                b
            } else {
                [self.positions[0][axis as usize], 0.0]
            }
        };
        [pick(0), pick(1), pick(2)]
    }

    /// The start state of a pixel.
    #[inline(always)]
    pub fn point(&self, pixel: u64) -> Point {
        let [x, y, z] = self.place(pixel);
        Point {
            positions: [[x[0], y[0], z[0]], self.positions[1], self.positions[2]],
            velocities: self.velocities,
            rest: [x[1], y[1], z[1]],
        }
    }
}

/// corner + span · share, with the rounding error of the first part as the second.
#[inline(always)]
fn along(corner: Long, span: f64, share: f64) -> Long {
    let part = exact_product(span, share);
    let sum = exact_sum(corner[0], part[0]);
    [sum[0], sum[1] + (part[1] + corner[1])]
}

/// The start state of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Point {
    /// Positions; the grid body is the first.
    pub positions: [[f64; 3]; 3],
    /// Velocities (length / time).
    pub velocities: [[f64; 3]; 3],
    /// What the position of the grid body has beyond the digits of its `f64`.
    pub rest: [f64; 3],
}

impl Point {
    /// Three bodies at rest, so far apart that none of them moves, whatever their masses.
    pub const RESTING: Self = Self {
        positions: [[0.0; 3], [1.0e9, 0.0, 0.0], [0.0, 1.0e9, 0.0]],
        velocities: [[0.0; 3]; 3],
        rest: [0.0; 3],
    };

    /// The same state with the grid body shifted.
    #[inline(always)]
    #[must_use]
    pub fn shifted(mut self, shift: [f64; 3]) -> Self {
        let mut k = 0;
        while k < 3 {
            let sum = exact_sum(self.positions[0][k], shift[k]);
            self.positions[0][k] = sum[0];
            self.rest[k] += sum[1];
            k += 1;
        }
        self
    }

    /// The positions with all of their digits.
    #[inline(always)]
    fn places(&self) -> [[Long; 3]; 3] {
        let long = |[x, y, z]: [f64; 3], [u, v, w]: [f64; 3]| [[x, u], [y, v], [z, w]];
        let [p, q, r] = self.positions;
        [long(p, self.rest), long(q, [0.0; 3]), long(r, [0.0; 3])]
    }

    /// The state in the form in which integrators start, for steps of length `dt`.
    #[inline(always)]
    pub fn start<R: Real>(&self, dt: f64) -> Start<R> {
        let v = &self.velocities;
        let in_steps = |body: usize| {
            let [x, y, z] = v[body];
            [
                exact_product(x, dt),
                exact_product(y, dt),
                exact_product(z, dt),
            ]
        };
        Start {
            positions: Relative::from_bodies(&self.places()),
            steps: Relative::from_bodies(&[in_steps(0), in_steps(1), in_steps(2)]),
        }
    }

    /// This state and that of the twin, in the form in which integrators start.
    #[inline(always)]
    pub fn twins<R: Real>(&self, dt: f64, shift: [f64; 3]) -> [Start<R>; 2] {
        let start = self.start(dt);
        let positions = Relative::from_bodies(&self.shifted(shift).places());
        [start, Start { positions, ..start }]
    }

    /// The same state in another unit of length, as for [`Job::scaled`].
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        let scale = |x: &mut f64| *x *= factor;
        self.positions.iter_mut().flatten().for_each(scale);
        self.velocities.iter_mut().flatten().for_each(scale);
        self.rest.iter_mut().for_each(scale);
        self
    }
}

/// Three bodies in the form in which integrators start, relative to the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start<R> {
    /// Positions (length).
    pub positions: Relative<R>,
    /// Velocities times dt (length per step), rounded once.
    pub steps: Relative<R>,
}

/// The method by which multistep methods take the first steps of a map, for which they have no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FirstSteps {
    /// Explicit Euler, which leaves an error of second order for the whole run.
    Euler = 0,
    /// The Runge–Kutta method of fourth order, which keeps the method's order.
    RungeKutta = 1,
}

/// The distance between the grid bodies of twins: p₀ - p₀′ = centre - w₁ (a - a′) - w₂ (b - b′).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct DivergenceCriterion<R> {
    /// Centre of mass of the system minus that of its twin (constant in time).
    pub centre: Vec3<R>,
    /// -m₁/M and -m₂/M with the total mass M.
    pub minus_weights: [R; 2],
    /// Square of the distance up to which the twins count as together.
    pub critical2: R,
}

impl DivergenceCriterion<f64> {
    /// Creates the criterion from the masses (body 0 is the grid body), the shift of the twin's grid body and the critical distance.
    pub fn new(masses: [f64; 3], shift: [f64; 3], critical_distance: f64) -> Self {
        let total = masses[0] + masses[1] + masses[2];
        // Three test bodies exert no force: the twins stay a shift apart, as if all mass were elsewhere.
        let weight = |m: f64| if total > 0.0 { m / total } else { 0.0 };
        let share = if total > 0.0 { masses[0] / total } else { 1.0 };
        Self {
            centre: Vec3 {
                x: -shift[0] * share,
                y: -shift[1] * share,
                z: -shift[2] * share,
            },
            minus_weights: [-weight(masses[1]), -weight(masses[2])],
            critical2: critical_distance * critical_distance,
        }
    }

    /// The same criterion in another unit of length, `factor` of which make up the current unit.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.centre = self.centre.scaled(factor);
        self.critical2 *= factor * factor;
        self
    }

    /// The criterion rounded to another type of number, in every lane.
    #[inline(always)]
    pub fn convert<R: Real>(&self) -> DivergenceCriterion<R> {
        DivergenceCriterion {
            centre: self.centre.convert(),
            minus_weights: [
                R::from_f64(self.minus_weights[0]),
                R::from_f64(self.minus_weights[1]),
            ],
            critical2: R::from_f64(self.critical2),
        }
    }
}

per_lane!(DivergenceCriterion<R> { centre, minus_weights, critical2 });

/// Three masses, and the terms that steps and quantities derive from them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Masses {
    /// G·m·dt² and the softening, with the step as the unit of time.
    pub in_steps: MassTerms<Long>,
    /// The criterion by which twins count as parted.
    pub criterion: DivergenceCriterion<f64>,
    /// The parameters of integrators with steps of their own.
    pub own_steps: OwnSteps,
}

/// The parameters of integrators whose steps have lengths of their own, with the map's step as the unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct OwnSteps {
    /// G·m·dt² of each body.
    pub strengths: [Long; 3],
    /// The step for 2 U from 1/2 to 2, of a system whose least action is 1: √2 · 2π divided by the steps per period.
    pub step: f64,
}

impl Masses {
    /// The same masses in another unit of length, as for [`Job::scaled`].
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.in_steps = self.in_steps.scaled(factor);
        self.criterion = self.criterion.scaled(factor);
        let cube = factor * factor * factor;
        let strengths = self.own_steps.strengths.iter_mut().flatten();
        strengths.for_each(|g| *g *= cube);
        self
    }
}

/// A map, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Job {
    /// Start positions.
    pub grid: Grid,
    /// The masses, unless pixels have their own.
    pub masses: Masses,
    /// The shift of the position of body 0 in the twin system (length).
    pub shift: [f64; 3],
    /// The direction of the shift, as a unit vector.
    pub direction: [f64; 3],
    /// Time step.
    pub dt: f64,
    /// First pixel of the part, for kernels with one thread per pixel; a [source](crate::lanes::PixelSource) numbers its own pixels.
    pub first: u64,
    /// Number of pixels of that part.
    pub count: u32,
    /// Steps after which a pixel ends.
    pub steps: u32,
    /// The method by which multistep methods take their first steps.
    pub first_steps: FirstSteps,
}

impl Job {
    /// The same map in another unit of length, `factor` of which make up the current unit. With a power of two, no digit changes.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        let grid = &mut self.grid;
        let scale = |x: &mut f64| *x *= factor;
        grid.corner.iter_mut().flatten().for_each(scale);
        grid.span.iter_mut().for_each(scale);
        grid.positions.iter_mut().flatten().for_each(scale);
        grid.velocities.iter_mut().flatten().for_each(scale);
        self.shift.iter_mut().for_each(scale);
        self.masses = self.masses.scaled(factor);
        self
    }
}
