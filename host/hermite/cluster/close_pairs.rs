//! Close pairs as single particles: when they form and dissolve, and what the other particles feel of them.
//!
//! A pair is one particle of the Hermite scheme. Between particles that the pair's tide matters for and the pair, the forces are those
//! of both bodies, in both directions, so that momentum and energy are conserved. All other particles feel the centre of mass.
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
use kernels_gpu::hermite::step::{first_criterion, lowest_step, quantised};

use super::{Cluster, Schedule, ZERO};
use crate::pair::{Pair, TidalField, apocentre, orbit, pull, tide_of};
use crate::{Binaries, Forces, HermiteError, Motion, Order, Star};
use trisolar_simd::{Simd, with_lanes};

/// Relative tide at the apocentre from which on the bodies of a pair are resolved.
const LEAST_TIDE: f64 = 1e-6;
/// Relative tide at the apocentre below which a pair forms.
const LARGEST_TIDE_TO_FORM: f64 = 0.01;
/// Relative tide at the apocentre above which a pair dissolves.
const LARGEST_TIDE: f64 = 0.04;
/// A pair dissolves if its apocentre is beyond this multiple of the radius within which pairs form.
const LARGEST_APOCENTRE: f64 = 2.0;

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
}

impl Particles<'_> {
    #[inline(always)]
    fn motion_at(&self, place: u32, time: f64) -> Motion {
        motion_at(self.order, &self.stars[place as usize], time)
    }

    /// The tide on a pair whose centre of mass is at `centre`.
    #[inline(always)]
    fn tide_at(&self, pair: &Pair, centre: Vec3<f64>, time: f64) -> Vec3<f64> {
        let members = pair.members(centre, pair.relative[0]);
        let mut tide = ZERO;
        for k in 0..pair.perturbers.len() {
            let place = pair.perturbers[k];
            let position = self.motion_at(place, time)[0];
            tide = tide + tide_of(&members, self.stars[place as usize].mass, position);
        }
        tide
    }

    /// Both bodies of a pair at `time` whose centre of mass moves like this.
    #[inline(always)]
    fn members(&self, pair: &Pair, centre: &Motion, time: f64) -> [Motion; 2] {
        let tide = self.tide_at(pair, centre[0], time);
        let [acceleration, jerk] = pair.attraction();
        let relative = [
            pair.relative[0],
            pair.relative[1],
            acceleration + tide,
            jerk,
        ];
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
        self.tide_at(pair, self.motion_at(pair.places[0], time)[0], time)
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
        if let Some(at) = at {
            let sum = &mut forces[at];
            add(sum, -1.0, &pull_on(order, &other, &centre, mass));
            for b in 0..2 {
                add(
                    sum,
                    1.0,
                    &pull_on(order, &other, &bodies[b], pair.masses[b]),
                );
            }
        }
        if let Some(own) = own {
            let (sum, others_mass) = (&mut forces[own], particles.stars[place as usize].mass);
            add(sum, -1.0, &pull_on(order, &centre, &other, others_mass));
            for b in 0..2 {
                let force = pull_on(order, &bodies[b], &other, others_mass);
                add(sum, pair.masses[b] / mass, &force);
            }
        }
    }
}

/// How far a pair reaches: one that exists, or one that two particles may form.
struct Extent {
    /// Position and velocity of the centre of mass.
    centre: [Vec3<f64>; 2],
    apocentre: f64,
    mass: f64,
}

/// The particles that exert a tide on a pair at `time`, with their relative tides at its apocentre: of those at `places`, or of all.
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
        if is_perturber(relative, pair.apocentre, star.mass, pair.mass) {
            let r2 = relative[0].norm2_plus(0.0);
            let tide = 2.0 * star.mass / pair.mass * cubed(pair.apocentre / r2.sqrt());
            to.push((place, tide));
        }
    }
}

/// The sixth power of the distance within which a particle of this mass exerts a relative tide of at least [`LEAST_TIDE`].
#[inline(always)]
fn reach6(apocentre: f64, mass: f64, pair_mass: f64) -> f64 {
    let reach3 = cubed(apocentre) * (2.0 * mass / (pair_mass * LEAST_TIDE));
    reach3 * reach3
}

#[inline(always)]
fn cubed(x: f64) -> f64 {
    x * x * x
}

/// Whether a particle at this relative position and velocity is a perturber of a pair. A light one is if one with the mean mass of the
/// pair's bodies would be, because it feels the bodies whatever its mass is.
#[inline(always)]
fn is_perturber([x, v]: [Vec3<f64>; 2], apocentre: f64, mass: f64, pair_mass: f64) -> bool {
    let reach6 = reach6(apocentre, mass.max(0.5 * pair_mass), pair_mass);
    let beyond = cubed(APPROACHING_RADIUS2_FACTOR) * reach6;
    cubed(x.norm2_plus(0.0)) <= beyond && is_neighbour(x, v, libm::cbrt(reach6))
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
        }
    }

    /// Advances those pairs that are chosen to `time`.
    fn advance_chosen(&mut self, time: f64, chosen: impl Fn(&Pair) -> bool) {
        let mut pairs = std::mem::take(&mut self.pairs);
        let particles = self.particles();
        for pair in pairs.iter_mut().filter(|pair| chosen(pair)) {
            advance_pair(&particles, pair, time);
        }
        self.pairs = pairs;
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

    /// After a block step: dissolves pairs and forms new ones among the active particles, and renews the lists of perturbers.
    pub(super) fn regroup(&mut self, active: &[u32], time: f64) -> Result<(), HermiteError> {
        let Some(options) = self.specification.close_pairs else {
            return Ok(());
        };
        let dissolved = self.look_at_pairs(active, time, options.radius);
        let formed = self.forming(active, time, options.radius);
        if dissolved.is_empty() && formed.is_empty() {
            return Ok(());
        }
        self.advance_all_pairs(time);
        let mut fresh = Vec::new();
        for place in &dissolved {
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
        for [i, j] in formed {
            let (a, b) = (self.stars[i as usize], self.stars[j as usize]);
            let mass = a.mass + b.mass;
            let relative = [b.taylor[0] - a.taylor[0], b.taylor[1] - a.taylor[1]];
            let centre = |k: usize| a.taylor[k].add_scaled(b.mass / mass, relative[k]);
            self.stars[i as usize] = started(mass, time, [centre(0), centre(1)]);
            self.stars[j as usize] = vacant(time);
            self.pairs.push(Pair {
                places: [i, j],
                masses: [a.mass, b.mass],
                time,
                relative,
                perturbers: Vec::new(),
            });
            fresh.push(i);
            self.counters.pairs_formed += 1;
        }
        self.pairs.sort_by_key(|pair| pair.places[0]);
        fresh.sort_unstable();
        self.engine.load(&self.specification, &self.stars)?;
        for at in 0..self.pairs.len() {
            self.pairs[at].perturbers = self.perturbers(&self.pairs[at], time).0;
        }
        self.start_particles(&fresh, time)?;
        let lengths = self.stars.iter().map(|s| s.step);
        self.schedule = Schedule::new(self.specification.max_step, time, lengths);
        Ok(())
    }

    /// Renews the lists of the pairs that are due, adds active particles to those of the others, and returns the first places of the
    /// pairs that have to dissolve.
    fn look_at_pairs(&mut self, active: &[u32], time: f64, radius: f64) -> Vec<u32> {
        let mut dissolved = Vec::new();
        for at in 0..self.pairs.len() {
            let place = self.pairs[at].places[0];
            if active.binary_search(&place).is_ok() {
                let (perturbers, tide) = self.perturbers(&self.pairs[at], time);
                let wide = apocentre(&self.pairs[at].orbit()) > LARGEST_APOCENTRE * radius;
                if wide || tide > LARGEST_TIDE {
                    dissolved.push(place);
                } else {
                    self.pairs[at].perturbers = perturbers;
                }
                continue;
            }
            let pair = &self.pairs[at];
            let extent = self.extent(pair, time);
            let mut come = perturbers_of(&self.particles(), &extent, Some(active), time);
            come.retain(|(place, _)| pair.perturbers.binary_search(place).is_err());
            if !come.is_empty() {
                self.advance_chosen(time, |pair| pair.places[0] == place);
                let perturbers = &mut self.pairs[at].perturbers;
                perturbers.extend(come.iter().map(|(place, _)| place));
                perturbers.sort_unstable();
            }
        }
        dissolved
    }

    /// How far a pair reaches at `time`.
    fn extent(&self, pair: &Pair, time: f64) -> Extent {
        let centre = self.particles().motion_at(pair.places[0], time);
        Extent {
            centre: [centre[0], centre[1]],
            apocentre: apocentre(&pair.orbit()),
            mass: pair.mass(),
        }
    }

    /// The perturbers of a pair, and the largest relative tide of one at the apocentre.
    fn perturbers(&self, pair: &Pair, time: f64) -> (Vec<u32>, f64) {
        let extent = self.extent(pair, time);
        let mut found = perturbers_of(&self.particles(), &extent, None, time);
        found.retain(|(place, _)| *place != pair.places[0]);
        let largest = found
            .iter()
            .fold(0.0, |most: f64, (_, tide)| most.max(*tide));
        (found.iter().map(|(place, _)| *place).collect(), largest)
    }

    /// The pairs of active particles that will be integrated as single ones, closest pairs first.
    fn forming(&self, active: &[u32], time: f64, radius: f64) -> Vec<[u32; 2]> {
        let is_pair = |place: &u32| self.pairs.iter().any(|p| p.places[0] == *place);
        let single: Vec<u32> = active.iter().filter(|p| !is_pair(p)).copied().collect();
        let mut found = close_pairs(&self.stars, single, radius);
        found.retain(|close| apocentre(&orbit(&close.relative, close.mass)) < radius);
        let mut taken: Vec<u32> = Vec::new();
        let mut pairs = Vec::new();
        for close in found {
            let [i, j] = close.places;
            if taken.contains(&i) || taken.contains(&j) {
                continue;
            }
            let (a, b) = (&self.stars[i as usize], &self.stars[j as usize]);
            let share = b.mass / close.mass;
            let centre = [0, 1].map(|k| a.taylor[k].add_scaled(share, close.relative[k]));
            let extent = Extent {
                centre,
                apocentre: apocentre(&orbit(&close.relative, close.mass)),
                mass: close.mass,
            };
            let others = perturbers_of(&self.particles(), &extent, None, time);
            let is_quiet = |(place, tide): &(u32, f64)| {
                *place == i || *place == j || *tide < LARGEST_TIDE_TO_FORM
            };
            if others.iter().all(is_quiet) {
                taken.extend([i, j]);
                pairs.push([i, j]);
            }
        }
        pairs
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
        let shortest = spec
            .min_step
            .unwrap_or_else(|| lowest_step(spec.max_step, time));
        for place in fresh {
            let star = &mut self.stars[*place as usize];
            let allowed = first_criterion(order.number(), &star.taylor, spec.eta_start);
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

/// A particle whose forces and step are not known yet.
fn started(mass: f64, time: f64, state: [Vec3<f64>; 2]) -> Star {
    let mut taylor = [ZERO; kernels_gpu::hermite::TERMS];
    taylor[..2].copy_from_slice(&state);
    Star {
        mass,
        time,
        step: 0.0,
        taylor,
    }
}

/// The place of a body that is part of a pair: without mass, and without steps.
fn vacant(time: f64) -> Star {
    started(0.0, time, [ZERO; 2])
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
