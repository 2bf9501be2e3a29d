//! Repeats parts of a run with steps twice as long, to see how far the errors of the steps displace each body. Each part is repeated from
//! the run's own positions, so that chaos cannot amplify the errors of earlier parts.

use trisolar_bodies::{Bodies, DVec3, Displacement, Displacements};

/// The share of a long run that is repeated.
const SHARE: f64 = 0.125;
/// Differences above which parts become shorter, and below which they become longer.
const LARGE: f64 = 0.3;
const SMALL: f64 = 0.03;

/// The parts into which a run is divided, on its own clock.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Where the check begins and where it ends.
    pub span: [f64; 2],
    /// The length of the first part.
    pub first: f64,
    /// The least and the greatest length of a part.
    pub limits: [f64; 2],
    /// The time of which all lengths are multiples; 0 for any length.
    pub quantum: f64,
    /// Whether all of the run is repeated, not an eighth of each part.
    pub whole: bool,
}

impl Parts {
    fn rounded(&self, span: f64) -> f64 {
        match self.quantum {
            0.0 => span,
            quantum => (span / quantum).floor() * quantum,
        }
    }
}

/// A check of the steps of a run, whose parts are repeated from bodies and, with them, an `X`.
#[derive(Debug)]
pub struct StepCheck<X = ()> {
    found: Displacements,
    mass: Vec<f64>,
    softening: f64,
    order: u32,
    parts: Parts,
    /// Where the present part begins, or the next one; infinite after the last.
    first: f64,
    /// The length of the present part.
    part: f64,
    /// The state at the start of the present part, until that has been repeated.
    from: Option<(Bodies, X)>,
}

impl<X> StepCheck<X> {
    /// Of a run of these bodies with this softening, by an integrator of this order; `None` where [`Displacements`] are not known.
    pub fn of(bodies: &Bodies, softening: f64, order: u32, parts: Parts) -> Option<Self> {
        Some(Self {
            found: Displacements::of(bodies)?,
            mass: bodies.mass.clone(),
            softening,
            order,
            first: parts.span[0],
            part: parts.first,
            parts,
            from: None,
        })
    }

    /// The length of the present part that is repeated; 0 if it is too short.
    fn repeated(&self) -> f64 {
        let share = if self.parts.whole { 1.0 } else { SHARE };
        let least = self.parts.quantum;
        let span = self.parts.rounded(self.part * share).max(least);
        span.min(self.parts.rounded(self.parts.span[1] - self.first))
    }

    /// The next time at which the bodies are needed; infinite after the end.
    pub fn next_look(&self) -> f64 {
        match self.from {
            Some(_) => (self.first + self.repeated()).min(self.parts.span[1]),
            None => self.first,
        }
    }

    /// Looks at the bodies at the time [`next_look`](Self::next_look). `repeat` returns the positions after a span of time, from earlier
    /// bodies, with steps twice as long; `None` if only the longer steps fail, which tells nothing of the shorter ones.
    ///
    /// # Errors
    /// That of `repeat`.
    pub fn look<E>(
        &mut self,
        (bodies, with): (&Bodies, X),
        repeat: impl FnOnce(&Bodies, &X, f64) -> Result<Option<Vec<DVec3>>, E>,
    ) -> Result<(), E> {
        let (time, last) = (self.next_look(), self.parts.span[1]);
        if let Some((from, of_from)) = self.from.take() {
            let (mut part, [shortest, longest]) = (self.part, self.parts.limits);
            if let Some(other) = repeat(&from, &of_from, time - self.first)? {
                let states = [&from.position, &bodies.position, &other].map(|x| &x[..]);
                let weight = part.min(last - self.first) / self.repeated();
                let (softening, order) = (self.softening, self.order);
                let difference = (self.found).add(states, &self.mass, softening, order, weight);
                // Differences as large as the orbit tell little of the error, and short parts do not show errors that grow faster than time.
                if difference > LARGE {
                    part = self.parts.rounded(part / 2.0).max(shortest);
                } else if difference < SMALL {
                    part = (2.0 * part).min(longest);
                }
            }
            self.first += self.part;
            self.part = part;
        }
        if self.first <= time {
            self.from = Some((bodies.clone(), with));
        }
        if self.first >= last || (self.from.is_some() && self.repeated() <= 0.0) {
            self.from = None;
            self.first = f64::INFINITY;
        }
        Ok(())
    }

    /// The largest displacement so far.
    pub fn largest(&self) -> Option<Displacement> {
        self.found.largest(&self.mass)
    }
}
