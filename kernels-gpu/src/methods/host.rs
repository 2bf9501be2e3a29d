//! Operations of the host on methods.

use cuda_std::Entry;

use crate::device::fetch::{MassiveThread, Ring, Shared, Starts, Thread};
use crate::integrator::{Integrator, MapIntegrator};
use crate::kernels;
use crate::map::{Job, Point};
use crate::number::Precision;
use crate::quantity::{self, Quantity};

/// An operation on a method, given by its types.
pub trait Visitor<Q: Quantity> {
    /// The result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<P: Precision, I: MapIntegrator>(self, entries: Entries<Q, P, I>) -> Self::Output;
}

/// The arguments of [`map`](fn@crate::device::fetch::map) for threads with the state `T` and start states `S`.
pub type MapArguments<Q, T, S> = (
    Job,
    u64,
    Ring<<Q as Quantity>::Value>,
    *mut T,
    *const Shared,
    S,
);

/// A kernel of threads that fetch pixels.
pub type MapEntry<Q, T, S> = Entry<MapArguments<Q, T, S>>;

/// The kernels of a method.
#[derive(Debug)]
pub struct Entries<Q: Quantity, P: Precision, I: MapIntegrator> {
    /// The kernel [`map`](fn@crate::device::fetch::map).
    pub map: MapEntry<Q, MassiveThread<Q, I, P>, Starts>,
    /// The kernel [`map_uniform`](fn@crate::device::fetch::map_uniform), if the method has one.
    pub map_uniform: Option<MapEntry<Q, Thread<Q, I, P>, *const Point>>,
}

/// A quantity in the table of methods.
pub trait Compiled: Quantity {
    /// Performs an operation on the method with this precision and integrator, given by their names; returns `None` if it is not in
    /// the table.
    fn with_method<V: Visitor<Self>>(
        precision: &str,
        integrator: &str,
        visitor: V,
    ) -> Option<V::Output>;

    /// Whether the method with this precision and integrator is in the table.
    fn has_method(precision: &str, integrator: &str) -> bool {
        Self::with_method(precision, integrator, Found).is_some()
    }
}

/// A visitor that does nothing, to test whether a method exists.
struct Found;

impl<Q: Quantity> Visitor<Q> for Found {
    type Output = ();

    fn visit<P: Precision, I: MapIntegrator>(self, _: Entries<Q, P, I>) {}
}

/// The kernel of a row, if it has one.
fn first<T, const N: usize>(kernels: [T; N]) -> Option<T> {
    kernels.into_iter().next()
}

macro_rules! if_it_is {
    (
        [$precision_name:ident $integrator_name:ident $visitor:ident]
        $quantity:ident $q:ident, $integrator:ident $i:ident, {$precision:ty} $p:ident,
        $($uniform:ident)?
    ) => { pastey::paste! {
        if $precision_name == <$precision as Precision>::NAME
            && $integrator_name == <crate::integrator::$integrator as Integrator>::NAME
        {
            let entries = Entries {
                map: Entry::of::<kernels::[<Map $q:camel $i:camel $p:camel>]>(),
                map_uniform: first([
                    $(Entry::of::<kernels::[<Map $uniform:camel $q:camel $i:camel $p:camel>]>())?
                ]),
            };
            return Some(
                $visitor
                    .visit::<$precision, <crate::integrator::$integrator as Integrator>::OnMaps>(
                        entries,
                    ),
            );
        }
    }};
}

macro_rules! compiled {
    ([] $($quantity:ident $q:ident $precisions:ident,)*) => {$(
        impl Compiled for quantity::$quantity {
            fn with_method<V: Visitor<Self>>(
                precision: &str,
                integrator: &str,
                visitor: V,
            ) -> Option<V::Output> {
                crate::methods_of! {
                    $quantity $q $precisions, {if_it_is} [precision integrator visitor]
                }
                None
            }
        }
    )*};
}

crate::quantities!({compiled} []);
