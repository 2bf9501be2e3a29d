//! Tests of the library: all systems on every engine, with their physics and their files.

mod certainty;
mod divergence_engines;
mod divergence_integrators;
mod divergence_ladder;
mod divergence_points;
mod divergence_precision;
mod divergence_presets;
mod encounters;
mod ensemble_example;
#[cfg(feature = "gpu")]
mod equation_text;
mod hermite_ahmad_cohen;
mod hermite_block_steps;
mod hermite_close_pairs;
mod hermite_kernels;
mod hermite_physics;
mod io_files;
mod io_pictures;
mod nbody_engines;
mod nbody_files;
mod nbody_physics;
mod planets;
mod quantities;
mod regularised;
mod spec_round_trips;
#[path = "../support/mod.rs"]
mod support;
mod zoom_devices;
