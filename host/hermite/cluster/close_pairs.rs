//! Close pairs as single particles: when they form and dissolve, and what the other particles feel of them.
//!
//! A pair is one particle of the Hermite scheme. Between particles that the pair's tide matters for and the pair, the forces are those
//! of both bodies, in both directions, so that momentum and energy are conserved. All other particles feel the centre of mass.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::ahmad_cohen::{APPROACHING_RADIUS2_FACTOR, is_neighbour};
use kernels_gpu::hermite::predict::predict;
use kernels_gpu::hermite::step::{first_criterion, lowest_step, quantised};

use super::{Cluster, Schedule, ZERO};
use crate::pair::{Pair, apocentre, orbit, pull};
use crate::{Binaries, Forces, HermiteError, Motion, Order, Star};

/// Relative tide at the apocentre from which on the bodies of a pair are resolved.
const LEAST_TIDE: f64 = 1e-6;
/// Relative tide at the apocentre below which a pair forms.
const LARGEST_TIDE_TO_FORM: f64 = 0.01;
/// Relative tide at the apocentre above which a pair dissolves.
const LARGEST_TIDE: f64 = 0.04;
/// A pair dissolves if its apocentre is beyond this multiple of the radius within which pairs form.
const LARGEST_APOCENTRE: f64 = 2.0;

/// A particle at a later time.
fn motion_at(order: Order, star: &Star, time: f64) -> Motion {
    fn of<const P: usize, const D: usize>(star: &Star, time: f64) -> Motion {
        let terms: [Vec3<f64>; P] = std::array::from_fn(|k| star.taylor[k]);
        let predicted = predict::<f64, P, D>(&terms, time - star.time);
        std::array::from_fn(|k| predicted.get(k).copied().unwrap_or(ZERO))
    }
    match order {
        Order::Four => of::<4, 2>(star, time),
        Order::Six => of::<6, 3>(star, time),
        Order::Eight => of::<8, 4>(star, time),
    }
}

/// The pull of a body on another one in the derivatives of the order.
fn pull_on(order: Order, i: &Motion, j: &Motion, mass: f64) -> Forces {
    fn of<const D: usize>(i: &Motion, j: &Motion, mass: f64) -> Forces {
        let mut sum = [ZERO; D];
        let first = |m: &Motion| std::array::from_fn(|k| m[k]);
        pull::<D>(&first(i), &first(j), mass, &mut sum);
        std::array::from_fn(|k| sum.get(k).copied().unwrap_or(ZERO))
    }
    match order {
        Order::Four => of::<2>(i, j, mass),
        Order::Six => of::<3>(i, j, mass),
        Order::Eight => of::<4>(i, j, mass),
    }
}

fn add(sum: &mut Forces, factor: f64, force: &Forces) {
    for (sum, force) in sum.iter_mut().zip(force) {
        *sum = sum.add_scaled(factor, *force);
    }
}

/// Advances a pair to a time at which no star is ahead.
fn advance_pair(order: Order, stars: &[Star], pair: &mut Pair, time: f64) {
    if pair.time >= time {
        return;
    }
    let place = pair.places[0] as usize;
    let perturbers = pair.perturbers.clone();
    let centre = |time| motion_at(order, &stars[place], time)[0];
    pair.advance(time, &centre, &|time, with| {
        for p in &perturbers {
            let star = &stars[*p as usize];
            with(star.mass, motion_at(order, star, time)[0]);
        }
    });
}

/// Both bodies of a pair that is at `time`.
fn members_at(order: Order, stars: &[Star], pair: &Pair, time: f64) -> (Motion, [Motion; 2]) {
    let centre = motion_at(order, &stars[pair.places[0] as usize], time);
    (centre, members(order, stars, pair, &centre, time))
}

fn members(order: Order, stars: &[Star], pair: &Pair, centre: &Motion, time: f64) -> [Motion; 2] {
    let tide = pair.tide(centre[0], &|with| {
        for p in &pair.perturbers {
            let star = &stars[*p as usize];
            with(star.mass, motion_at(order, star, time)[0]);
        }
    });
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

/// The sixth power of the distance within which a particle of this mass exerts a relative tide of at least [`LEAST_TIDE`].
fn reach6(apocentre: f64, mass: f64, pair_mass: f64) -> f64 {
    let reach3 = cubed(apocentre) * (2.0 * mass / (pair_mass * LEAST_TIDE));
    reach3 * reach3
}

fn cubed(x: f64) -> f64 {
    x * x * x
}

/// Whether a particle at this relative position and velocity is a perturber of a pair. A light one is if one with the mean mass of the
/// pair's bodies would be, because it feels the bodies whatever its mass is.
fn is_perturber([x, v]: [Vec3<f64>; 2], apocentre: f64, mass: f64, pair_mass: f64) -> bool {
    let reach6 = reach6(apocentre, mass.max(0.5 * pair_mass), pair_mass);
    let beyond = cubed(APPROACHING_RADIUS2_FACTOR) * reach6;
    cubed(x.norm2_plus(0.0)) <= beyond && is_neighbour(x, v, libm::cbrt(reach6))
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

    /// Advances the pairs that are due, or one of whose perturbers is due, to `time`.
    pub(super) fn advance_pairs(&mut self, active: &[u32], time: f64) {
        let (order, stars) = (self.specification.order, &self.stars);
        let is_due = |place: &u32| active.binary_search(place).is_ok();
        for pair in &mut self.pairs {
            if is_due(&pair.places[0]) || pair.perturbers.iter().any(is_due) {
                advance_pair(order, stars, pair, time);
            }
        }
    }

    /// Advances all pairs to `time`.
    fn advance_all_pairs(&mut self, time: f64) {
        let (order, stars) = (self.specification.order, &self.stars);
        for pair in &mut self.pairs {
            advance_pair(order, stars, pair, time);
        }
    }

    /// Replaces the forces between the centres of mass of pairs and their perturbers by those of the bodies.
    pub(super) fn resolve_forces(&self, active: &[u32], time: f64, forces: &mut [Forces]) {
        let (order, stars) = (self.specification.order, &self.stars);
        for pair in &self.pairs {
            let own = active.binary_search(&pair.places[0]).ok();
            let due = |p: &u32| active.binary_search(p).ok();
            if own.is_none() && !pair.perturbers.iter().any(|p| due(p).is_some()) {
                continue;
            }
            let (centre, bodies) = members_at(order, stars, pair, time);
            let mass = pair.mass();
            for p in &pair.perturbers {
                let at = due(p);
                if own.is_none() && at.is_none() {
                    continue;
                }
                let star = &stars[*p as usize];
                let other = motion_at(order, star, time);
                if let Some(at) = at {
                    let sum = &mut forces[at];
                    add(sum, -1.0, &pull_on(order, &other, &centre, mass));
                    for (body, mass) in bodies.iter().zip(pair.masses) {
                        add(sum, 1.0, &pull_on(order, &other, body, mass));
                    }
                }
                if let Some(own) = own {
                    let sum = &mut forces[own];
                    add(sum, -1.0, &pull_on(order, &centre, &other, star.mass));
                    for (body, part) in bodies.iter().zip(pair.masses) {
                        add(sum, part / mass, &pull_on(order, body, &other, star.mass));
                    }
                }
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
        for pair in &self.pairs {
            let centre = stars[pair.places[0] as usize];
            let motion: Motion = std::array::from_fn(|k| centre.taylor[k]);
            let bodies = members(self.specification.order, &self.stars, pair, &motion, time);
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
            let mut stars = std::mem::take(&mut self.stars);
            let pair = self.pairs[at].clone();
            let (_, bodies) = members_at(self.specification.order, &stars, &pair, time);
            for ((place, body), mass) in pair.places.iter().zip(bodies).zip(pair.masses) {
                stars[*place as usize] = started(mass, time, [body[0], body[1]]);
                fresh.push(*place);
            }
            self.stars = stars;
            self.pairs.remove(at);
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
        let order = self.specification.order;
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
            let centre = motion_at(order, &self.stars[place as usize], time);
            let (mass, apocentre) = (pair.mass(), apocentre(&pair.orbit()));
            let comes = |p: &&u32| {
                let star = &self.stars[**p as usize];
                let relative = [star.taylor[0] - centre[0], star.taylor[1] - centre[1]];
                pair.perturbers.binary_search(p).is_err()
                    && is_perturber(relative, apocentre, star.mass, mass)
            };
            let come: Vec<u32> = active.iter().filter(comes).copied().collect();
            if !come.is_empty() {
                advance_pair(order, &self.stars, &mut self.pairs[at], time);
                let perturbers = &mut self.pairs[at].perturbers;
                perturbers.extend(come);
                perturbers.sort_unstable();
            }
        }
        dissolved
    }

    /// The perturbers of a pair, and the largest relative tide of one at the apocentre.
    fn perturbers(&self, pair: &Pair, time: f64) -> (Vec<u32>, f64) {
        let order = self.specification.order;
        let centre = motion_at(order, &self.stars[pair.places[0] as usize], time);
        let apocentre = apocentre(&pair.orbit());
        let near = self.perturbers_of([centre[0], centre[1]], apocentre, pair.mass(), time);
        let found = near.filter(|(place, _)| *place != pair.places[0]);
        let (mut places, mut largest) = (Vec::new(), 0.0_f64);
        for (place, tide) in found {
            places.push(place);
            largest = largest.max(tide);
        }
        (places, largest)
    }

    /// The particles that exert a tide on a pair with this centre of mass, with the relative tides at the apocentre.
    fn perturbers_of(
        &self,
        centre: [Vec3<f64>; 2],
        apocentre: f64,
        mass: f64,
        time: f64,
    ) -> impl Iterator<Item = (u32, f64)> {
        let order = self.specification.order;
        let of = move |(place, star): (usize, &Star)| {
            if star.step == 0.0 {
                return None;
            }
            let motion = motion_at(order, star, time);
            let relative = [motion[0] - centre[0], motion[1] - centre[1]];
            let r2 = relative[0].norm2_plus(0.0);
            let tide = 2.0 * star.mass / mass * cubed(apocentre / r2.sqrt());
            is_perturber(relative, apocentre, star.mass, mass).then_some((place as u32, tide))
        };
        self.stars.iter().enumerate().filter_map(of)
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
            let apocentre = apocentre(&orbit(&close.relative, close.mass));
            let mut others = self.perturbers_of(centre, apocentre, close.mass, time);
            let quiet =
                others.all(|(place, tide)| place == i || place == j || tide < LARGEST_TIDE_TO_FORM);
            if quiet {
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
