//! Runs on the devices of several processes: bodies and sums travel between them through the host.

use std::rc::Rc;

use kernels_gpu::device::Body;

use super::part::Range;
use crate::kernel::Number;
use trisolar_run::Ranks;

/// The ranks whose devices compute together, in the order of their devices.
#[derive(Clone, Debug)]
pub(super) struct DeviceRanks {
    pub ranks: Rc<dyn Ranks>,
    /// Number of devices of each rank.
    devices: Vec<usize>,
}

impl DeviceRanks {
    /// Tells the other ranks how many devices this one has.
    pub fn new(ranks: Rc<dyn Ranks>, devices: usize) -> Self {
        let counts = each(ranks.as_ref(), devices as f64);
        Self {
            ranks,
            devices: counts.into_iter().map(|count| count as usize).collect(),
        }
    }

    /// Number of devices of all ranks.
    pub fn devices(&self) -> usize {
        self.devices.iter().sum()
    }

    /// The number, among the devices of all ranks, of the first one of this rank.
    pub fn first(&self) -> usize {
        self.devices[..self.ranks.rank()].iter().sum()
    }

    /// The least of the numbers that the ranks give.
    pub fn least(&self, number: f64) -> f64 {
        let all = each(self.ranks.as_ref(), number);
        all.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Gathers values of all bodies; `own` has the bodies of each device, of which those of this rank are in `bodies`.
    pub fn gather<S: Number>(&self, own: &[Vec<Range>], bodies: &mut [Body<S>]) {
        let rank = self.ranks.rank();
        let mut rest = own;
        let of_ranks: Vec<Vec<Range>> = (self.devices.iter())
            .map(|count| {
                let (devices, others) = rest.split_at(*count);
                rest = others;
                devices.concat()
            })
            .collect();
        let mine: Vec<Body<S>> = (of_ranks[rank].iter())
            .flat_map(|range| bodies[range.places()].iter().copied())
            .collect();
        let length = |ranges: &Vec<Range>| ranges.iter().map(|r| r.count as usize).sum::<usize>();
        let words = size_of::<Body<S>>() / size_of::<f64>();
        let counts: Vec<usize> = of_ranks.iter().map(|r| length(r) * words).collect();
        let mut all = vec![0.0; counts.iter().sum()];
        self.ranks.gather(&to_numbers(&mine), &counts, &mut all);
        let mut from = &all[..];
        for range in of_ranks.iter().flatten() {
            let (numbers, others) = from.split_at(range.count as usize * words);
            from_numbers(numbers, &mut bodies[range.places()]);
            from = others;
        }
    }

    /// Sends the sums of some bodies to another rank.
    pub fn send<S: Number>(&self, to: usize, sums: &[Body<S>]) {
        self.ranks.send(to, to_numbers(sums));
    }

    /// Waits for the sums that another rank sends.
    pub fn receive<S: Number>(&self, from: usize, sums: &mut [Body<S>]) {
        let mut numbers = vec![0.0; size_of_val(sums) / size_of::<f64>()];
        self.ranks.receive(from, &mut numbers);
        from_numbers(&numbers, sums);
    }
}

/// One number of each rank.
fn each(ranks: &dyn Ranks, number: f64) -> Vec<f64> {
    let mut all = vec![0.0; ranks.size()];
    ranks.gather(&[number], &vec![1; ranks.size()], &mut all);
    all
}

/// The bytes of bodies, in the form in which ranks exchange numbers.
fn to_numbers<S: Number>(bodies: &[Body<S>]) -> Vec<f64> {
    const { assert!(size_of::<Body<S>>().is_multiple_of(size_of::<f64>())) };
    // SAFETY: the bodies are plain: numbers without padding.
    let bytes = unsafe { std::slice::from_raw_parts(bodies.as_ptr().cast(), size_of_val(bodies)) };
    let words = <[u8]>::as_chunks::<8>(bytes).0;
    words.iter().map(|word| f64::from_ne_bytes(*word)).collect()
}

/// The opposite of [`to_numbers`].
fn from_numbers<S: Number>(numbers: &[f64], bodies: &mut [Body<S>]) {
    assert_eq!(size_of_val(numbers), size_of_val(bodies));
    // SAFETY: as many bytes on both sides; every pattern of bits is a valid body, and the two do not overlap.
    unsafe {
        bodies
            .as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(numbers.as_ptr().cast(), size_of_val(numbers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_gpu::number::{FastF32, FloatFloat};

    fn returns<S: Number + PartialEq + std::fmt::Debug>(x: f64) {
        let body = |x: f64| Body {
            x: S::from_f64(x),
            y: S::from_f64(-x),
            z: S::from_f64(x * x),
            g: S::from_f64(1.0),
        };
        let bodies = [body(x), body(3.0 * x), body(0.0)];
        let mut copy = [body(7.0); 3];
        from_numbers(&to_numbers(&bodies), &mut copy);
        for (one, other) in bodies.iter().zip(&copy) {
            assert_eq!(
                [one.x, one.y, one.z, one.g],
                [other.x, other.y, other.z, other.g]
            );
        }
    }

    #[test]
    fn bodies_of_every_precision_travel_unchanged() {
        returns::<f64>(0.1);
        returns::<FastF32>(0.1);
        returns::<FloatFloat<f32>>(0.1);
    }
}
