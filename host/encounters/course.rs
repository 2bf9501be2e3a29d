//! The course of one encounter: the places of the bodies on the way from its start to its record.

use kernels_gpu::encounters::lanes::{Runs, integrate};
use kernels_gpu::encounters::step::{StepControl, advance};
use kernels_gpu::encounters::{Encounter, Pairs, Record, Start, Watch};

use super::Validated;

/// The places of the bodies at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Steps since the start. Near the bodies' closest approaches, a step takes less time.
    pub steps: u64,
    /// Time since the start, in the user's units.
    pub time: f64,
    /// How many excursions of the third body have been jumped over so far.
    pub jumps: u32,
    /// Positions relative to the centre of mass, in the user's units.
    pub positions: [[f64; 3]; 3],
    /// (E - E₀) / |E₀|.
    pub energy_error: f64,
}

/// The course of an encounter.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The result, with the bits that the CPU engine computes.
    pub record: Record,
    /// Places at equal numbers of steps, and the final one.
    pub places: Vec<Place>,
}

impl Course {
    /// Integrates a run and notes up to `limit` places, and the final one. `None` if `cancelled` returned true, which is called after
    /// each block of steps.
    ///
    /// # Panics
    /// If the limit is 0, or the specification has no such run.
    pub fn of(
        valid: &Validated,
        run: u64,
        limit: usize,
        cancelled: impl FnMut() -> bool,
    ) -> Option<Self> {
        assert!(limit > 0, "a course needs a place");
        assert!(run < valid.runs(), "there is no run {run}");
        let mut observer = Observer {
            valid,
            run: Some(run),
            limit: limit as u64,
            cancelled,
            steps: 0,
            stride: 1,
            places: Vec::new(),
            last: None,
            record: None,
        };
        integrate::<f64, _>(valid.settings(), valid.stages(), &mut observer);
        let Observer { places, record, .. } = observer;
        record.map(|record| Self { record, places })
    }
}

/// Notes the course of its run.
struct Observer<'a, C> {
    valid: &'a Validated,
    /// The run, until it begins.
    run: Option<u64>,
    limit: u64,
    cancelled: C,
    steps: u64,
    /// Steps from one place to the next.
    stride: u64,
    places: Vec<Place>,
    /// The encounter before the last block of steps.
    last: Option<Encounter>,
    record: Option<Record>,
}

/// Ignores local minima, which the run itself evaluates.
struct Ignore;

impl Watch<f64> for Ignore {
    fn passage(&mut self, _: &Pairs<f64>, _: f64, _: &[i32; 3], _: &mut i32) {}
}

impl<C> Observer<'_, C> {
    fn place(&self, encounter: &Encounter, state: &Pairs<f64>) -> Place {
        Place {
            steps: self.steps,
            time: encounter.time(state),
            jumps: encounter.jumps,
            positions: encounter.positions(state),
            energy_error: encounter.energy_error(state),
        }
    }

    fn note(&mut self, encounter: &Encounter, state: &Pairs<f64>) {
        if !self.steps.is_multiple_of(self.stride) {
            return;
        }
        if self.places.len() as u64 == self.limit {
            // The length of the run is not known before its end.
            self.stride *= 2;
            let stride = self.stride;
            self.places
                .retain(|place| place.steps.is_multiple_of(stride));
            if !self.steps.is_multiple_of(stride) {
                return;
            }
        }
        let place = self.place(encounter, state);
        self.places.push(place);
    }
}

impl<C: FnMut() -> bool> Runs for Observer<'_, C> {
    fn next(&mut self) -> Option<u64> {
        self.run.take()
    }

    fn start(&mut self, run: u64) -> Start {
        self.valid.start(run)
    }

    fn is_watched(&self) -> bool {
        true
    }

    fn before(&mut self, encounter: &Encounter, state: &Pairs<f64>, control: &StepControl<f64>) {
        // A copy takes the steps one by one. Its last digits can differ from those of the run, which computes a block as a whole, but
        // not for longer than a block.
        let (mut state, mut control) = (*state, *control);
        let masses = encounter.masses.step;
        for step in 0..encounter.block(self.valid.settings()) {
            if step > 0 {
                advance(
                    &mut state,
                    &masses,
                    &mut control,
                    1,
                    self.valid.stages(),
                    &mut Ignore,
                );
            }
            self.note(encounter, &state);
            self.steps += 1;
        }
        self.last = Some(*encounter);
    }

    fn ended(&mut self, _: u64, record: &Record, state: &Pairs<f64>) {
        // The last steps may lead beyond the end of the run: a contact is found after it has happened.
        let over = |place: &Place| place.time >= record.time;
        self.places.retain(|place| place.steps == 0 || !over(place));
        if let Some(encounter) = self.last.take() {
            let mut place = self.place(&encounter, state);
            place.time = record.time;
            self.places.push(place);
        }
        self.record = Some(*record);
    }

    fn stopped(&mut self) -> bool {
        (self.cancelled)()
    }
}
