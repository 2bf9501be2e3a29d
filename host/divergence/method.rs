//! The arithmetic of a map and the first steps of multistep methods, with their names on the command line and in files.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::Real;
use kernels_gpu::map::FirstSteps;
use kernels_gpu::number::Precision as Number;
use serde::{Deserialize, Serialize};

macro_rules! define {
    ([] $($rows:tt)*) => {
        define!(@variants [] $($rows)*);
        define!(@names $($rows)*);
    };
    (@variants [$($variants:tt)*]) => {
        /// The arithmetic of a map. Written as its name, `fixed` with the number of bits (`fixed:26`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Precision { $($variants)* }
    };
    (@variants [$($variants:tt)*] $name:ident {$number:ty} $entry:ident plain, $($rows:tt)*) => {
        define!(@variants [
            $($variants)*
            #[doc = concat!("See [`", stringify!($number), "`](kernels_gpu::number).")]
            $name,
        ] $($rows)*);
    };
    (@variants [$($variants:tt)*] $name:ident {$number:ty} $entry:ident scaled, $($rows:tt)*) => {
        define!(@variants [
            $($variants)*
            #[doc = concat!("See [`", stringify!($number), "`](kernels_gpu::number).")]
            $name {
                /// Bits after the binary point, in the specification's unit of length: [`FRACTION_BITS`](Self::FRACTION_BITS).
                fraction_bits: u8,
            },
        ] $($rows)*);
    };
    (@names $($name:ident {$number:ty} $entry:ident $scaling:ident,)*) => {
        impl Precision {
            /// Every precision, `fixed` with the default number of bits.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(define!(@value $scaling $name)),*];

            /// Its name in the table of methods: without the number of bits.
            pub fn kind(self) -> &'static str {
                match self { $(Self::$name { .. } => <$number as Number>::NAME,)* }
            }

            fn help(self) -> &'static str {
                match self { $(Self::$name { .. } => <$number as Number>::HELP,)* }
            }

            fn former_names(self) -> &'static [&'static str] {
                match self { $(Self::$name { .. } => <$number as Number>::FORMER_NAMES,)* }
            }

            /// Whether every engine gives the same bits.
            pub fn is_portable(self) -> bool {
                match self { $(Self::$name { .. } => <$number as Number>::IS_PORTABLE,)* }
            }

            /// The largest distance of bodies at the start and the largest critical distance, in the engines' unit of length.
            pub(super) fn largest(self) -> [f64; 2] {
                match self {$(
                    Self::$name { .. } => {
                        [<$number as Number>::LARGEST, <$number as Number>::LARGEST_TO_SQUARE]
                    }
                )*}
            }

            /// The number that is in the place of this one, in the engines' unit of length.
            pub(super) fn rounded(self, x: f64) -> f64 {
                match self { $(Self::$name { .. } => <$number as Real>::from_f64(x).to_f64(0),)* }
            }

            /// Bits after the binary point, if the user can choose them.
            pub(super) fn fraction_bits(self) -> Option<u8> {
                match self { $(define!(@pattern $scaling $name bits) => define!(@bits $scaling bits),)* }
            }

            /// The same precision with this number of bits after the binary point, if the user can choose it.
            fn with_fraction_bits(self, bits: u8) -> Option<Self> {
                match self { $(Self::$name { .. } => define!(@with $scaling $name bits),)* }
            }
        }
    };
    (@value plain $name:ident) => { Self::$name };
    (@value scaled $name:ident) => { Self::$name { fraction_bits: Self::DEFAULT_FRACTION_BITS } };
    (@pattern plain $name:ident $bits:ident) => { Self::$name };
    (@pattern scaled $name:ident $bits:ident) => { Self::$name { fraction_bits: $bits } };
    (@bits plain $bits:ident) => { None };
    (@bits scaled $bits:ident) => { Some($bits) };
    (@with plain $name:ident $bits:ident) => { None };
    (@with scaled $name:ident $bits:ident) => { Some(Self::$name { fraction_bits: $bits }) };
}
kernels_gpu::precisions!({define} []);

impl Default for Precision {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl Precision {
    /// Fraction bits that `fixed` can have.
    pub const FRACTION_BITS: std::ops::RangeInclusive<u8> = 8..=56;
    /// Fraction bits of `fixed` without a number, as in Badger's study.
    pub const DEFAULT_FRACTION_BITS: u8 = 26;

    /// A line for each precision, for the help.
    pub(super) fn help_of_all() -> String {
        let mut text = String::new();
        for precision in Self::ALL {
            let bits = precision.fraction_bits().map_or("", |_| "[:BITS]");
            text += &format!("{}{bits}: {}\n", precision.kind(), precision.help());
        }
        text + "All precisions except fast give the same bits on every machine; on a CPU fast is f64."
    }

    /// The accepted names, for messages.
    fn names() -> String {
        let bits = Self::FRACTION_BITS;
        let names = Self::ALL.into_iter().map(|precision| {
            let name = precision.kind();
            match precision.fraction_bits() {
                Some(_) => format!(
                    "{name}, {name}:BITS (BITS from {} to {})",
                    bits.start(),
                    bits.end()
                ),
                None => name.to_owned(),
            }
        });
        let names: Vec<String> = names.collect();
        let (last, others) = names.split_last().expect("there are some");
        format!("{} or {last}", others.join(", "))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self.fraction_bits() {
            Some(bits) => write!(f, ":{bits}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |precision: Self| {
            if precision.kind() == text || precision.former_names().contains(&text) {
                return Some(precision);
            }
            let bits = text.strip_prefix(precision.kind())?.strip_prefix(':')?;
            let bits = bits.parse().ok()?;
            let allowed = Self::FRACTION_BITS.contains(&bits);
            precision.with_fraction_bits(bits).filter(|_| allowed)
        };
        let named = Self::ALL.into_iter().find_map(read);
        named.ok_or_else(|| format!("must be {}", Self::names()))
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> Self {
        precision.to_string()
    }
}

impl TryFrom<String> for Precision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// How multistep methods take their first steps, for which they have no history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// By explicit Euler, as in Badger's study: these steps have an error of second order, whatever the order of the method.
    #[default]
    Euler,
    /// By the Runge–Kutta method of fourth order.
    RungeKutta,
}

trisolar_io::names!(Start {
    Euler = "euler",
    RungeKutta = "runge-kutta",
});

impl Start {
    pub(super) fn for_kernel(self) -> FirstSteps {
        match self {
            Self::Euler => FirstSteps::Euler,
            Self::RungeKutta => FirstSteps::RungeKutta,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        assert_eq!("fixed".parse(), Ok(Precision::Fixed { fraction_bits: 26 }));
        assert_eq!("exact".parse(), Ok(Precision::F64), "a former name");
        for wrong in [
            "",
            "fixed:",
            "fixed:7",
            "fixed:57",
            "fixed:+26x",
            "Exact",
            "float",
        ] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
        for start in [Start::Euler, Start::RungeKutta] {
            assert_eq!(start.name().parse(), Ok(start));
            assert_eq!(serde_json::to_value(start).unwrap(), start.name());
        }
    }
}
