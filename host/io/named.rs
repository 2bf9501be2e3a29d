//! Names of the values of enumerations.

/// Names the values of an enumeration, as they are written and read: `ALL`, `name`, `Display`, and `FromStr`, which also takes former names
/// (`Variant = "name" or "former name",`).
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal $(or $former:literal)*,)* }) => {
        impl $type {
            /// All values.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name on the command line and in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name $(| $former)* => Ok(Self::$variant),)*
                    _ => Err($crate::must_be(&[$($name),*])),
                }
            }
        }
    };
}

/// That a value must have one of these names.
pub fn must_be(names: &[&str]) -> String {
    let (last, others) = names.split_last().expect("there are names");
    format!("must be {} or {last}", others.join(", "))
}
