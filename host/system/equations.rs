//! What the engines ask of equations.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::Entry;
use trisolar_device::{Device, GpuError, Grid};
use trisolar_equations::{Column, DeviceJob, Exported, Job, Kind, Lanes};
use trisolar_simd::Simd;
use trisolar_spec::{Parameter, SpecError, UNBOUNDED};

/// A system in words and defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// A word for files.
    pub name: String,
    /// A title.
    pub label: String,
    /// The kind of its equations.
    pub kind: Kind,
    /// The parameters with their defaults.
    pub parameters: Vec<Parameter>,
    /// The numbers of the state at the start with their defaults; NaN for one that follows from others.
    pub state: Vec<Parameter>,
    /// The names of the outcomes.
    pub outcomes: Vec<String>,
    /// The time to which items are followed by default.
    pub end: f64,
    /// The default of a fixed step.
    pub step: f64,
}

impl About {
    /// The parameters, and then the numbers of the state.
    pub fn numbers(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().chain(&self.state)
    }

    /// The parameter or the number of the state with this name.
    ///
    /// # Errors
    /// A list of the names.
    pub fn find(&self, name: &str) -> Result<&Parameter, String> {
        let found = self.numbers().find(|known| known.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.numbers().map(|known| known.name).collect();
            format!(
                "there is no {name}; the parameters and start values are {}",
                names.join(", ")
            )
        })
    }

    /// The names of the outcomes from [`STIFF`](trisolar_equations::job::STIFF) on.
    pub fn outcome_names(&self) -> impl Iterator<Item = &str> {
        let own = self.outcomes.iter().map(String::as_str);
        ["stiff", "not finite", "none"].into_iter().chain(own)
    }

    /// The names of all [columns](trisolar_equations::Column).
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        let state = self.state.iter().map(|number| number.name);
        Column::NAMES.into_iter().chain(state)
    }
}

/// Equations that the engines can follow: compiled ones, or interpreted ones.
pub trait Equations: Clone + Debug + Send + Sync + 'static {
    /// The system in words.
    fn about(&self) -> About;

    /// A text from which [`of_source`](Self::of_source) makes the same equations, for records of unfinished computations.
    fn source(&self) -> String;

    /// The equations of a text.
    ///
    /// # Errors
    /// The text is not that of such equations.
    fn of_source(text: &str) -> Result<Self, SpecError>;

    /// Number of items that [`follow`](Self::follow) follows at a time with this instruction set, in the time of one.
    fn lanes(&self, simd: Simd) -> usize;

    /// Follows these items, at most as many as there are [lanes](Self::lanes); `write` takes the place of the item among them, the place
    /// among the columns of the job, and the number.
    fn follow(
        &self,
        simd: Simd,
        job: &Job,
        items: &[u64],
        write: &mut dyn FnMut(usize, usize, f64),
    );

    /// Starts the kernel for the method of the job: a thread for each item.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// As for [`one_thread`](trisolar_equations::export::one_thread), until the device is done.
    unsafe fn launch(
        &self,
        device: &Arc<dyn Device>,
        job: &Job,
        grid: Grid,
        items: DeviceJob,
    ) -> Result<(), GpuError>;
}

/// The equations of a system in Rust: functions of the system, so that all else is compiled once and not with each of a user's edits.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    name: &'static str,
    about: fn() -> About,
    one: Follow,
    side_by_side: Follow,
    entry: fn(&Job) -> Entry<(DeviceJob,)>,
}

/// Follows the item of a number and the next ones, one in each lane.
type Follow = fn(&Job, u64, &mut dyn FnMut(usize, usize, f64));

/// Items that lanes follow side by side.
const LANES: usize = 4;

/// The systems of the program.
static KNOWN: Mutex<Vec<Compiled>> = Mutex::new(Vec::new());

fn about<S: Exported>() -> About {
    let named = |list: &[(&'static str, f64)]| {
        let parameter = |(name, default): &(&'static str, f64)| Parameter {
            default: *default,
            ..Parameter::new(name, "", [-UNBOUNDED, UNBOUNDED])
        };
        list.iter().map(parameter).collect()
    };
    About {
        name: S::NAME.into(),
        label: S::LABEL.into(),
        kind: S::KIND,
        parameters: named(S::PARAMETERS),
        state: named(S::STATE),
        outcomes: S::OUTCOMES.iter().map(|name| (*name).to_owned()).collect(),
        end: S::END,
        step: S::STEP,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<S: Exported>(job: &Job, first: u64, write: &mut dyn FnMut(usize, usize, f64)) {
    S::follow::<Lanes<LANES>>(job, first, write);
}

#[cfg(target_arch = "x86_64")]
fn by_lanes<S: Exported>(job: &Job, first: u64, write: &mut dyn FnMut(usize, usize, f64)) {
    // SAFETY: every instruction set but the scalar one includes AVX2, and a caller asks for one that the machine has.
    unsafe { avx2::<S>(job, first, write) }
}

#[cfg(not(target_arch = "x86_64"))]
fn by_lanes<S: Exported>(job: &Job, first: u64, write: &mut dyn FnMut(usize, usize, f64)) {
    S::follow::<Lanes<LANES>>(job, first, write);
}

impl Compiled {
    /// The equations of this system.
    pub fn of<S: Exported>() -> Self {
        let this = Self {
            name: S::NAME,
            about: about::<S>,
            one: |job, item, write| S::one(job, item, &mut |place, number| write(0, place, number)),
            side_by_side: by_lanes::<S>,
            entry: S::entry,
        };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().all(|other| other.name != this.name) {
            known.push(this);
        }
        this
    }
}

impl Equations for Compiled {
    fn about(&self) -> About {
        (self.about)()
    }

    fn source(&self) -> String {
        self.name.into()
    }

    fn of_source(text: &str) -> Result<Self, SpecError> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|known| known.name == text);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|known| known.name).collect();
            SpecError::new("system", text, format!("must be {}", names.join(" or ")))
        })
    }

    fn lanes(&self, simd: Simd) -> usize {
        match simd {
            Simd::Scalar => 1,
            #[allow(unreachable_patterns, reason = "there are machines without vectors")]
            _ => LANES,
        }
    }

    fn follow(
        &self,
        simd: Simd,
        job: &Job,
        items: &[u64],
        write: &mut dyn FnMut(usize, usize, f64),
    ) {
        let consecutive = items.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        if self.lanes(simd) > 1 && items.len() > 1 && consecutive {
            // The lanes behind the last item follow the next ones, which nobody asks for.
            (self.side_by_side)(job, items[0], &mut |lane, place, number| {
                if lane < items.len() {
                    write(lane, place, number);
                }
            });
        } else {
            for (lane, item) in items.iter().enumerate() {
                (self.one)(job, *item, &mut |_, place, number| {
                    write(lane, place, number)
                });
            }
        }
    }

    unsafe fn launch(
        &self,
        device: &Arc<dyn Device>,
        job: &Job,
        grid: Grid,
        items: DeviceJob,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees it.
        unsafe { device.launch_entry((self.entry)(job), grid, (items,)) }
    }
}
