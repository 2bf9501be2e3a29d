//! The kernels that compute maps, by name.

/// Which kernel computes a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread a pixel.
    Plain,
    /// Threads that fetch the next pixel when theirs is done.
    #[default]
    Fetch,
}

impl DivergenceKernel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Fetch];

    /// The entry point's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "divergence_plain",
            Self::Fetch => "divergence_fetch",
        }
    }
}
