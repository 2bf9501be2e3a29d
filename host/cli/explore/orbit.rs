//! The orbit of a map's pixel and of its twin, step by step as the map's engines take them.

use serde_json::json;
use trisolar::bodies::{DVec3, numbers};
use trisolar::divergence::{Specification, TwinOrbits, Validated, twin_orbits};
use trisolar::nbody::{Bodies, Diagnostics, Energies};
use trisolar_explore::{Cancel, Ended, Orbit};

/// Number of steps between two checks whether the client still waits: some milliseconds.
const STEPS_PER_SLICE: u64 = 1 << 14;

/// The orbit of the map's only pixel, with this number of samples.
///
/// # Errors
/// [`Ended::Cancelled`].
pub(super) fn of(map: &Validated, samples: usize, cancel: &dyn Cancel) -> Result<Orbit, Ended> {
    Trace::new(map, samples, cancel).follow(&mut *twin_orbits(map))
}

/// The centre of mass of a system: its position at the start, and its velocity.
#[derive(Clone, Copy)]
struct Centre {
    position: [f64; 3],
    velocity: [f64; 3],
}

/// An orbit being recorded.
struct Trace<'a> {
    specification: &'a Specification,
    samples: usize,
    cancel: &'a dyn Cancel,
    /// The bodies as the kernels count them: the grid body first.
    order: [usize; 3],
    /// Units of the job's lengths in one of the specification's.
    unit: f64,
    /// The centres of mass of the system and its twin.
    centres: [Centre; 2],
    /// Energies at the start.
    energies: [Option<Energies>; 2],
    numbers: Vec<f64>,
    /// The closest approach of two bodies: squared distance, time and pair.
    closest: (f64, u64, usize),
}

/// The pairs of bodies in the kernels' order.
const PAIRS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// Vectors of the bodies in the kernels' order, relative to the grid body, times a factor.
fn with_grid_body(others: [[f64; 3]; 2], factor: f64) -> [[f64; 3]; 3] {
    let [a, b] = others.map(|v| v.map(|x| x * factor));
    [[0.0; 3], a, b]
}

impl<'a> Trace<'a> {
    fn new(map: &'a Validated, samples: usize, cancel: &'a dyn Cancel) -> Self {
        let specification = map.specification();
        let order = match specification.body {
            1 => [0, 1, 2],
            2 => [1, 0, 2],
            _ => [2, 0, 1],
        };
        let mut starts = specification.positions.map(|p| p.to_array());
        starts[order[0]] = map.start(0);
        let twin = |k: usize| starts[order[0]][k] + specification.shift[k];
        let mut twins = starts;
        twins[order[0]] = [0, 1, 2].map(twin);
        let velocities = specification.velocities.map(|v| v.to_array());
        let centres = [starts, twins].map(|positions| Centre {
            position: weighted(specification.masses, order[0], &positions),
            velocity: weighted(specification.masses, order[0], &velocities),
        });
        Self {
            specification,
            unit: map.job(0, 1).grid.span[0] / specification.span[0],
            samples,
            cancel,
            order,
            centres,
            energies: [None; 2],
            numbers: Vec::new(),
            closest: (f64::INFINITY, 0, 0),
        }
    }

    fn follow(mut self, orbits: &mut dyn TwinOrbits) -> Result<Orbit, Ended> {
        let steps = self.specification.steps;
        // This counts as the maps' engines do: all steps at whose beginning the twins are together, up to the first at which they are
        // not.
        let mut together = 0;
        let mut parted = false;
        let last = self.samples as u64 - 1;
        let mut next = 0_u64;
        for step in 0..=steps {
            if step.is_multiple_of(STEPS_PER_SLICE) && self.cancel.cancelled() {
                return Err(Ended::Cancelled);
            }
            self.look_at_pairs(orbits.positions(false), step);
            if u128::from(next) * u128::from(steps) <= u128::from(step) * u128::from(last) {
                self.sample(orbits, step);
                next += 1;
            }
            parted |= !orbits.are_together();
            if step == steps {
                break;
            }
            together += u64::from(!parted);
            orbits.step();
        }
        Ok(self.finish(together, parted))
    }

    fn look_at_pairs(&mut self, positions: [[f64; 3]; 2], step: u64) {
        let bodies = with_grid_body(positions, 1.0);
        for (number, [i, j]) in PAIRS.into_iter().enumerate() {
            let distance2: f64 = (0..3).map(|k| (bodies[i][k] - bodies[j][k]).powi(2)).sum();
            if distance2 < self.closest.0 {
                self.closest = (distance2, step, number);
            }
        }
    }

    fn sample(&mut self, orbits: &dyn TwinOrbits, step: u64) {
        let s = self.specification;
        let time = step as f64 * s.dt;
        let states =
            [false, true].map(|twin| with_grid_body(orbits.positions(twin), 1.0 / self.unit));
        let speeds = [false, true]
            .map(|twin| with_grid_body(orbits.velocities(twin), 1.0 / self.unit / s.dt));
        let bodies = [0, 1].map(|which| self.placed(&states[which], &speeds[which], which, time));
        let errors = [0, 1].map(|which| {
            let found = Diagnostics::of(&bodies[which], s.g, s.softening);
            let start = self.energies[which].get_or_insert((&found).into());
            start.relative_error(found.internal)
        });
        let grid_body = self.order[0];
        let [p, q] = [0, 1].map(|which| bodies[which].position[grid_body]);
        let separation = p.distance(q);
        self.numbers
            .extend([time, separation, errors[0], errors[1]]);
        let positions = bodies.iter().flat_map(|b| numbers(&b.position));
        self.numbers.extend(positions);
    }

    /// The bodies in the specification's order and frame.
    fn placed(
        &self,
        state: &[[f64; 3]; 3],
        speed: &[[f64; 3]; 3],
        which: usize,
        time: f64,
    ) -> Bodies {
        let masses = self.order.map(|body| self.specification.masses[body]);
        let (centre, drift) = (weighted(masses, 0, state), weighted(masses, 0, speed));
        let frame = &self.centres[which];
        let mut bodies = Bodies {
            mass: self.specification.masses.into(),
            position: vec![DVec3::ZERO; 3],
            velocity: vec![DVec3::ZERO; 3],
        };
        for (number, body) in self.order.into_iter().enumerate() {
            for k in 0..3 {
                let moved = frame.position[k] + frame.velocity[k] * time;
                bodies.position[body][k] = moved + state[number][k] - centre[k];
                bodies.velocity[body][k] = frame.velocity[k] + speed[number][k] - drift[k];
            }
        }
        bodies
    }

    fn finish(self, together: u64, parted: bool) -> Orbit {
        let (distance2, step, pair) = self.closest;
        let columns =
            ["time", "separation", "energy_error", "energy_error_twin"].map(str::to_owned);
        let positions = ["", "_twin"].into_iter().flat_map(|which| {
            (1..=3).flat_map(move |body| ["x", "y", "z"].map(|axis| format!("{axis}{body}{which}")))
        });
        let names = PAIRS[pair].map(|body| self.order[body] + 1);
        let dt = self.specification.dt;
        Orbit {
            summary: json!({
                "steps": self.specification.steps,
                "together": together,
                "parted": parted.then_some(together as f64 * dt),
                "closest": {
                    "distance": distance2.sqrt() / self.unit,
                    "time": step as f64 * dt,
                    "bodies": [names[0].min(names[1]), names[0].max(names[1])],
                },
                "masses": self.specification.masses,
                "body": self.specification.body,
            }),
            columns: columns.into_iter().chain(positions).collect(),
            samples: self.numbers,
        }
    }
}

/// The mean of vectors by mass; that of the grid body if nothing has mass.
fn weighted(masses: [f64; 3], grid_body: usize, of: &[[f64; 3]; 3]) -> [f64; 3] {
    let total: f64 = masses.iter().sum();
    if total <= 0.0 {
        return of[grid_body];
    }
    [0, 1, 2].map(|k| (0..3).map(|body| masses[body] * of[body][k]).sum::<f64>() / total)
}
