//! Values of options from text: numbers, lists of them, names. Texts that cannot be read are refused here;
//! whether a value is allowed is checked later, together with the others.

pub(crate) use trisolar::divergence::steps;
pub(crate) use trisolar::hermite::{order, particles};
use trisolar::run::{Backend, GpuChoice, MapBackend};
pub(crate) use trisolar::spec::read::{number, size};

/// `auto`, `cpu` or `gpu`.
pub(crate) fn backend(text: &str) -> Result<Backend, String> {
    text.parse()
}

/// `auto`, `cpu`, `gpu` or `gpu+cpu`.
pub(crate) fn map_backend(text: &str) -> Result<MapBackend, String> {
    text.parse()
}

/// `all`, or how many GPUs.
pub(crate) fn gpus(text: &str) -> Result<GpuChoice, String> {
    text.parse()
}

/// Numbers of GPUs separated by commas.
pub(crate) fn gpus_by_number(text: &str) -> Result<GpuChoice, String> {
    GpuChoice::by_number(text)
}

/// `threads` or `single`.
/// The number of pixels that are averaged to one.
pub(crate) fn shrink(text: &str) -> Result<usize, String> {
    trisolar::output::shrink(text)
}

/// A number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    trisolar::divergence::threads(text)
}

/// A number of GPUs.
pub(crate) fn gpu_count(text: &str) -> Result<u32, String> {
    trisolar::divergence::gpu_count(text)
}
