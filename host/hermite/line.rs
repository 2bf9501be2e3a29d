//! Lines of diagnostics: what a run of a cluster records of its particles at equal intervals of time.

use super::{Binaries, Cluster, Energies, HermiteError, SHAPE_FRACTIONS, Star};
use trisolar_bodies::{DVec3, EnergyError};
use trisolar_time_run::Row;
use trisolar_time_run::series::{COUNT, ENERGY};

/// The diagnostics of a cluster at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The time on the clock of the file, which shows [`start_time`](super::Specification::start_time) at the run's time 0.
    pub time: f64,
    /// Kinetic energy.
    pub kinetic: f64,
    /// Potential energy.
    pub potential: f64,
    /// The relative change of the internal energy since the previous line.
    pub error_local: f64,
    /// The relative change of the internal energy since the start.
    pub error: f64,
    /// Block steps so far.
    pub blocks: u64,
    /// Steps of particles so far.
    pub steps: u64,
    /// The density centre.
    pub centre: DVec3,
    /// The core radius.
    pub core_radius: f64,
    /// The energy without the motion of the centre of mass.
    pub internal: f64,
    /// Radii about the centre that hold [`SHAPE_FRACTIONS`] of the mass.
    pub lagrange: [f64; SHAPE_FRACTIONS.len()],
    /// The binaries, if close pairs are regularised.
    pub binaries: Option<Binaries>,
}

impl Line {
    /// The radius that holds half of the mass.
    pub fn half_mass_radius(&self) -> f64 {
        self.lagrange[5]
    }
}

impl Row for Line {
    fn columns(&mut self, see: &mut dyn FnMut(&'static str, &'static str, &mut [f64])) {
        // Exact, because there are fewer than 2⁵³ steps.
        let [mut blocks, mut steps] = [self.blocks, self.steps].map(|n| n as f64);
        let centre = &mut self.centre;
        for (name, unit, x) in [
            ("time", "time", &mut self.time),
            ("kinetic", ENERGY, &mut self.kinetic),
            ("potential", ENERGY, &mut self.potential),
            ("error_local", "", &mut self.error_local),
            ("error", "", &mut self.error),
            ("blocks", COUNT, &mut blocks),
            ("steps", COUNT, &mut steps),
            ("centre_x", "length", &mut centre.x),
            ("centre_y", "length", &mut centre.y),
            ("centre_z", "length", &mut centre.z),
            ("core_radius", "length", &mut self.core_radius),
            ("internal", ENERGY, &mut self.internal),
        ] {
            see(name, unit, std::slice::from_mut(x));
        }
        see("lagrange_radii", "length", &mut self.lagrange);
        [self.blocks, self.steps] = [blocks, steps].map(|n| n as u64);
        if let Some(Binaries { number, hardest }) = &mut self.binaries {
            let (a, e) = hardest.unwrap_or((f64::NAN, f64::NAN));
            let mut numbers = [*number as f64, a, e];
            let columns = [
                ("binaries", COUNT),
                ("hardest_a", "length"),
                ("hardest_e", ""),
            ];
            for ((name, unit), x) in columns.into_iter().zip(&mut numbers) {
                see(name, unit, std::slice::from_mut(x));
            }
            *number = numbers[0] as usize;
            *hardest = (!numbers[1].is_nan()).then_some((numbers[1], numbers[2]));
        }
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn energies(&self) -> Energies {
        Energies {
            kinetic: self.kinetic,
            potential: self.potential,
            internal: self.internal,
        }
    }
}

impl Cluster<'_> {
    /// The diagnostics of the particles `stars` at a time of the run's own clock, after those of the line `before`. `error` is the energy
    /// error of the run, unless these are its first.
    ///
    /// # Errors
    /// The engine's.
    pub fn line(
        &mut self,
        time: f64,
        stars: &[Star],
        before: Option<&Line>,
        error: &mut Option<EnergyError>,
    ) -> Result<Line, HermiteError> {
        let potentials = self.potentials(stars)?;
        let energy = Self::energy_of(stars, &potentials);
        let shape = self.shape(stars);
        let error = error.get_or_insert(EnergyError::new(energy));
        let now = energy.internal;
        let before = before.map_or(now, |line| line.internal);
        Ok(Line {
            time: self.specification().on_the_clock(time),
            kinetic: energy.kinetic,
            potential: energy.potential,
            error_local: error.change(before, now),
            error: error.look(now),
            blocks: self.counters().blocks,
            steps: self.counters().steps,
            centre: shape.centre,
            core_radius: shape.core_radius,
            internal: now,
            lagrange: shape.lagrange,
            binaries: self.binaries(stars),
        })
    }
}
