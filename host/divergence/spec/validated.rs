//! A specification with which an engine can compute, and the start of each of its pixels.

use std::sync::Arc;

use kernels_gpu::Real;
use kernels_gpu::map::{self, Job, Masses, Point};
use kernels_gpu::number::Long;

use super::Specification;
use crate::method::Precision;
use crate::value::ValueType;
use trisolar_bodies::Points;

/// A [`Specification`] that has passed [`Specification::validate`] or [`Specification::validate_points`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    pub(super) specification: Specification,
    pub(super) points: Option<Arc<Points>>,
}

impl Validated {
    /// The values.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The start states, if there is no grid.
    pub fn points(&self) -> Option<&Arc<Points>> {
        self.points.as_ref()
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        self.specification.size.map(|n| n as u32)
    }

    /// The same pixels with a changed specification; `None` if that is not valid.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Specification)) -> Option<Self> {
        let mut specification = self.specification.clone();
        change(&mut specification);
        let valid = match &self.points {
            Some(points) if !points.are_made() => {
                specification.validate_points(points.as_ref().clone())
            }
            _ => specification.validate(),
        };
        valid.ok()
    }

    /// The type of the map's values.
    pub fn value_type(&self) -> ValueType {
        self.specification.quantity.value_type()
    }

    /// Number of pixels (up to 2³²).
    pub fn pixels(&self) -> u64 {
        self.specification.size[0] * self.specification.size[1]
    }

    /// The job of the engines for `count` pixels from pixel `first` (row-major) on, in the unit of length of the precision.
    pub fn job(&self, first: u64, count: u32) -> Job {
        self.job_in_lengths(first, count).scaled(self.unit())
    }

    /// Start position of the grid body at a pixel of the map (length).
    pub fn start(&self, pixel: u64) -> [f64; 3] {
        self.job_in_lengths(0, 1).grid.start(pixel)
    }

    /// Start position of the grid body at a pixel of the map (length) with all digits that its precision takes into account.
    pub(crate) fn place(&self, pixel: u64) -> [Long; 3] {
        let place = self.job_in_lengths(0, 1).grid.place(pixel);
        match self.specification.precision {
            Precision::DoubleDouble => place,
            _ => place.map(|[nearest, _]| [nearest, 0.0]),
        }
    }

    /// The engines' units of length per unit of the specification: a power of two.
    pub(super) fn unit(&self) -> f64 {
        let bits = self.specification.precision.fraction_bits();
        let exponent = bits.map_or(0, |bits| {
            i64::from(bits) - i64::from(kernels_gpu::number::FRACTION_BITS)
        });
        // From its bits, because LLVM computes it ahead of the branch: a function would be called with bits that are not set.
        f64::from_bits(((1023 + exponent) as u64) << 52)
    }

    /// As [`job`](Self::job), in the specification's unit of length.
    pub(crate) fn job_in_lengths(&self, first: u64, count: u32) -> Job {
        let s = &self.specification;
        Job {
            grid: s.grid(),
            masses: s.weigh(&s.masses),
            shift: s.shift.to_array(),
            // Scaled first, because the squares of very small or large components underflow or overflow.
            direction: (s.shift / s.shift.abs().max_element())
                .normalize()
                .to_array(),
            dt: s.dt,
            first,
            count,
            steps: s.steps as u32,
            first_steps: s.start.for_kernel(),
        }
    }

    /// The start state of a pixel in the form of the engines, if the map consists of points.
    #[inline]
    pub fn point(&self, pixel: u64) -> Option<Point> {
        let points = self.points.as_ref()?;
        Some(self.point_in_lengths(points, pixel).scaled(self.unit()))
    }

    /// The mass terms of a pixel for the engines, if it is a point with masses of its own.
    #[inline]
    pub fn masses(&self, pixel: u64) -> Option<Masses> {
        let masses = self.points.as_ref()?.masses(pixel as usize)?;
        Some(self.specification.weigh(&masses).scaled(self.unit()))
    }

    pub(super) fn point_in_lengths(&self, points: &Points, pixel: u64) -> Point {
        let s = &self.specification;
        let [positions, velocities] = s.state_of(points, pixel as usize);
        Point {
            positions: s.order().map(|body| positions[body].to_array()),
            velocities: s.order().map(|body| velocities[body].to_array()),
            rest: points.rest(pixel as usize),
        }
    }

    /// The start states of a pixel and of its twin in the specification's unit of length.
    pub(super) fn twins<R: Real>(&self, job: &Job, pixel: u64) -> [map::Start<R>; 2] {
        let point = match &self.points {
            Some(points) => self.point_in_lengths(points, pixel),
            None => job.grid.point(pixel),
        };
        point.twins(job.dt, job.shift)
    }
}
