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

#[cfg(feature = "all")]
mod accuracy;
mod bodies;
#[cfg(feature = "all")]
mod checked;
#[cfg(feature = "all")]
mod column;
#[cfg(feature = "all")]
mod diagnostics;
#[cfg(feature = "all")]
mod displacement;
#[cfg(feature = "all")]
pub mod files;
#[cfg(feature = "all")]
mod king;
#[cfg(feature = "all")]
mod models;
#[cfg(feature = "all")]
pub mod near;
#[cfg(feature = "all")]
mod nearest;
mod points;
#[cfg(feature = "all")]
mod shape;
#[cfg(feature = "all")]
mod shells;
#[cfg(feature = "all")]
pub mod start;
mod table;
#[cfg(feature = "all")]
mod tracks;
#[cfg(feature = "all")]
mod uniform;

use trisolar_io as io;
use trisolar_spec as spec;

#[cfg(feature = "all")]
pub use accuracy::{ENERGY_LIMIT, Energies, EnergyError, no_energy};
pub use bodies::{Bodies, MAX_BODIES, median, numbers, vectors};
#[cfg(feature = "all")]
pub use checked::Checked;
#[cfg(feature = "all")]
pub use column::ColumnDensity;
#[cfg(feature = "all")]
pub use diagnostics::{Diagnostics, LAGRANGE_FRACTIONS, compensated, kinetic};
#[cfg(feature = "all")]
pub use displacement::{DISPLACEMENT_LIMIT, Displacement, Displacements, body_name};
pub use glam::DVec3;
#[cfg(feature = "all")]
pub use king::KING_W0;
#[cfg(feature = "all")]
pub use models::{Model, ModelError, PlanetElements, solar_planets};
pub use points::{MAX_POINTS, Points, Rectangle, Starts};
#[cfg(feature = "all")]
pub use shape::{SHAPE_FRACTIONS, Shape};
#[cfg(feature = "all")]
use shells::Shells;
#[cfg(feature = "all")]
pub use tracks::{Tracks, most_times};
