//! The GPU architectures that PTX can be compiled for.

use std::fmt;
use std::str::FromStr;

macro_rules! architectures {
    ($($(#[$meta:meta])* $variant:ident $name:literal $value:literal,)*) => {
        /// A compute capability to compile for.
        ///
        /// PTX for one architecture runs on all later ones, except for the suffixed variants: `f` runs on the same family only,
        /// `a` only on exactly this architecture.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(
                #[doc = concat!("`compute_", $name, "`, rustc's target-cpu `sm_", $name, "`")]
                $(#[$meta])*
                $variant,
            )*
        }

        impl NvvmArch {
            /// All architectures, oldest first.
            pub const ALL: &[NvvmArch] = &[$(Self::$variant),*];

            /// The compute capability times ten: 70 for `Compute70`.
            pub fn capability_value(&self) -> u32 {
                match self { $(Self::$variant => $value,)* }
            }

            /// The name by which kernels test for it: `#[cfg(target_feature = "compute_75")]`.
            pub fn target_feature(&self) -> &'static str {
                match self { $(Self::$variant => concat!("compute_", $name),)* }
            }
        }
    };
}

architectures! {
    Compute35 "35" 35, Compute37 "37" 37,
    Compute50 "50" 50, Compute52 "52" 52, Compute53 "53" 53,
    Compute60 "60" 60, Compute61 "61" 61, Compute62 "62" 62,
    #[default] Compute70 "70" 70, Compute72 "72" 72, Compute73 "73" 73, Compute75 "75" 75,
    Compute80 "80" 80, Compute86 "86" 86, Compute87 "87" 87, Compute88 "88" 88, Compute89 "89" 89,
    Compute90 "90" 90, Compute90a "90a" 90,
    Compute100 "100" 100, Compute100f "100f" 100, Compute100a "100a" 100,
    Compute101 "101" 101, Compute101f "101f" 101, Compute101a "101a" 101,
    Compute103 "103" 103, Compute103f "103f" 103, Compute103a "103a" 103,
    Compute110 "110" 110, Compute110f "110f" 110, Compute110a "110a" 110,
    Compute120 "120" 120, Compute120f "120f" 120, Compute120a "120a" 120,
    Compute121 "121" 121, Compute121f "121f" 121, Compute121a "121a" 121,
}

impl NvvmArch {
    /// The major number of the compute capability: 7 for `Compute75`.
    pub fn major_version(&self) -> u32 {
        self.capability_value() / 10
    }

    /// The minor number of the compute capability: 5 for `Compute75`.
    pub fn minor_version(&self) -> u32 {
        self.capability_value() % 10
    }

    /// All names of [`target_feature`](Self::target_feature) that are set when compiling for this architecture: its
    /// own, those of earlier architectures, and for a suffixed variant those of its family.
    pub fn all_target_features(&self) -> Vec<String> {
        let earlier =
            |a: &NvvmArch| a.is_base_variant() && a.capability_value() <= self.capability_value();
        let family = |a: &NvvmArch| {
            !self.is_base_variant()
                && a.is_family_variant()
                && a.major_version() == self.major_version()
                && a.minor_version() <= self.minor_version()
        };
        Self::ALL
            .iter()
            .filter(|a| earlier(a) || family(a) || *a == self)
            .map(|a| a.target_feature().to_owned())
            .collect()
    }

    /// Whether it runs on all later architectures.
    pub fn is_base_variant(&self) -> bool {
        self.base_architecture() == *self
    }

    /// Whether it is bound to its family (`f`).
    pub fn is_family_variant(&self) -> bool {
        self.target_feature().ends_with('f')
    }

    /// Whether it is bound to exactly this architecture (`a`).
    pub fn is_architecture_variant(&self) -> bool {
        self.target_feature().ends_with('a')
    }

    /// The variant without a suffix: `Compute100` for `Compute100f`.
    pub fn base_architecture(&self) -> Self {
        let base = |a: &&Self| a.capability_value() == self.capability_value();
        // The first variant of a capability has no suffix.
        Self::ALL.iter().find(base).copied().unwrap_or(*self)
    }

    /// All variants of the same compute capability, with or without a suffix.
    pub fn get_variants(&self) -> Vec<Self> {
        Self::variants_for_capability(self.capability_value())
    }

    /// All variants of a compute capability, given as ten times its number: `Compute90` and `Compute90a` for 90.
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|a| a.capability_value() == capability).collect()
    }

    /// rustc's name of the target CPU, `sm_75`. It has none for 7.3, which runs code for 7.2.
    pub fn target_cpu(&self) -> String {
        match self {
            Self::Compute73 => Self::Compute72.target_cpu(),
            other => other.target_feature().replace("compute_", "sm_"),
        }
    }

    /// The version of the PTX language that kernels are written in, times ten: the oldest that has the architecture and what kernels use
    /// (warp votes and shuffles, bulk copies of 9.0). Drivers of 2020 accept 7.0, drivers of 2022 8.0.
    pub(crate) fn ptx_version(self) -> u32 {
        match self.capability_value() {
            _ if self.is_family_variant() && self.major_version() != 11 => 88,
            ..=80 => 70,
            86 => 71,
            87 => 74,
            89 => 78,
            90 => 80,
            100 | 101 => 86,
            120 => 87,
            103 | 121 => 88,
            _ => 90,
        }
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target_feature())
    }
}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    /// Parses a name of [`target_feature`](Self::target_feature).
    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let known = Self::ALL.iter().find(|a| a.target_feature() == name);
        known.copied().ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

/// A name that does not belong to any architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}`: allowed are {names}", names = names())]
pub struct UnknownArch(String);

fn names() -> String {
    let names: Vec<_> = NvvmArch::ALL.iter().map(NvvmArch::target_feature).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::NvvmArch;

    #[test]
    fn features_of_an_architecture_are_its_own_and_the_earlier_ones() {
        assert_eq!(
            NvvmArch::Compute53.all_target_features(),
            [
                "compute_35",
                "compute_37",
                "compute_50",
                "compute_52",
                "compute_53"
            ]
        );
        let exact = NvvmArch::Compute103a.all_target_features();
        for name in ["compute_90", "compute_100f", "compute_103f", "compute_103a"] {
            assert!(exact.contains(&name.to_owned()), "{name}");
        }
        for name in ["compute_90a", "compute_100a", "compute_120f"] {
            assert!(!exact.contains(&name.to_owned()), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_cuda() {
        assert_eq!(NvvmArch::Compute100f.to_string(), "compute_100f");
        assert_eq!(NvvmArch::Compute121.major_version(), 12);
        assert_eq!(NvvmArch::default().target_cpu(), "sm_70");
        for arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(*arch));
        }
        let unknown = "compute_9".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(
            unknown.contains("`compute_9`") && unknown.contains("compute_90a, compute_100,"),
            "{unknown}"
        );
    }

    #[test]
    fn variants_have_a_base() {
        use NvvmArch::{Compute73, Compute110, Compute110a, Compute110f};
        assert_eq!(
            Compute110f.get_variants(),
            [Compute110, Compute110f, Compute110a]
        );
        assert_eq!(Compute110a.base_architecture(), Compute110);
        let base = |a: &&NvvmArch| a.is_base_variant();
        let suffixed = |a: &&NvvmArch| a.is_family_variant() || a.is_architecture_variant();
        let all = NvvmArch::ALL.iter();
        assert_eq!(
            all.clone().filter(base).count() + all.clone().filter(suffixed).count(),
            all.count()
        );
        assert_eq!(Compute73.target_cpu(), "sm_72");
    }
}
