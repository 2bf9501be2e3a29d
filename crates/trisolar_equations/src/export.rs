//! The kernels of a system.

use crate::scheme::Scheme;
use crate::{Evolution, Job, Method, Scalar, System};

/// The arguments of a kernel: items, and the destination of their columns. Passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeviceJob {
    /// The specification.
    pub job: *const Job,
    /// The columns of each item after those of the previous one.
    pub out: *mut f64,
    /// The number of the first item.
    pub first: u64,
    /// Number of items.
    pub count: u32,
    /// Number of columns of an item.
    pub width: u32,
}

/// What kind of equations a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A [`Flow`](crate::Flow).
    Flow,
    /// A [`Flow`](crate::Flow) of two groups of numbers, each of which changes by the other alone, so that it [splits](crate::system::Splits).
    SplitFlow,
    /// A [`Hamiltonian`](crate::Hamiltonian).
    Hamiltonian,
    /// An [`IteratedMap`](crate::IteratedMap).
    Map,
}

impl Kind {
    /// Its integrators, the default first.
    pub fn methods(self) -> &'static [Method] {
        match self {
            Self::Flow => &[Method::DOP853, Method::RK4, Method::TSIT5],
            Self::SplitFlow => &[
                Method::DOP853,
                Method::RK4,
                Method::TSIT5,
                Method::LEAPFROG,
                Method::FOREST_RUTH,
                Method::KAHAN_LI_8,
            ],
            Self::Hamiltonian => &[
                Method::KAHAN_LI_8,
                Method::FOREST_RUTH,
                Method::LEAPFROG,
                Method::DOP853,
            ],
            Self::Map => &[Method::ITERATION],
        }
    }
}

/// A system with its kernels, by [`export!`](crate::export!).
pub trait Exported: System {
    /// Its kind.
    const KIND: Kind;

    /// [`follow`](fn@crate::follow) with the method of the job.
    fn follow<R: Scalar>(job: &Job, first: u64, write: impl FnMut(usize, usize, f64));

    /// [`one`] with the method of the job.
    #[cfg(not(target_arch = "nvptx64"))]
    fn one(job: &Job, item: u64, write: &mut dyn FnMut(usize, f64));

    /// The kernel for the method of the job.
    #[cfg(not(target_arch = "nvptx64"))]
    fn entry(job: &Job) -> cuda_std::Entry<(DeviceJob,)>;
}

/// [`follow`](fn@crate::follow) for one item. On the host it is not inlined: engine and emulator share it, and it is compiled once.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
pub fn one<E, M, const D: usize, const P: usize>(
    system: E::System,
    job: &Job,
    item: u64,
    write: &mut dyn FnMut(usize, f64),
) where
    E: Evolution<f64, D, P>,
    M: Scheme<f64, E>,
{
    crate::follow::<f64, E, M, D, P>(system, job, item, |_, place, number| write(place, number));
}

/// One thread of a kernel: item i of the job for thread i of a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// `job.job` must be valid, and `job.out` for `job.count` times `job.width` numbers, which nothing else uses during the launch.
#[inline(always)]
pub unsafe fn one_thread(
    job: DeviceJob,
    follow: impl FnOnce(&Job, u64, &mut dyn FnMut(usize, f64)),
) {
    let i = cuda_std::thread::index_1d();
    if i < job.count {
        // SAFETY: the caller guarantees it.
        let specification = unsafe { &*job.job };
        follow(
            specification,
            job.first + u64::from(i),
            &mut |place, number| {
                // SAFETY: the caller guarantees the memory, and each thread has its own i.
                unsafe { *job.out.add(i as usize * job.width as usize + place) = number };
            },
        );
    }
}

/// Makes the kernels of a system, and what a program needs to run it: `export!(flow Lorenz);`, `export!(hamiltonian HenonHeiles);` or
/// `export!(map StandardMap);`, once in a module.
#[macro_export]
macro_rules! export {
    (flow $system:ident) => {
        $crate::export! { @ $system, Flow, $crate::system::OfFlow<$system>,
            rk4_alone Rk4Alone RK4 Rk4 Alone 0,
            rk4_tangent Rk4Tangent RK4 Rk4 WithTangent 1,
            tsit5_alone Tsit5Alone TSIT5 Tsit5 Alone 0,
            tsit5_tangent Tsit5Tangent TSIT5 Tsit5 WithTangent 1,
            dop853_tangent Dop853Tangent DOP853 Dop853 WithTangent 1,
            dop853_alone Dop853Alone DOP853 Dop853 Alone 0
        }
    };
    (hamiltonian $system:ident) => {
        $crate::export! { @ $system, Hamiltonian, $crate::system::OfHamiltonian<$system, { <$system as $crate::System>::STATE.len() / 2 }>,
            leapfrog_alone LeapfrogAlone LEAPFROG Leapfrog Alone 0,
            leapfrog_tangent LeapfrogTangent LEAPFROG Leapfrog WithTangent 1,
            forest_ruth_alone ForestRuthAlone FOREST_RUTH ForestRuth Alone 0,
            forest_ruth_tangent ForestRuthTangent FOREST_RUTH ForestRuth WithTangent 1,
            dop853_alone Dop853Alone DOP853 Dop853 Alone 0,
            dop853_tangent Dop853Tangent DOP853 Dop853 WithTangent 1,
            kahan_li_8_tangent KahanLi8Tangent KAHAN_LI_8 KahanLi8 WithTangent 1,
            kahan_li_8_alone KahanLi8Alone KAHAN_LI_8 KahanLi8 Alone 0
        }
    };
    (map $system:ident) => {
        $crate::export! { @ $system, Map, $crate::system::OfMap<$system>,
            iteration_tangent IterationTangent ITERATION Iteration WithTangent 1,
            iteration_alone IterationAlone ITERATION Iteration Alone 0
        }
    };
    (@ $system:ident, $kind:ident, $dynamics:ty,
        $($name:ident $kernel:ident $method:ident $scheme:ident $evolution:ident $tangent:literal),*) => {
        const _: () = {
            const D: usize = <$system as $crate::System>::STATE.len();
            const P: usize = <$system as $crate::System>::PARAMETERS.len();
            type Dynamics = $dynamics;

            $(
                /// # Safety
                /// As [`one_thread`]($crate::export::one_thread).
                #[cuda_std::kernel]
                pub unsafe fn $name(job: $crate::DeviceJob) {
                    // SAFETY: the caller guarantees it.
                    unsafe {
                        $crate::export::one_thread(job, |job, item, write| {
                            $crate::export::one::<$crate::$evolution<f64, Dynamics, D, P>, $crate::scheme::$scheme, D, P>(
                                Dynamics::default(), job, item, write)
                        })
                    };
                }
            )*

            impl $crate::Exported for $system {
                const KIND: $crate::Kind = $crate::Kind::$kind;

                #[inline(always)]
                fn follow<R: $crate::Scalar>(job: &$crate::Job, first: u64, write: impl FnMut(usize, usize, f64)) {
                    match (job.method, job.tangent) {
                        $(($crate::Method::$method, $tangent) => {
                            $crate::follow::<R, $crate::$evolution<R, Dynamics, D, P>, $crate::scheme::$scheme, D, P>(
                                Dynamics::default(), job, first, write)
                        })*
                        // A specification is checked before.
                        _ => {}
                    }
                }

                #[cfg(not(target_arch = "nvptx64"))]
                fn one(job: &$crate::Job, item: u64, write: &mut dyn FnMut(usize, f64)) {
                    match (job.method, job.tangent) {
                        $(($crate::Method::$method, $tangent) => {
                            $crate::export::one::<$crate::$evolution<f64, Dynamics, D, P>, $crate::scheme::$scheme, D, P>(
                                Dynamics::default(), job, item, write)
                        })*
                        // A specification is checked before.
                        _ => {}
                    }
                }

                #[cfg(not(target_arch = "nvptx64"))]
                fn entry(job: &$crate::Job) -> cuda_std::Entry<($crate::DeviceJob,)> {
                    match (job.method, job.tangent) {
                        $(($crate::Method::$method, $tangent) => cuda_std::Entry::of::<$kernel>(),)*
                        (method, _) => panic!("there is no kernel for {method:?}"),
                    }
                }
            }
        };
    };
}
