//! Bodies, which models and files create, engines return and outputs write.
//!
//! - [`Bodies`]: masses, positions and velocities as plain arrays
//! - [`Checked`]: bodies and the specification of a run in time, which were checked together
//! - [`Points`]: individual start states of three bodies
//! - [`Model`]: start models
//! - [`files`]: bodies from files
//! - [`Diagnostics`]: conserved quantities and the shape of the system; [`EnergyError`]: the energy error of a run;
//!   [`Displacements`]: how far the errors of the steps displace bodies
//! - [`ColumnDensity`]: mass per area along the line of sight; [`Tracks`]: the paths of bodies through recorded states
//! - [`near`]: bodies that are close to each other; [`start`]: warnings about a start

mod accuracy;
mod bodies;
mod checked;
mod column;
mod diagnostics;
mod displacement;
pub mod files;
mod king;
mod models;
pub mod near;
mod nearest;
mod points;
mod shape;
mod shells;
pub mod start;
mod tracks;
mod uniform;

use trisolar_io as io;
use trisolar_spec as spec;

pub use accuracy::{ENERGY_LIMIT, Energies, EnergyError, no_energy};
pub use bodies::{Bodies, MAX_BODIES, median, numbers, vectors};
pub use checked::Checked;
pub use column::ColumnDensity;
pub use diagnostics::{Diagnostics, LAGRANGE_FRACTIONS, compensated, kinetic};
pub use displacement::{DISPLACEMENT_LIMIT, Displacement, Displacements, body_name};
pub use glam::DVec3;
pub use king::KING_W0;
pub use models::{Model, ModelError, PlanetElements, solar_planets};
pub use points::{MAX_POINTS, Points, Rectangle, Starts};
pub use shape::{SHAPE_FRACTIONS, Shape};
use shells::Shells;
pub use tracks::{MAX_TIMES, Tracks};
