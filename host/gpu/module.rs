//! The kernels that a program carries.

pub use linkme;

/// Kernels as PTX.
#[derive(Debug)]
pub struct Module {
    /// Whether the kernels were `built` with the program or are the `prebuilt` ones.
    pub origin: &'static str,
    /// Their text.
    pub ptx: &'static str,
}

/// The kernels of the program, one element or none. The crate that has them puts them here when it is linked, so that what is below it
/// need not wait for them to be compiled.
#[linkme::distributed_slice]
pub static MODULES: [Module];

/// The program's kernels; `None` in one that was built without the feature `gpu`.
pub fn kernels() -> Option<&'static Module> {
    MODULES.first()
}
