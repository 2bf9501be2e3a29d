//! The quantities that maps compute, by name. The host takes all properties of a quantity from its row in the
//! [table](kernels_gpu::quantities).

use std::fmt;
use std::str::FromStr;

use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::methods::{Compiled, Entries, Visitor};
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity as of;
use serde::{Deserialize, Serialize};

use super::value::{Value, ValueSlice, ValueType};

pub use kernels_gpu::quantity::Scale;

macro_rules! define {
    ([] $($name:ident $file:ident $precisions:ident,)*) => {
        /// The quantity that a map computes for each pixel. It is written as its [`name`](Self::name).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Quantity {
            $(
                #[doc = concat!("See [`", stringify!($name), "`](kernels_gpu::quantity::", stringify!($name), ").")]
                $name,
            )*
        }

        impl Quantity {
            /// All quantities, the default first.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Calls `visitor` with the type of the quantity.
            pub(crate) fn visit<V: OfQuantity>(self, visitor: V) -> V::Output {
                match self { $(Self::$name => visitor.visit::<of::$name>(),)* }
            }
        }
    };
}
kernels_gpu::quantities!({define} []);

/// An operation that is generic over the quantity.
pub(crate) trait OfQuantity {
    /// The result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<Q: Compiled<Value: Value>>(self) -> Self::Output;
}

/// An operation that is generic over the method: a quantity in a precision by an integrator.
pub(crate) trait OfMethod {
    /// The result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<Q: of::Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        entries: Entries<Q, P, I>,
    ) -> Self::Output;
}

/// Finds the method of a precision and an integrator, given by their names.
struct ByNames<'a, V> {
    precision: &'a str,
    integrator: &'a str,
    then: V,
}

impl<V: OfMethod> OfQuantity for ByNames<'_, V> {
    type Output = Option<V::Output>;

    fn visit<Q: Compiled<Value: Value>>(self) -> Self::Output {
        Q::with_method(self.precision, self.integrator, ForQuantity(self.then))
    }
}

/// An operation for a method whose quantity is known.
struct ForQuantity<V>(V);

impl<Q: of::Quantity<Value: Value>, V: OfMethod> Visitor<Q> for ForQuantity<V> {
    type Output = V::Output;

    fn visit<P: Number, I: MapIntegrator>(self, entries: Entries<Q, P, I>) -> V::Output {
        self.0.visit::<Q, P, I>(entries)
    }
}

/// The properties of a quantity.
struct QuantityProperties {
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    scale: Scale,
    value_type: ValueType,
    counts_steps: bool,
    has_twins: bool,
    help: &'static str,
}

struct ReadProperties;

impl OfQuantity for ReadProperties {
    type Output = QuantityProperties;

    fn visit<Q: Compiled<Value: Value>>(self) -> QuantityProperties {
        QuantityProperties {
            name: Q::NAME,
            label: Q::LABEL,
            unit: Q::UNIT,
            scale: Q::SCALE,
            value_type: Q::Value::TYPE,
            counts_steps: Q::COUNTS_STEPS,
            has_twins: Q::HAS_TWINS,
            help: Q::HELP,
        }
    }
}

/// Whether a method is compiled.
struct HasMethod<'a>(&'a str, &'a str);

impl OfQuantity for HasMethod<'_> {
    type Output = bool;

    fn visit<Q: Compiled<Value: Value>>(self) -> bool {
        Q::has_method(self.0, self.1)
    }
}

impl Quantity {
    fn about(self) -> QuantityProperties {
        self.visit(ReadProperties)
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The label of the values in pictures.
    pub fn label(self) -> &'static str {
        self.about().label
    }

    /// Its unit: steps, or a dimension in the units of the specification.
    pub fn unit(self) -> &'static str {
        self.about().unit
    }

    /// The colour scale of its values.
    pub fn scale(self) -> Scale {
        self.about().scale
    }

    /// The type of its values.
    pub fn value_type(self) -> ValueType {
        self.about().value_type
    }

    /// Whether its value is the number of steps that a pixel took.
    pub fn counts_steps(self) -> bool {
        self.about().counts_steps
    }

    /// Whether it compares a system with its twin.
    pub fn has_twins(self) -> bool {
        self.about().has_twins
    }

    /// The name of its array in npz files.
    pub fn array_name(self) -> &'static str {
        if self.counts_steps() {
            "steps_together"
        } else {
            "values"
        }
    }

    /// What the values of its array are, where pictures may show something else.
    pub fn array_label(self) -> &'static str {
        if self.counts_steps() {
            "steps until the twins part"
        } else {
            self.label()
        }
    }

    /// A one-line description.
    pub fn help(self) -> &'static str {
        self.about().help
    }

    /// Calls `visitor` with the method of a precision and an integrator, given by their names; `None` if the method is not in the
    /// [table](mod@kernels_gpu::methods).
    pub(super) fn with_method<V: OfMethod>(
        self,
        precision: &str,
        integrator: &str,
        then: V,
    ) -> Option<V::Output> {
        self.visit(ByNames {
            precision,
            integrator,
            then,
        })
    }

    /// Whether it is compiled for a precision and an integrator, given by their names.
    pub(crate) fn has_method(self, precision: &str, integrator: &str) -> bool {
        self.visit(HasMethod(precision, integrator))
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The number that a picture shows for a value in a map of this many steps.
    pub fn shown(self, value: f64, steps: u32) -> f64 {
        // Counts of steps are shown as the number of steps left, so that pixels which end early are bright.
        if self.counts_steps() {
            f64::from(steps) - value
        } else {
            value
        }
    }

    /// The steps that pixels of these values took.
    pub fn steps_taken(self, values: ValueSlice<'_>, steps: u64) -> u64 {
        match values.of::<u32>().filter(|_| self.counts_steps()) {
            Some(times) => times.iter().map(|t| u64::from(*t)).sum(),
            None => (values.len() as u64).saturating_mul(steps),
        }
    }

    /// Statistics of the values.
    pub fn statistics(self, values: ValueSlice<'_>, steps: u64) -> Statistics {
        let Finite {
            count: finite,
            sum,
            least,
            greatest,
        } = each_type!(values, v => Finite::of(v));
        let some = |x: f64| (finite > 0).then_some(x);
        let times = values.of::<u32>().filter(|_| self.counts_steps());
        Statistics {
            pixel_steps: self.steps_taken(values, steps),
            never_parted: times
                .map(|times| times.iter().filter(|t| u64::from(**t) == steps).count() as u64),
            least: some(least),
            greatest: some(greatest),
            mean: some(sum / finite as f64),
            not_finite: values.len() as u64 - finite,
        }
    }
}

/// Sums over the finite values.
struct Finite {
    count: u64,
    /// Summed in the order of the pixels, which is the same for every engine.
    sum: f64,
    least: f64,
    greatest: f64,
}

impl Finite {
    fn of<T: Value>(values: &[T]) -> Self {
        let mut found = Self {
            count: 0,
            sum: 0.0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        };
        for value in values.iter().map(|v| v.to_f64()).filter(|v| v.is_finite()) {
            found.least = found.least.min(value);
            found.greatest = found.greatest.max(value);
            found.sum += value;
            found.count += 1;
        }
        found
    }
}

/// Statistics of the values of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Steps taken by all pixels; for a [quantity](Quantity::counts_steps) that counts steps, the sum of the values.
    pub pixel_steps: u64,
    /// Pixels whose twins never parted, for a quantity that counts their steps.
    pub never_parted: Option<u64>,
    /// The least finite value, if there is one.
    pub least: Option<f64>,
    /// The greatest finite value, if there is one.
    pub greatest: Option<f64>,
    /// The mean of the finite values, if there is one.
    pub mean: Option<f64>,
    /// Pixels whose value is not finite.
    pub not_finite: u64,
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|q| q.name() == text);
        named.copied().ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|q| q.name()).collect();
            format!("must be one of {}", names.join(", "))
        })
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.to_string()
    }
}

impl TryFrom<String> for Quantity {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_the_default_is_divergence() {
        assert_eq!(Quantity::default().name(), "divergence");
        for quantity in Quantity::ALL {
            assert_eq!(quantity.name().parse(), Ok(*quantity));
        }
        let error = "lyapunov".parse::<Quantity>().unwrap_err();
        let all = Quantity::ALL.iter().map(|q| q.name());
        let expected = format!("must be one of {}", all.collect::<Vec<_>>().join(", "));
        assert_eq!(error, expected);
    }

    #[test]
    fn statistics_leave_out_what_is_not_finite() {
        let values = [2.0, f64::NAN, -1.0, f64::INFINITY];
        let found = Quantity::Ftle.statistics(ValueSlice::F64(&values), 10);
        assert_eq!((found.least, found.greatest), (Some(-1.0), Some(2.0)));
        assert_eq!((found.mean, found.not_finite), (Some(0.5), 2));
        assert_eq!((found.pixel_steps, found.never_parted), (40, None));
        let found = Quantity::Divergence.statistics(ValueSlice::U32(&[3, 10, 10]), 10);
        assert_eq!((found.pixel_steps, found.never_parted), (23, Some(2)));
    }
}
