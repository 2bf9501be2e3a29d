//! The compute capability that a kernel is compiled for.

macro_rules! capabilities {
    ($($name:ident, $arch:literal, $version:literal;)*) => {
        /// A compute capability. Later capabilities compare greater.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("Compute capability ", $version, ".")]
                $name,
            )*
        }

        impl ComputeCapability {
            const fn from_arch(arch: &str) -> Option<Self> {
                $(
                    if same(arch, $arch) {
                        return Some(Self::$name);
                    }
                )*
                None
            }
        }
    };
}

capabilities! {
    Compute35, "350", "3.5";
    Compute37, "370", "3.7";
    Compute50, "500", "5.0";
    Compute52, "520", "5.2";
    Compute53, "530", "5.3";
    Compute60, "600", "6.0";
    Compute61, "610", "6.1";
    Compute62, "620", "6.2";
    Compute70, "700", "7.0";
    Compute72, "720", "7.2";
    Compute73, "730", "7.3";
    Compute75, "750", "7.5";
    Compute80, "800", "8.0";
    Compute86, "860", "8.6";
    Compute87, "870", "8.7";
    Compute88, "880", "8.8";
    Compute89, "890", "8.9";
    Compute90, "900", "9.0";
    Compute100, "1000", "10.0";
    Compute101, "1010", "10.1";
    Compute103, "1030", "10.3";
    Compute110, "1100", "11.0";
    Compute120, "1200", "12.0";
    Compute121, "1210", "12.1";
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl ComputeCapability {
    /// The capability that the kernel is compiled for, from the environment variable `CUDA_ARCH` (700 for sm_70), which
    /// `cuda_builder` sets. It is a constant, so that branches for other capabilities disappear. 7.0 if the variable is not
    /// set, as in the emulator.
    #[inline(always)]
    #[must_use]
    pub const fn from_cuda_arch_env() -> Self {
        const ARCH: ComputeCapability = match option_env!("CUDA_ARCH") {
            None => ComputeCapability::Compute70,
            Some(arch) => match ComputeCapability::from_arch(arch) {
                Some(capability) => capability,
                None => panic!(
                    "CUDA_ARCH must be a known compute capability times 100, e.g. 700 or 1200"
                ),
            },
        };
        ARCH
    }
}
