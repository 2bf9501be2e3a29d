//! Files and pictures: plain arrays in, files out. This module does not depend on engines.
//!
//! - [`atomic`]: a file appears under its name complete, or not at all
//! - [`read`]: how files are opened for reading, and how much of them is read
//! - [`format`](mod@format): the format of a file, by its name
//! - [`npy`], [`npz`]: arrays that numpy reads
//! - [`rows`]: rows of numbers that need not fit into memory
//! - [`zarr`]: arrays with coordinates that xarray reads
//! - [`picture`]: maps as PNG, bare or with axes and a colour bar, and as TIFF
//! - [`plot`]: lines, points and trajectories
//! - [`film`]: films of such pictures
//! - [`colour`]: colour maps and ranges
//! - [`size`]: the size of plots and films
//! - [`names!`]: names of the values of enumerations
//! - [`sum`]: checksums, which show whether a file has changed
//! - [`system`]: what differs between operating systems

mod as_text;
pub mod atomic;
mod axes;
mod canvas;
pub mod colour;
mod error;
#[cfg(feature = "films")]
pub mod film;
pub mod format;
mod named;
pub mod npy;
pub mod npz;
pub mod null_is_nan;
pub mod older;
pub mod picture;
mod picture_file;
pub mod plot;
mod png_file;
pub mod read;
pub mod rows;
pub mod size;
pub mod sum;
pub mod system;
mod ticks;
#[cfg(feature = "tiff")]
mod tiff_file;
pub mod zarr;

pub use error::IoError;
pub use named::must_be;
pub use picture_file::PictureFormat;
