//! Parameters, each declared once: [`parameters!`](crate::parameters) makes the struct of the values that a user gives and the table
//! of [`Declaration`]s, from which the command line, Python and the explorer take names, units, defaults and descriptions.

use std::any::Any;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A parameter, apart from its value.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The name in files, in Python and in C. On the command line `-` takes the place of `_`.
    pub name: &'static str,
    /// The heading under which the help lists it.
    pub heading: &'static str,
    /// Its description, in lines that are joined.
    pub text: &'static str,
    /// The unit; empty for a number, a name or a list.
    pub unit: &'static str,
    /// How [`text`](Self::text) continues after the unit.
    pub then: &'static str,
    /// The value if none is given, in words; empty if there is none.
    pub default: &'static str,
    /// More lines of help.
    pub lines: Option<fn() -> String>,
    /// The placeholder for the value in the help.
    pub value: &'static str,
    /// How the value is read from the command line.
    pub read: Read,
    /// The separator between the values of a parameter that may have several and be repeated.
    pub separator: Option<char>,
    /// The allowed values, if they can be listed.
    pub choices: Option<fn() -> Vec<String>>,
    /// Other names of the option on the command line that users know.
    pub aliases: &'static [&'static str],
    /// Other options of the command line that cannot be given together with it. A parameter that is given takes their place where
    /// values are merged.
    pub conflicts: &'static [&'static str],
    /// Another option of the command line without which it cannot be given.
    pub requires: Option<&'static str>,
}

impl Declaration {
    /// The defaults of the fields that [`parameters!`](crate::parameters) does not set.
    #[doc(hidden)]
    pub const NONE: Self = Self {
        name: "",
        heading: "",
        text: "",
        unit: "",
        then: "",
        default: "",
        lines: None,
        value: "",
        read: Read::Path,
        separator: None,
        choices: None,
        aliases: &[],
        conflicts: &[],
        requires: None,
    };

    /// The name on the command line, without `--`.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Its description with the unit.
    pub fn brief(&self) -> String {
        let text = self.text.trim();
        match self.unit {
            "" => text.to_owned(),
            unit => format!("{text} ({unit})"),
        }
    }

    /// Its description with the unit and the default.
    pub fn help(&self) -> String {
        let mut help = self.brief() + self.then;
        if !self.default.is_empty() {
            help += &format!(" [default: {}]", self.default);
        }
        if let Some(lines) = self.lines {
            help += "\n";
            help += &lines();
        }
        help
    }
}

/// How the value of an option is read.
#[derive(Clone, Copy)]
pub enum Read {
    /// From text; an error says what is allowed.
    Text(fn(&str) -> Result<AnyValue, String>),
    /// The value is a path, which may contain any bytes that the system allows.
    Path,
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text",
            Self::Path => "Path",
        })
    }
}

/// A value of any parameter.
#[derive(Clone)]
pub struct AnyValue(Arc<dyn Any + Send + Sync>);

impl AnyValue {
    /// Wraps this value.
    pub fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self(Arc::new(value))
    }
}

/// A field that holds the given value or values of a parameter.
pub trait Field: Any {
    /// Stores a value. A field of a single value keeps the last one.
    ///
    /// # Panics
    /// If the value is of another type than the field.
    fn put(&mut self, value: &AnyValue);

    /// Whether there is a value.
    fn is_given(&self) -> bool;

    /// Forgets the value.
    fn clear(&mut self);

    /// Takes the value of another field of the same type if this one has none.
    fn put_under(&mut self, under: &mut dyn Any);

    /// The field itself.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// The type of a field's values.
pub trait Values {
    /// The type.
    type Value: Clone + Send + Sync + 'static;
}

impl<T: Clone + Send + Sync + 'static> Values for Option<T> {
    type Value = T;
}

impl<T: Clone + Send + Sync + 'static> Values for Vec<T> {
    type Value = T;
}

fn value<T: Clone + 'static>(given: &AnyValue) -> T {
    given.0.downcast_ref::<T>().expect("its own type").clone()
}

fn put_under<F: Field>(field: &mut F, under: &mut dyn Any) {
    if let Some(under) = under.downcast_mut::<F>().filter(|_| !field.is_given()) {
        std::mem::swap(field, under);
    }
}

impl<T: Clone + Send + Sync + 'static> Field for Option<T> {
    fn put(&mut self, given: &AnyValue) {
        *self = Some(value(given));
    }

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn put_under(&mut self, under: &mut dyn Any) {
        put_under(self, under);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T: Clone + Send + Sync + 'static> Field for Vec<T> {
    fn put(&mut self, given: &AnyValue) {
        self.push(value(given));
    }

    fn is_given(&self) -> bool {
        !self.is_empty()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn put_under(&mut self, under: &mut dyn Any) {
        put_under(self, under);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The values that a user gives for a table of parameters; see [`parameters!`](crate::parameters).
pub trait Parameters: Default {
    /// All parameters.
    const DECLARATIONS: &'static [Declaration];

    /// Headings whose parameters are replaced as a whole, each with the parameters that cause this if one of them is given.
    const REPLACED: &'static [(&'static str, &'static [&'static str])];

    /// The field of this name.
    fn field(&self, name: &str) -> Option<&dyn Field>;

    /// The same field, mutably.
    fn field_mut(&mut self, name: &str) -> Option<&mut dyn Field>;

    /// Whether a parameter is given, by its name in files or on the command line.
    fn has(&self, name: &str) -> bool {
        let field = self.field(&name.replace('-', "_"));
        field.is_some_and(|field| field.is_given())
    }

    /// Two parameters that are given and cannot be given together, by their names.
    fn conflict(&self) -> Option<[&'static str; 2]> {
        let given = Self::DECLARATIONS.iter().filter(|d| self.has(d.name));
        let mut pairs = given.flat_map(|d| d.conflicts.iter().map(|other| [d.name, *other]));
        pairs.find(|[_, other]| self.has(other))
    }

    /// Puts the value of an option of the command line, without `--`, where no other parser does. Returns whether there is such an option.
    ///
    /// # Errors
    /// A description of the allowed values.
    fn put_text(&mut self, option: &str, text: &OsStr) -> Result<bool, String> {
        let mut all = Self::DECLARATIONS.iter();
        let Some(declaration) = all.find(|d| d.option() == option) else {
            return Ok(false);
        };
        let values = match declaration.read {
            Read::Path => vec![AnyValue::new(PathBuf::from(text))],
            Read::Text(read) => {
                let text = text.to_string_lossy();
                match declaration.separator {
                    Some(separator) => text.split(separator).map(read).collect::<Result<_, _>>()?,
                    None => vec![read(&text)?],
                }
            }
        };
        if let Some(field) = self.field_mut(declaration.name) {
            values.iter().for_each(|value| field.put(value));
        }
        Ok(true)
    }

    /// These values, merged over those of `under`, parameter by parameter. If a parameter is given that replaces a heading as a whole,
    /// the values of `under` below that heading are ignored.
    #[must_use]
    fn merged_over(mut self, mut under: Self) -> Self {
        for (heading, replacing) in Self::REPLACED {
            if replacing.iter().any(|name| self.has(name)) {
                under = under.without(heading);
            }
        }
        for declaration in Self::DECLARATIONS.iter().filter(|d| self.has(d.name)) {
            for other in declaration.conflicts {
                if let Some(field) = under.field_mut(&other.replace('-', "_")) {
                    field.clear();
                }
            }
        }
        for Declaration { name, .. } in Self::DECLARATIONS {
            if let (Some(field), Some(under)) = (self.field_mut(name), under.field_mut(name)) {
                field.put_under(under.as_any());
            }
        }
        self
    }

    /// The values without those of the parameters under a heading.
    #[must_use]
    fn without(mut self, heading: &str) -> Self {
        for declaration in Self::DECLARATIONS.iter().filter(|d| d.heading == heading) {
            if let Some(field) = self.field_mut(declaration.name) {
                field.clear();
            }
        }
        self
    }
}

/// Declares parameters: the struct of the values that a user gives, and the table [`Parameters::DECLARATIONS`].
///
/// ```
/// use trisolar_spec::{Parameters as _, parameters, read};
///
/// parameters! {
///     /// The start.
///     pub struct Start {
///         "Start" {
///             /// Half the length of an edge of the cube
///             half_width: Option<f64> = "LENGTH" => read::number, unit "length", default "1";
///             /// File of bodies
///             input: Option<std::path::PathBuf> = "FILE", where { conflicts: &["half_width"] };
///         }
///     }
/// }
///
/// assert_eq!(Start::DECLARATIONS[0].help(), "Half the length of an edge of the cube (length) [default: 1]");
/// let under = Start { half_width: Some(2.0), ..Start::default() };
/// assert!(Start::default().merged_over(under).has("half-width"));
/// ```
///
/// In this order: the description (also that of the field), attributes of serde, the name, the type (an `Option`, or a `Vec` if there
/// may be several), the placeholder for the value in the help, the function that reads it (none for paths), the unit, how the description
/// continues after the unit, the default in words, and other fields of the [`Declaration`]. A heading that is followed by
/// `replaced by input`, for instance, is replaced as a whole where values with an `input` are merged over others.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($heading:tt $(replaced by $($replacing:ident),+)? { $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)+)])?
                $field:ident: $type:ty = $value:literal
                $(=> $read:expr)?
                $(, unit $unit:literal)?
                $(, then $then:literal)?
                $(, default $default:literal)?
                $(, where { $($key:ident: $extra:expr),+ $(,)? })?;
            )+ })+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(default, deny_unknown_fields, crate = "::trisolar_spec::serde")]
        $visibility struct $name {
            $($(
                $(#[doc = $doc])+
                $(#[doc = concat!(" (", $unit, ")")])?
                $(#[doc = $then])?
                $(#[doc = concat!(" \\[default: ", $default, "\\]")])?
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )+)+
        }

        impl $crate::Parameters for $name {
            const DECLARATIONS: &'static [$crate::Declaration] = &[$($(
                $crate::Declaration {
                    name: stringify!($field),
                    heading: $heading,
                    text: concat!($($doc),+),
                    value: $value,
                    $(read: $crate::Read::Text(|text| {
                        let value: <$type as $crate::Values>::Value = ($read)(text)?;
                        Ok($crate::AnyValue::new(value))
                    }),)?
                    $(unit: $unit,)?
                    $(then: $then,)?
                    $(default: $default,)?
                    $($($key: $extra,)+)?
                    ..$crate::Declaration::NONE
                },
            )+)+];

            const REPLACED: &'static [(&'static str, &'static [&'static str])] =
                &[$($(($heading, &[$(stringify!($replacing)),+]),)?)+];

            fn field(&self, name: &str) -> Option<&dyn $crate::Field> {
                match name {
                    $($(stringify!($field) => Some(&self.$field),)+)+
                    _ => None,
                }
            }

            fn field_mut(&mut self, name: &str) -> Option<&mut dyn $crate::Field> {
                match name {
                    $($(stringify!($field) => Some(&mut self.$field),)+)+
                    _ => None,
                }
            }
        }
    };
}
