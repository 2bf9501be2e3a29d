//! Close pairs as single particles: when they form and dissolve, and what the other particles feel of them.
//!
//! A pair is one particle of the Hermite scheme. Between particles that the pair's tide matters for and the pair, the forces are those
//! of both bodies, in both directions, so that momentum and energy are conserved. All other particles feel the centre of mass. If two
//! pairs matter for each other, the forces between them are those between their four bodies.
//!
//! Functions whose names end in `_lanes` run inside one that has the instruction for fused products.

// Loops over indices are inlined into functions with an instruction set; closures of iterators may not be.
#![allow(clippy::needless_range_loop)]
#![expect(
    clippy::extra_unused_type_parameters,
    reason = "the macro names lanes; only their instruction set is wanted"
)]

use kernels_gpu::Vec3;
use kernels_gpu::hermite::ahmad_cohen::{APPROACHING_RADIUS2_FACTOR, is_neighbour};
use kernels_gpu::hermite::predict::predict;
use kernels_gpu::hermite::step::{Power, first_criterion, quantised};

use super::{Cluster, Schedule, ZERO};
use crate::pair::{Pair, TidalField, apocentre, attraction, orbit, pull, tide_of};
use crate::{Binaries, Forces, HermiteError, Motion, Order, Star};
use trisolar_simd::{Simd, with_lanes};

/// The factor of `eta_start` for the first steps of a pair that has just formed and of bodies whose pair has dissolved. The higher
/// derivatives of their forces, which the first criterion does not know, are large in an encounter.
const RESTART: f64 = 0.1;
/// Relative tide at the extent of a pair from which on the bodies of a pair are resolved.
const LEAST_TIDE: f64 = 1e-6;
/// Relative tide at the apocentre below which a pair forms.
const LARGEST_TIDE_TO_FORM: f64 = 0.01;
/// Relative tide at the greatest distance of the bodies of a pair above which the pair dissolves.
const LARGEST_TIDE: f64 = 0.04;
/// A pair becomes an open one if its apocentre is beyond this multiple of the radius within which pairs form.
const LARGEST_APOCENTRE: f64 = 2.0;
/// The largest reach of an open pair, as a multiple of that radius.
const OPEN_REACH: f64 = 0.5;
/// The fraction of the reach within which two bodies form an open pair.
const PART_TO_OPEN: f64 = 0.125;

/// A particle at a later time.
#[inline(always)]
fn motion_at(order: Order, star: &Star, time: f64) -> Motion {
    #[inline(always)]
    fn of<const P: usize, const D: usize>(star: &Star, time: f64) -> Motion {
        let mut terms = [ZERO; P];
        terms.copy_from_slice(&star.taylor[..P]);
        let mut motion = [ZERO; 4];
        motion[..D].copy_from_slice(&predict::<f64, P, D>(&terms, time - star.time));
        motion
    }
    match order {
        Order::Four => of::<4, 2>(star, time),
        Order::Six => of::<6, 3>(star, time),
        Order::Eight => of::<8, 4>(star, time),
    }
}

/// The pull of a body on another one in the derivatives of the order.
#[inline(always)]
fn pull_on(order: Order, i: &Motion, j: &Motion, mass: f64) -> Forces {
    #[inline(always)]
    fn of<const D: usize>(i: &Motion, j: &Motion, mass: f64) -> Forces {
        let (mut a, mut b, mut sum) = ([ZERO; D], [ZERO; D], [ZERO; D]);
        a.copy_from_slice(&i[..D]);
        b.copy_from_slice(&j[..D]);
        pull::<D>(&a, &b, mass, &mut sum);
        let mut forces = [ZERO; 4];
        forces[..D].copy_from_slice(&sum);
        forces
    }
    match order {
        Order::Four => of::<2>(i, j, mass),
        Order::Six => of::<3>(i, j, mass),
        Order::Eight => of::<4>(i, j, mass),
    }
}

#[inline(always)]
fn add(sum: &mut Forces, factor: f64, force: &Forces) {
    for k in 0..4 {
        sum[k] = sum[k].add_scaled(factor, force[k]);
    }
}

/// The particles of a cluster, and the instruction set for work on them.
struct Particles<'a> {
    simd: Simd,
    order: Order,
    stars: &'a [Star],
    pairs: &'a [Pair],
}

impl Particles<'_> {
    #[inline(always)]
    fn motion_at(&self, place: u32, time: f64) -> Motion {
        motion_at(self.order, &self.stars[place as usize], time)
    }

    /// The pair that a particle is.
    #[inline(always)]
    fn pair_at(&self, place: u32) -> Option<&Pair> {
        let at = self.pairs.binary_search_by_key(&place, |p| p.places[0]);
        at.ok().map(|at| &self.pairs[at])
    }

    /// The tide on a pair whose bodies are here.
    #[inline(always)]
    fn tide_at(&self, pair: &Pair, members: &[Vec3<f64>; 2], time: f64) -> Vec3<f64> {
        let mut tide = ZERO;
        for k in 0..pair.perturbers.len() {
            let place = pair.perturbers[k];
            let position = self.motion_at(place, time)[0];
            if let Some(other) = self.pair_at(place) {
                let positions = other.members(position, other.relative_at(time)[0]);
                for b in 0..2 {
                    tide = tide + tide_of(members, other.masses[b], positions[b]);
                }
            } else {
                tide = tide + tide_of(members, self.stars[place as usize].mass, position);
            }
        }
        tide
    }

    /// Both bodies of a pair at `time` whose centre of mass moves like this.
    #[inline(always)]
    fn members(&self, pair: &Pair, centre: &Motion, time: f64) -> [Motion; 2] {
        let [x, v] = pair.relative_at(time);
        let tide = self.tide_at(pair, &pair.members(centre[0], x), time);
        let [acceleration, jerk] = attraction(&[x, v], pair.mass());
        let relative = [x, v, acceleration + tide, jerk];
        let mut both = [[ZERO; 4]; 2];
        for k in 0..4 {
            let [first, second] = pair.members(centre[k], relative[k]);
            both[0][k] = first;
            both[1][k] = second;
        }
        both
    }
}

impl TidalField for Particles<'_> {
    #[inline(always)]
    fn tide(&self, pair: &Pair, time: f64) -> Vec3<f64> {
        let centre = self.motion_at(pair.places[0], time)[0];
        self.tide_at(pair, &pair.members(centre, pair.relative[0]), time)
    }
}

/// Advances a pair to a time at which no star is ahead.
fn advance_pair(particles: &Particles<'_>, pair: &mut Pair, time: f64) {
    if pair.time < time {
        with_lanes!(particles.simd, advance_lanes[](particles: &Particles<'_>, pair: &mut Pair, time: f64));
    }
}

#[inline(always)]
fn advance_lanes<R>(particles: &Particles<'_>, pair: &mut Pair, time: f64) {
    pair.advance(time, particles);
}

/// Replaces the forces at `time` between the centre of mass of a pair and its perturbers by those of its bodies. `forces` are those on the
/// `active` places.
fn resolve(
    particles: &Particles<'_>,
    pair: &Pair,
    active: &[u32],
    time: f64,
    forces: &mut [Forces],
) {
    with_lanes!(particles.simd, resolve_lanes[](particles: &Particles<'_>, pair: &Pair, active: &[u32], time: f64,
        forces: &mut [Forces]));
}

#[inline(always)]
fn resolve_lanes<R>(
    particles: &Particles<'_>,
    pair: &Pair,
    active: &[u32],
    time: f64,
    forces: &mut [Forces],
) {
    let order = particles.order;
    let own = active.binary_search(&pair.places[0]).ok();
    let centre = particles.motion_at(pair.places[0], time);
    let bodies = particles.members(pair, &centre, time);
    let mass = pair.mass();
    for k in 0..pair.perturbers.len() {
        let place = pair.perturbers[k];
        let at = active.binary_search(&place).ok();
        if own.is_none() && at.is_none() {
            continue;
        }
        let other = particles.motion_at(place, time);
        let others_mass = particles.stars[place as usize].mass;
        // The bodies of the other particle.
        let (others, masses, count) = match particles.pair_at(place) {
            None => ([other; 2], [others_mass, 0.0], 1),
            // The forces between two pairs that perturb each other are replaced once.
            Some(second)
                if second.places[0] < pair.places[0]
                    && second.perturbers.binary_search(&pair.places[0]).is_ok() =>
            {
                continue;
            }
            Some(second) => (particles.members(second, &other, time), second.masses, 2),
        };
        if let Some(at) = at {
            let sum = &mut forces[at];
            add(sum, -1.0, &pull_on(order, &other, &centre, mass));
            for c in 0..count {
                let share = if count == 1 {
                    1.0
                } else {
                    masses[c] / others_mass
                };
                for b in 0..2 {
                    let force = pull_on(order, &others[c], &bodies[b], pair.masses[b]);
                    add(sum, share, &force);
                }
            }
        }
        if let Some(own) = own {
            let sum = &mut forces[own];
            add(sum, -1.0, &pull_on(order, &centre, &other, others_mass));
            for c in 0..count {
                for b in 0..2 {
                    let force = pull_on(order, &bodies[b], &others[c], masses[c]);
                    add(sum, pair.masses[b] / mass, &force);
                }
            }
        }
    }
}

/// How far a pair reaches: one that exists, or one that two particles may form.
struct Extent {
    /// Position and velocity of the centre of mass.
    centre: [Vec3<f64>; 2],
    /// The largest distance of the bodies.
    distance: f64,
    mass: f64,
}

/// The particles that exert a tide on a pair at `time`, with their relative tides at its largest distance: of those at `places`, or of all.
fn perturbers_of(
    particles: &Particles<'_>,
    pair: &Extent,
    places: Option<&[u32]>,
    time: f64,
) -> Vec<(u32, f64)> {
    let mut found = Vec::new();
    let to = &mut found;
    with_lanes!(particles.simd, perturbers_lanes[](particles: &Particles<'_>, pair: &Extent, places: Option<&[u32]>, time: f64,
        to: &mut Vec<(u32, f64)>));
    found
}

#[inline(always)]
fn perturbers_lanes<R>(
    particles: &Particles<'_>,
    pair: &Extent,
    places: Option<&[u32]>,
    time: f64,
    to: &mut Vec<(u32, f64)>,
) {
    let count = places.map_or(particles.stars.len(), <[u32]>::len);
    for k in 0..count {
        let place = match places {
            Some(places) => places[k],
            None => k as u32,
        };
        let star = &particles.stars[place as usize];
        if star.step == 0.0 {
            continue;
        }
        let motion = particles.motion_at(place, time);
        let relative = [motion[0] - pair.centre[0], motion[1] - pair.centre[1]];
        if is_perturber(relative, pair.distance, star.mass, pair.mass) {
            let r2 = relative[0].norm2_plus(0.0);
            let tide = 2.0 * star.mass / pair.mass * cubed(pair.distance / r2.sqrt());
            to.push((place, tide));
        }
    }
}

/// The distance of the bodies of a pair at which the largest relative tide of another particle is [`LARGEST_TIDE`].
fn tidal_radius(
    particles: &Particles<'_>,
    places: [u32; 2],
    centre: Vec3<f64>,
    mass: f64,
    time: f64,
) -> f64 {
    // The least q³/m of a particle of the mass m at the distance q.
    let mut least = f64::INFINITY;
    let to = &mut least;
    with_lanes!(particles.simd, tidal_lanes[](particles: &Particles<'_>, places: [u32; 2], centre: Vec3<f64>, time: f64, to: &mut f64));
    libm::cbrt(0.5 * LARGEST_TIDE * mass * least)
}

#[inline(always)]
fn tidal_lanes<R>(
    particles: &Particles<'_>,
    places: [u32; 2],
    centre: Vec3<f64>,
    time: f64,
    to: &mut f64,
) {
    for place in 0..particles.stars.len() as u32 {
        let star = &particles.stars[place as usize];
        if star.step == 0.0 || place == places[0] || place == places[1] {
            continue;
        }
        let q = (particles.motion_at(place, time)[0] - centre)
            .norm2_plus(0.0)
            .sqrt();
        let volume = cubed(q) / star.mass;
        if volume < *to {
            *to = volume;
        }
    }
}

/// The sixth power of the distance within which a particle of this mass exerts a relative tide of at least [`LEAST_TIDE`].
#[inline(always)]
fn range6(distance: f64, mass: f64, pair_mass: f64) -> f64 {
    let range3 = cubed(distance) * (2.0 * mass / (pair_mass * LEAST_TIDE));
    range3 * range3
}

#[inline(always)]
fn cubed(x: f64) -> f64 {
    x * x * x
}

/// Whether a particle at this relative position and velocity is a perturber of a pair. A light one is if one with the mean mass of the
/// pair's bodies would be, because it feels the bodies whatever its mass is.
#[inline(always)]
fn is_perturber([x, v]: [Vec3<f64>; 2], distance: f64, mass: f64, pair_mass: f64) -> bool {
    let range6 = range6(distance, mass.max(0.5 * pair_mass), pair_mass);
    let beyond = cubed(APPROACHING_RADIUS2_FACTOR) * range6;
    cubed(x.norm2_plus(0.0)) <= beyond && is_neighbour(x, v, libm::cbrt(range6))
}

/// Whether a pair or one of its perturbers is due.
fn takes_part(pair: &Pair, active: &[u32]) -> bool {
    let is_due = |place: &u32| active.binary_search(place).is_ok();
    is_due(&pair.places[0]) || pair.perturbers.iter().any(is_due)
}

impl Cluster<'_> {
    /// The pairs that are integrated as single particles.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Restores the [`pairs`](Self::pairs) that a run had when it was interrupted.
    pub fn restore_pairs(&mut self, pairs: Vec<Pair>) {
        self.pairs = pairs;
    }

    fn particles(&self) -> Particles<'_> {
        Particles {
            simd: self.engine.workers().simd(),
            order: self.specification.order,
            stars: &self.stars,
            pairs: &self.pairs,
        }
    }

    /// Advances those pairs that are chosen to `time`.
    fn advance_chosen(&mut self, time: f64, chosen: impl Fn(&Pair) -> bool) {
        // All feel each other as they were before.
        let before = self.particles();
        let mut advanced = Vec::new();
        for (at, pair) in self.pairs.iter().enumerate() {
            if chosen(pair) {
                let mut pair = pair.clone();
                advance_pair(&before, &mut pair, time);
                advanced.push((at, pair));
            }
        }
        for (at, pair) in advanced {
            self.pairs[at] = pair;
        }
    }

    /// Advances the pairs that are due, or one of whose perturbers is due, to `time`.
    pub(super) fn advance_pairs(&mut self, active: &[u32], time: f64) {
        self.advance_chosen(time, |pair| takes_part(pair, active));
    }

    /// Advances all pairs to `time`.
    fn advance_all_pairs(&mut self, time: f64) {
        self.advance_chosen(time, |_| true);
    }

    /// Replaces the forces between the centres of mass of pairs and their perturbers by those of the bodies.
    pub(super) fn resolve_forces(&self, active: &[u32], time: f64, forces: &mut [Forces]) {
        let particles = self.particles();
        for pair in &self.pairs {
            if takes_part(pair, active) {
                resolve(&particles, pair, active, time, forces);
            }
        }
    }

    /// Advances all pairs to `time`, for an output; returns their state before.
    pub(super) fn pairs_for_output(&mut self, time: f64) -> Vec<Pair> {
        let before = self.pairs.clone();
        self.advance_all_pairs(time);
        before
    }

    /// Puts the bodies of pairs, which are at `time`, in their places, from the centres of mass at that time.
    pub(super) fn put_bodies(&self, stars: &mut [Star], time: f64) {
        let particles = self.particles();
        for pair in &self.pairs {
            let centre = stars[pair.places[0] as usize];
            let motion: Motion = std::array::from_fn(|k| centre.taylor[k]);
            let bodies = particles.members(pair, &motion, time);
            for ((place, body), mass) in pair.places.iter().zip(bodies).zip(pair.masses) {
                let mut star = Star { mass, ..centre };
                star.taylor = [ZERO; kernels_gpu::hermite::TERMS];
                star.taylor[..3].copy_from_slice(&body[..3]);
                stars[*place as usize] = star;
            }
        }
    }

    /// After a block step: dissolves the pairs with these first places, and forms new ones among the active particles.
    pub(super) fn regroup(
        &mut self,
        dissolved: &[u32],
        active: &[u32],
        time: f64,
    ) -> Result<(), HermiteError> {
        let Some(options) = self.specification.close_pairs else {
            return Ok(());
        };
        let formed = self.forming(active, time, options.radius);
        if dissolved.is_empty() && formed.is_empty() {
            return Ok(());
        }
        self.advance_all_pairs(time);
        let mut fresh = Vec::new();
        for place in dissolved {
            let found = self.pairs.iter().position(|p| p.places[0] == *place);
            let Some(at) = found else { continue };
            let pair = self.pairs.remove(at);
            let particles = self.particles();
            let centre = particles.motion_at(pair.places[0], time);
            let bodies = particles.members(&pair, &centre, time);
            for ((place, body), mass) in pair.places.iter().zip(bodies).zip(pair.masses) {
                self.stars[*place as usize] = started(mass, time, [body[0], body[1]]);
                fresh.push(*place);
            }
            self.counters.pairs_dissolved += 1;
        }
        for close in formed {
            let [i, j] = close.places;
            let masses = close.places.map(|place| self.stars[place as usize].mass);
            self.stars[i as usize] = started(close.mass, time, self.centre(&close));
            self.stars[j as usize] = vacant(time);
            self.pairs.push(Pair {
                places: close.places,
                masses,
                time,
                relative: close.relative,
                reach: LARGEST_APOCENTRE * options.radius,
                perturbers: Vec::new(),
            });
            fresh.push(i);
            self.counters.pairs_formed += 1;
        }
        self.pairs.sort_by_key(|pair| pair.places[0]);
        fresh.sort_unstable();
        self.engine.load(&self.specification, &self.stars)?;
        for at in 0..self.pairs.len() {
            self.look_around(at, time, options.radius);
        }
        self.start_particles(&fresh, time)?;
        self.limit_steps(&fresh, time);
        let lengths = self.stars.iter().map(|s| s.step);
        self.schedule = Schedule::new(self.specification.max_step, time, lengths);
        Ok(())
    }

    /// After a block step: renews reaches and lists of the pairs that are due, and limits their next steps; adds active particles to
    /// the lists of the others. Returns the first places of the pairs that have to dissolve.
    pub(super) fn look_at_pairs(&mut self, active: &[u32], time: f64) -> Vec<u32> {
        let Some(options) = self.specification.close_pairs else {
            return Vec::new();
        };
        let mut dissolved = Vec::new();
        for at in 0..self.pairs.len() {
            let place = self.pairs[at].places[0];
            if active.binary_search(&place).is_ok() {
                self.look_around(at, time, options.radius);
                let pair = &self.pairs[at];
                if pair.is_open() && pair.separates() {
                    dissolved.push(place);
                }
                continue;
            }
            let pair = &self.pairs[at];
            let extent = self.extent(pair, pair.extent(), time);
            let mut come = perturbers_of(&self.particles(), &extent, Some(active), time);
            come.retain(|(place, _)| pair.perturbers.binary_search(place).is_err());
            if !come.is_empty() {
                self.advance_chosen(time, |pair| pair.places[0] == place);
                let perturbers = &mut self.pairs[at].perturbers;
                perturbers.extend(come.iter().map(|(place, _)| place));
                perturbers.sort_unstable();
            }
        }
        self.limit_steps(active, time);
        dissolved
    }

    /// Shortens the next steps of the open pairs at these places, so that their bodies cannot leave the reach during that step.
    fn limit_steps(&mut self, places: &[u32], time: f64) {
        let shortest = self.specification.shortest_step(time);
        for pair in self.pairs.iter().filter(|pair| pair.is_open()) {
            if places.binary_search(&pair.places[0]).is_ok() {
                let step = &mut self.stars[pair.places[0] as usize].step;
                let allowed = Power {
                    value: pair.time_within_reach(),
                    exponent: 1,
                };
                *step = quantised(allowed, *step, shortest);
            }
        }
    }

    /// How far a pair reaches at `time`, if its bodies are at most at this distance.
    fn extent(&self, pair: &Pair, distance: f64, time: f64) -> Extent {
        let centre = self.particles().motion_at(pair.places[0], time);
        Extent {
            centre: [centre[0], centre[1]],
            distance,
            mass: pair.mass(),
        }
    }

    /// Determines the reach and the perturbers of a pair again.
    fn look_around(&mut self, at: usize, time: f64, radius: f64) {
        let pair = &self.pairs[at];
        let widest = LARGEST_APOCENTRE * radius;
        let apocentre = apocentre(&pair.orbit());
        let closed = (apocentre <= widest)
            .then(|| self.perturbers(pair, apocentre, time))
            .filter(|(_, tide)| *tide <= LARGEST_TIDE);
        let (reach, perturbers) = match closed {
            Some((perturbers, _)) => (widest, perturbers),
            None => {
                let centre = self.particles().motion_at(pair.places[0], time)[0];
                let reach = self.open_reach(pair.places, centre, pair.mass(), time, radius);
                let perturbers = self.perturbers(pair, apocentre.min(reach), time).0;
                (reach, perturbers)
            }
        };
        self.pairs[at].reach = reach;
        self.pairs[at].perturbers = perturbers;
    }

    /// The reach of an open pair.
    fn open_reach(
        &self,
        places: [u32; 2],
        centre: Vec3<f64>,
        mass: f64,
        time: f64,
        radius: f64,
    ) -> f64 {
        tidal_radius(&self.particles(), places, centre, mass, time).min(OPEN_REACH * radius)
    }

    /// The perturbers of a pair whose bodies are at most at this distance, and the largest relative tide of one there.
    fn perturbers(&self, pair: &Pair, distance: f64, time: f64) -> (Vec<u32>, f64) {
        let extent = self.extent(pair, distance, time);
        let mut found = perturbers_of(&self.particles(), &extent, None, time);
        found.retain(|(place, _)| *place != pair.places[0]);
        let largest = found
            .iter()
            .fold(0.0, |most: f64, (_, tide)| most.max(*tide));
        (found.iter().map(|(place, _)| *place).collect(), largest)
    }

    /// The pairs of active particles that will be integrated as single ones, closest pairs first.
    fn forming(&self, active: &[u32], time: f64, radius: f64) -> Vec<ClosePair> {
        let is_pair = |place: &u32| self.pairs.iter().any(|p| p.places[0] == *place);
        let single: Vec<u32> = active.iter().filter(|p| !is_pair(p)).copied().collect();
        let mut taken: Vec<u32> = Vec::new();
        let mut pairs = Vec::new();
        for close in close_pairs(&self.stars, single, radius) {
            let [i, j] = close.places;
            if taken.contains(&i) || taken.contains(&j) {
                continue;
            }
            if self.is_quiet(&close, time, radius) || self.is_passing(&close, time, radius) {
                taken.extend([i, j]);
                pairs.push(close);
            }
        }
        pairs
    }

    /// Whether two particles are a pair for their whole orbit.
    fn is_quiet(&self, close: &ClosePair, time: f64, radius: f64) -> bool {
        let apocentre = apocentre(&orbit(&close.relative, close.mass));
        if apocentre >= radius {
            return false;
        }
        let extent = Extent {
            centre: self.centre(close),
            distance: apocentre,
            mass: close.mass,
        };
        let others = perturbers_of(&self.particles(), &extent, None, time);
        (others.iter())
            .all(|(place, tide)| close.places.contains(place) || *tide < LARGEST_TIDE_TO_FORM)
    }

    /// Whether two particles are a pair for a pass of their pericentre: they approach each other well within the reach.
    fn is_passing(&self, close: &ClosePair, time: f64, radius: f64) -> bool {
        let [x, v] = close.relative;
        let r = x.norm2_plus(0.0).sqrt();
        if x.dot(v) >= 0.0 || r >= PART_TO_OPEN * OPEN_REACH * radius {
            return false;
        }
        let [centre, _] = self.centre(close);
        r < PART_TO_OPEN * self.open_reach(close.places, centre, close.mass, time, radius)
    }

    /// Position and velocity of the centre of mass.
    fn centre(&self, close: &ClosePair) -> [Vec3<f64>; 2] {
        let [a, b] = close.places.map(|place| &self.stars[place as usize]);
        let share = b.mass / close.mass;
        [0, 1].map(|k| a.taylor[k].add_scaled(share, close.relative[k]))
    }

    /// Finds forces and first steps of particles at `time`.
    fn start_particles(&mut self, fresh: &[u32], time: f64) -> Result<(), HermiteError> {
        let order = self.specification.order;
        let mut forces = vec![[ZERO; 4]; fresh.len()];
        for _ in 0..order.evaluations_to_start() {
            self.engine.predict(time)?;
            self.engine.forces(fresh, &mut forces)?;
            self.resolve_forces(fresh, time, &mut forces);
            let mut stars = Vec::with_capacity(fresh.len());
            for (place, force) in fresh.iter().zip(&forces) {
                let star = &mut self.stars[*place as usize];
                star.taylor[2..2 + order.derivatives()]
                    .copy_from_slice(&force[..order.derivatives()]);
                stars.push(*star);
            }
            self.engine.store(fresh, &stars)?;
        }
        let spec = &self.specification;
        let longest = self.schedule.longest_at(time);
        let shortest = spec.shortest_step(time);
        for place in fresh {
            let star = &mut self.stars[*place as usize];
            let allowed = first_criterion(order.number(), &star.taylor, RESTART * spec.eta_start);
            star.step = if allowed.value > 0.0 {
                quantised(allowed, longest, shortest)
            } else {
                longest
            };
        }
        Ok(())
    }

    /// The binaries among particles that [`at`](Self::at) put at one time: pairs with a semi-major axis within the radius of
    /// [`ClosePairs`](crate::ClosePairs), none without it. A particle belongs to its closest pair.
    pub fn binaries(&self, stars: &[Star]) -> Option<Binaries> {
        let radius = self.specification.close_pairs?.radius;
        let all = (0..stars.len() as u32).collect();
        let mut taken = Vec::new();
        let mut binaries = Binaries::default();
        let mut hardest = 0.0;
        // A bound body is at most two semi-major axes away.
        for close in close_pairs(stars, all, 2.0 * radius) {
            let orbit = orbit(&close.relative, close.mass);
            let [i, j] = close.places;
            if orbit.inverse_axis * radius < 1.0 || taken.contains(&i) || taken.contains(&j) {
                continue;
            }
            taken.extend([i, j]);
            binaries.number += 1;
            let binding = stars[i as usize].mass * stars[j as usize].mass * orbit.inverse_axis;
            if binding > hardest {
                hardest = binding;
                binaries.hardest = Some((1.0 / orbit.inverse_axis, orbit.e));
            }
        }
        Some(binaries)
    }
}

/// A particle whose forces and step are not known yet. Its step is not 0, so that it is there for others.
fn started(mass: f64, time: f64, state: [Vec3<f64>; 2]) -> Star {
    let mut taylor = [ZERO; kernels_gpu::hermite::TERMS];
    taylor[..2].copy_from_slice(&state);
    Star {
        mass,
        time,
        step: f64::NAN,
        taylor,
    }
}

/// The place of a body that is part of a pair: without mass, and without steps.
fn vacant(time: f64) -> Star {
    Star {
        step: 0.0,
        ..started(0.0, time, [ZERO; 2])
    }
}

/// Two particles that are close to each other.
struct ClosePair {
    places: [u32; 2],
    mass: f64,
    /// Position and velocity of the second relative to the first.
    relative: [Vec3<f64>; 2],
}

/// The pairs of particles at `places`, all at the same time, that are at most `radius` apart, closest first.
fn close_pairs(stars: &[Star], mut places: Vec<u32>, radius: f64) -> Vec<ClosePair> {
    let x = |place: u32| stars[place as usize].taylor[0].x;
    places.sort_by(|a, b| x(*a).total_cmp(&x(*b)).then(a.cmp(b)));
    let mut found = Vec::new();
    for (at, i) in places.iter().enumerate() {
        for j in &places[at + 1..] {
            if x(*j) - x(*i) > radius {
                break;
            }
            let [i, j] = [*i.min(j), *i.max(j)];
            let (a, b) = (&stars[i as usize], &stars[j as usize]);
            let relative = [b.taylor[0] - a.taylor[0], b.taylor[1] - a.taylor[1]];
            let r2 = relative[0].norm2_plus(0.0);
            if r2 <= radius * radius && a.mass + b.mass > 0.0 {
                let close = ClosePair {
                    places: [i, j],
                    mass: a.mass + b.mass,
                    relative,
                };
                found.push((r2, close));
            }
        }
    }
    found.sort_by(|(a, p), (b, q)| a.total_cmp(b).then(p.places.cmp(&q.places)));
    found.into_iter().map(|(_, close)| close).collect()
}
