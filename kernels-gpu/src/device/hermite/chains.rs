//! Forces on active bodies, with the partial sums distributed over the blocks.
//!
//! A chain is a partial sum of the force on one active body. A block has the source bodies of a few partial sums in shared memory and
//! computes the chains of all its bodies with them, one set after another. A thread has a chain of each of two bodies, and computes their
//! terms for two source bodies at a time. If few bodies are left, a thread has a chain of one of them, and computes its terms for four source
//! bodies at a time. If they are so few that threads would have nothing to do, each chain gets a team of threads: its terms must be added one
//! after another, but can be computed at the same time. Then each thread of the team adds up some of the
//! components of all these terms.

mod tile;

use core::mem::size_of;

use cuda_std::shared::SharedSlice;
use cuda_std::thread;
use cuda_std::warp::warp_shuffle_xor;

use super::{Launch, Record, ratio, width};
use crate::number::{each, known_here};
use crate::{Real, Vec3};
use tile::Tile;

/// Largest number of partial sums of a block, whose chains of a body are in one warp.
pub const MOST_PARTS: u32 = 16;

/// Largest number of sums of each body that are left for [`fold`](mod@super::fold).
pub const MOST_REMAINING: u32 = 256;

/// Largest number of values that a thread has to fold: those of two bodies at order 8.
const MOST_VALUES: usize = 24;

/// `each!` for up to [`MOST_VALUES`] repetitions.
macro_rules! each_value {
    ($count:expr, |$k:ident| $what:expr) => {
        each_value!($count, u32::MAX, |$k| $what);
    };
    // At most `$most` repetitions, which is only known at run time.
    ($count:expr, $most:expr, |$k:ident| $what:expr) => {
        each!(
            6,
            |group| if 4 * group < $count && 4 * (group as u32) < $most {
                each!(4, |of_group| {
                    let $k = 4 * group + of_group;
                    if $k < $count {
                        $what;
                    }
                });
            }
        );
    };
}

/// Number of terms that a thread computes at a time.
const AT_ONCE: usize = 4;

/// Number of threads of the smallest team, so that each of them adds up few components.
const LEAST_TEAM: u32 = 4;

/// Number of terms of a team that a thread reads at a time.
const READ_AT_ONCE: usize = 4;

/// Largest number of components that a member of a team adds up, at order 8.
const MOST_OF_MEMBER: usize = MOST_VALUES / 2 / LEAST_TEAM as usize;

/// The bytes of dynamic shared memory: the source bodies, and two terms for each thread.
pub const fn shared_bytes<A: Record<D>, const D: usize>(threads: u32) -> u32 {
    let term = (1 + 3 * D) * size_of::<A::Number>();
    terms_offset::<A, D>(threads) + 2 * threads * term as u32
}

/// The number itself, as the result of a new computation. The compiler then also computes what follows from it anew, where that is needed. It
/// would otherwise do so once, before the loop over block steps, and keep the results in registers that the loop over pairs needs.
#[inline(always)]
pub(super) fn again(number: u32) -> u32 {
    known_here!(reg32, number)
}

/// Where the terms begin, of which there are two for each thread, in the memory of [`shared_bytes`]. Until [`pull_unit`] has located the last
/// active body, it leaves this part to [`Bodies::locate`].
pub(super) const fn terms_offset<A: Record<D>, const D: usize>(threads: u32) -> u32 {
    16 * tile::words::<A, D>(threads) as u32
}

/// How the work is divided among the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// Number of partial sums of a block, a power of two.
    pub parts: u32,
    /// Number of sums that remain for each body, a power of two: one for each class of partial sums.
    pub remaining: u32,
    /// Number of bodies of a block.
    pub bodies: u32,
}

impl Division {
    /// The division of the forces on `launch.count` bodies among `blocks` blocks of `threads` threads, such that each block has work, or as
    /// many as possible.
    #[inline(always)]
    pub fn among(launch: &Launch, threads: u32, blocks: u32) -> Self {
        let most = if blocks < MOST_REMAINING {
            blocks
        } else {
            MOST_REMAINING
        };
        let (mut parts, mut remaining) = (1, launch.parts());
        while remaining > most && parts < MOST_PARTS {
            parts *= 2;
            remaining /= 2;
        }
        // With so many bodies that each thread has two anyway, fewer classes leave fewer sums to write and to fold.
        let each_has_two =
            launch.count as u64 * launch.parts() as u64 >= 2 * threads as u64 * blocks as u64;
        while each_has_two
            && parts < MOST_PARTS
            && remaining > 1
            && 2 * parts * launch.terms <= tile::bodies(threads)
        {
            parts *= 2;
            remaining /= 2;
        }
        // Blocks that would be left share the bodies of a class.
        let (mut groups, mut needed) = (0, 0);
        while needed + remaining <= blocks || groups == 0 {
            groups += 1;
            needed += remaining;
        }
        Self {
            parts,
            remaining,
            bodies: launch.count.div_ceil(groups),
        }
    }

    /// The same division, by [`again`].
    #[inline(always)]
    fn again(&self) -> Self {
        Self {
            parts: again(self.parts),
            remaining: again(self.remaining),
            bodies: self.bodies,
        }
    }

    /// Number of units of work, each for a block.
    #[inline(always)]
    pub fn units(&self, count: u32) -> u32 {
        self.remaining * count.div_ceil(self.bodies)
    }
}

/// Where the bodies come from.
pub(super) trait Bodies<A: Record<D>, const D: usize> {
    /// Source body number `k` of a block, at `place`, and its mass.
    ///
    /// # Safety
    /// The place must be that of a source body of the block.
    unsafe fn source(&self, k: u32, place: u32) -> (A::Number, A::Body);

    /// Where active body number `k` is.
    ///
    /// # Safety
    /// `k` must be below the number of active bodies.
    unsafe fn locate(&self, k: u32) -> u32;

    /// The active body that [`locate`](Self::locate) has found.
    ///
    /// # Safety
    /// `at` must be from [`locate`](Self::locate).
    unsafe fn active(&self, at: u32) -> A::Body;
}

/// Predicted bodies in memory.
pub(super) struct Predicted {
    /// Records of [`width`] numbers.
    pub bodies: *const f64,
    /// The places of the active ones.
    pub places: *const u32,
}

impl<A: Record<D>, const D: usize> Bodies<A, D> for Predicted {
    #[inline(always)]
    unsafe fn source(&self, _k: u32, place: u32) -> (A::Number, A::Body) {
        // SAFETY: the place is that of a body.
        unsafe { A::read(self.bodies.add(place as usize * const { width(D) })) }
    }

    #[inline(always)]
    unsafe fn locate(&self, k: u32) -> u32 {
        // SAFETY: the caller guarantees that the place is listed.
        unsafe { *self.places.add(k as usize) }
    }

    #[inline(always)]
    unsafe fn active(&self, at: u32) -> A::Body {
        // SAFETY: the place is that of a body.
        unsafe { A::read(self.bodies.add(at as usize * const { width(D) })).1 }
    }
}

/// The sums that remain, in memory.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    at: *mut f64,
    /// Distances between the numbers of adjacent components, classes and bodies.
    component: u32,
    class: u32,
    body: u32,
}

impl Sums {
    /// `remaining` sums for each of `count` bodies, with `components` numbers each, from `at` on. Warps or threads fold them: the numbers that they
    /// read at the same time are side by side.
    #[inline(always)]
    pub fn new(at: *mut f64, components: u32, remaining: u32, count: u32, by_warps: bool) -> Self {
        if by_warps {
            Self {
                at,
                component: remaining,
                class: 1,
                body: components * remaining,
            }
        } else {
            Self {
                at,
                component: remaining * count,
                class: count,
                body: 1,
            }
        }
    }

    /// A function that reads a number of any class, from one address and its distance. A thread that reads all classes at once should call
    /// [`number`](Self::number) for each instead: from a common address, the compiler computes all addresses first, and spills them.
    ///
    /// # Safety
    /// The sums must have been written before a barrier, and the function must only be called with classes that there are.
    #[inline(always)]
    pub unsafe fn by_class(&self, component: u32, body: u32) -> impl Fn(u32) -> f64 + Copy + use<> {
        let (at, distance) = (self.number(component, 0, body), self.class);
        // SAFETY: the caller guarantees this.
        move |class| unsafe { *at.add((class * distance) as usize) }
    }

    /// The address of a number.
    #[inline(always)]
    pub fn number(&self, component: u32, class: u32, body: u32) -> *mut f64 {
        let at = component * self.component + class * self.class + body * self.body;
        self.at.wrapping_add(at as usize)
    }
}

/// A block's share of the work.
struct Share<'a, A: Record<D>, B: Bodies<A, D>, const D: usize> {
    tile: Tile<'a, A, B, D>,
    remaining: &'a Sums,
    /// Two terms for each thread.
    terms: SharedSlice<A::Number>,
}

/// Computes the sums of number `unit` of a [`Division`], and writes them to `remaining`.
///
/// # Safety
/// `bodies` must have sums · terms source bodies and `count` active ones, and `remaining` must be for this division and as many bodies, and
/// valid. The dynamic shared memory must have [`shared_bytes`]. All threads of the block must call this with the same unit, less
/// than [`Division::units`]. A barrier must follow before the shared memory is used again.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn pull_unit<A: Record<D>, B: Bodies<A, D>, const D: usize>(
    launch: &Launch,
    division: &Division,
    bodies: &B,
    remaining: &Sums,
    unit: u32,
) {
    let threads = thread::block_dim_x();
    // SAFETY: the caller provides this much shared memory.
    let share = unsafe {
        Share::<A, B, D> {
            tile: Tile::of(launch, division, bodies, unit),
            remaining,
            terms: SharedSlice::dynamic(
                terms_offset::<A, D>(threads) as usize,
                const { 1 + 3 * D } * 2 * threads as usize,
            ),
        }
    };
    let mut first = ratio(unit, division.remaining) * division.bodies;
    let end = (first + division.bodies).min(launch.count);
    // SAFETY: the bodies are below `count`; all threads of the block call it.
    unsafe {
        let mut set = Set::of(launch, division, first, end);
        let mut motions = share.motions(&set);
        if share.tile.is_whole() {
            share.tile.stage(0, launch.terms);
            // All threads have also located the bodies of the first set.
            thread::sync_threads();
        }
        let is_first = !set.is_wide;
        // The bodies of the next set are read while the last sums of this one are folded. A set that is not wide is the last one.
        while set.is_wide {
            first += set.bodies;
            let sums = share.pull_set::<2>(&set, &motions);
            let next = Set::of(launch, division, first, end);
            if first < end {
                motions = share.motions(&next);
            }
            share.fold(&set, &sums);
            set = next;
        }
        if first < end {
            if set.team == 1 {
                let sums = share.pull_set::<1>(&set, &motions);
                share.fold(&set, &sums);
            } else {
                if !is_first {
                    // All threads have located their bodies. A barrier has followed that of the first set.
                    thread::sync_threads();
                }
                share.pull_by_teams(&set, &motions[0]);
            }
        }
    }
}

/// The bodies whose chains a block computes at a time, and the part of a thread in them.
#[derive(Clone, Copy)]
struct Set {
    /// The first body.
    first: u32,
    /// Number of bodies.
    bodies: u32,
    /// Whether each thread has chains of two bodies.
    is_wide: bool,
    /// Number of chains, or of pairs of chains.
    chains: u32,
    /// Number of bodies for each partial sum that threads have as their first one.
    of_thread: u32,
    /// Number of threads of a chain, a power of two: 1 for pairs.
    team: u32,
    /// The number of this thread in its team.
    member: u32,
    /// The team of this thread. There may be more teams than chains.
    own: u32,
    /// The partial sum of the chain, and its first body. The chains of a body belong to adjacent threads.
    part: u32,
    body: u32,
}

/// Number of threads of a team: the largest power of two such that the teams of all chains fit into `threads` threads (a power of two, and at
/// least the number of chains) and that is less than the number of terms. If this is less than [`LEAST_TEAM`], it is 1.
#[inline(always)]
fn team_of(threads: u32, chains: u32, terms: u32) -> u32 {
    let by_threads = threads.ilog2() - ceil_log2(chains).min(threads.ilog2());
    let by_terms = ceil_log2(terms).max(1) - 1;
    let team = 1 << by_threads.min(by_terms);
    if team < LEAST_TEAM { 1 } else { team }
}

/// The logarithm of the least power of two that is not below `x`, which is at least 1. (`next_power_of_two` has a branch.)
#[inline(always)]
fn ceil_log2(x: u32) -> u32 {
    32 - (x - 1).leading_zeros()
}

impl Set {
    /// The set from body `first` on, which ends before body `end`. If `first` is not below `end`, no body is left; the set then has the last
    /// one and is not used.
    #[inline(always)]
    fn of(launch: &Launch, division: &Division, first: u32, end: u32) -> Self {
        let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
        let first = first.min(end - 1);
        let most = ratio(threads, division.parts);
        let left = end - first;
        let is_wide = left > most;
        let bodies = left.min(2 * most);
        let of_thread = if is_wide { (bodies + 1) >> 1 } else { bodies };
        let chains = division.parts * of_thread;
        let team = if is_wide {
            1
        } else {
            team_of(threads, chains, launch.terms)
        };
        let teams = ratio(threads, team);
        let own = t & (teams - 1);
        let chain = own.min(chains - 1);
        Self {
            first,
            bodies,
            is_wide,
            chains,
            of_thread,
            team,
            member: ratio(t, teams),
            own,
            part: chain & (division.parts - 1),
            body: ratio(chain, division.parts),
        }
    }

    /// Whether any member of a team has a component number `k` to add up, if a term has so many `components`.
    #[inline(always)]
    fn any_has(&self, k: usize, components: u32) -> bool {
        (k as u32) * self.team < components
    }

    /// Whether this thread has a component number `k` to add up.
    #[inline(always)]
    fn has(&self, k: usize, components: u32) -> bool {
        self.own < self.chains && self.component(k) < components
    }

    /// Component `k` of those that this thread of a team adds up. The last one may be beyond those that there are.
    #[inline(always)]
    fn component(&self, k: usize) -> u32 {
        self.member + k as u32 * self.team
    }

    /// The number of body `k` of this thread in the set. With an odd number of bodies, the second one of some threads is beyond the set.
    #[inline(always)]
    fn number(&self, k: usize) -> u32 {
        self.body + k as u32 * self.of_thread
    }
}

/// What a member of a team adds up: the factors of `K` terms, and up to `N` of their components.
#[derive(Clone, Copy)]
struct Handed<A: Record<D>, const D: usize, const K: usize, const N: usize> {
    factors: [A::Number; K],
    components: [[A::Number; K]; N],
}

impl<A: Record<D>, const D: usize, const K: usize, const N: usize> Handed<A, D, K, N> {
    /// Adds the terms to the sums of their components, one after another.
    #[inline(always)]
    fn add_to(&self, set: &Set, sums: &mut [[A::Number; 2]; MOST_OF_MEMBER]) {
        each!(N, |n| if let Some(sum) = sums.get_mut(n)
            && (n == 0 || set.has(n, const { 3 * D as u32 }))
        {
            let is_first = set.component(n) < 3;
            let x = &self.components[n];
            each!(K, |k| A::add_component(
                self.factors[k],
                x[k],
                is_first,
                sum
            ));
        });
    }
}

impl<A: Record<D>, B: Bodies<A, D>, const D: usize> Share<'_, A, B, D> {
    /// The motions of this thread's bodies in a set.
    ///
    /// # Safety
    /// The bodies of the set must be below `count`.
    #[inline(always)]
    unsafe fn motions(&self, set: &Set) -> [A::Body; 2] {
        let at = |k: usize| set.first + set.number(k).min(set.bodies - 1);
        // Both are always read: a copy of the first one would be waited for.
        // SAFETY: the caller guarantees this.
        unsafe {
            let (first, second) = (
                self.tile.bodies.locate(at(0)),
                self.tile.bodies.locate(at(1)),
            );
            [
                self.tile.bodies.active(first),
                self.tile.bodies.active(second),
            ]
        }
    }

    /// Computes the sums for the `I` bodies `i` of each thread, with [`AT_ONCE`] terms at a time.
    ///
    /// # Safety
    /// All threads of the block must call this with the same set, which has teams of one thread and is wide if `I` is 2.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn pull_set<const I: usize>(&self, set: &Set, i: &[A::Body; 2]) -> [A::Sum; I] {
        const { assert!(I == 1 || I == 2) };
        let softening2 = A::number(self.tile.launch.softening2);
        let mut sum = [A::zero(); I];
        let mut done = 0;
        // SAFETY: all threads of the block call it.
        while let Some(staged) = unsafe { self.tile.next(&mut done) } {
            let (mut base, several) = (0, const { (AT_ONCE / I) as u32 });
            let of_thread = [&i[0], &i[1 % I], &i[2 % I], &i[3 % I]];
            // SAFETY: the terms are staged.
            let at =
                |base: u32, k: usize| unsafe { self.tile.body(set.part, base + (k / I) as u32) };
            // At order 4, one test follows the loop: without branches in it, the computations of several terms overlap more. At the higher orders
            // the loop would then need more registers than there are.
            let (before, mut ranges) = (sum, 0);
            while base + several <= staged {
                let [a, b, c, d] = [at(base, 0), at(base, 1), at(base, 2), at(base, 3)];
                let (j, mass) = ([&a.1, &b.1, &c.1, &d.1], [a.0, b.0, c.0, d.0]);
                let (all, _) = if const { D == 2 } {
                    A::terms_if_ordinary(of_thread, j, mass, softening2, &mut ranges)
                } else {
                    A::terms_of(of_thread, j, mass, softening2)
                };
                each!(AT_ONCE, |k| A::add(all[k].0, &all[k].1, &mut sum[k % I]));
                base += several;
            }
            if !A::Number::were_ordinary(ranges) {
                (sum, base) = (before, 0);
            }
            while base < staged {
                // SAFETY: the term is staged.
                let (mass, j) = unsafe { self.tile.body(set.part, base) };
                each!(I, |k| A::pull(
                    &i[k % 2],
                    &j,
                    mass,
                    softening2,
                    &mut sum[k % I]
                ));
                base += 1;
            }
        }
        sum
    }

    /// Computes the sums for a set with teams of several threads, and writes the results. The members of a team compute terms at the same time; then
    /// each adds up some of the components of all these terms.
    ///
    /// # Safety
    /// All threads of the block must call this with the same set.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn pull_by_teams(&self, set: &Set, i: &A::Body) {
        let components = const { 3 * D as u32 };
        let Set {
            team, member, own, ..
        } = *set;
        let teams = ratio(thread::block_dim_x(), team);
        let softening2 = A::number(self.tile.launch.softening2);
        let mut sums = [[A::number(0.0); 2]; MOST_OF_MEMBER];
        let mut done = 0;
        // SAFETY: all threads of the block call it.
        while let Some(staged) = unsafe { self.tile.next(&mut done) } {
            let mut base = 0;
            while base < staged {
                // The others would only keep the shared memory busy.
                if own < set.chains {
                    let term = |k: u32| {
                        let term = (base + k * team + member).min(staged - 1);
                        // SAFETY: the term is staged.
                        unsafe { self.tile.body(set.part, term) }
                    };
                    let (a, b) = (term(0), term(1));
                    let (all, _) = A::terms_of([i; 2], [&a.1, &b.1], [a.0, b.0], softening2);
                    // SAFETY: the terms are below 2 · threads, and each belongs to one thread.
                    unsafe {
                        self.hand_over(member * teams + own, &all[0]);
                        self.hand_over((team + member) * teams + own, &all[1]);
                    }
                }
                thread::sync_threads();
                if set.has(0, components) {
                    let ready = (staged - base).min(2 * team);
                    // SAFETY: the team has handed these terms over before the barrier.
                    unsafe {
                        // The loop for one component is a third as long as that for several.
                        if team >= components {
                            self.add_up::<1>(set, teams, ready, &mut sums);
                        } else {
                            self.add_up::<MOST_OF_MEMBER>(set, teams, ready, &mut sums);
                        }
                    }
                }
                thread::sync_threads();
                base += 2 * team;
            }
        }
        each!(MOST_OF_MEMBER, |n| {
            // All threads of the block decide the same.
            if set.any_has(n, components) {
                let component = set.component(n);
                let mut value = A::total(&sums[n], component < 3);
                let mut distance = self.tile.division.parts / 2;
                while distance > 0 {
                    // SAFETY: whole warps call it.
                    value += unsafe { warp_shuffle_xor(u32::MAX, value, distance, 32) }.0;
                    distance /= 2;
                }
                if component < components && set.part == 0 && own < set.chains {
                    let body = set.first + set.body;
                    // SAFETY: the numbers are those of the class, and each belongs to one thread.
                    unsafe {
                        *self.remaining.number(component, self.tile.class, body) = value;
                    }
                }
            }
        });
    }

    /// Adds the first `ready` terms of a team to the sums of up to `N` components.
    ///
    /// # Safety
    /// The `teams` teams must have handed these terms over before a barrier. The thread must have a component to add up.
    #[inline(always)]
    unsafe fn add_up<const N: usize>(
        &self,
        set: &Set,
        teams: u32,
        ready: u32,
        sums: &mut [[A::Number; 2]; MOST_OF_MEMBER],
    ) {
        let mut term = 0;
        // SAFETY: the caller guarantees this.
        unsafe {
            let several = const { READ_AT_ONCE as u32 };
            if ready >= several {
                // After the last ones, some are read again and not used.
                let read = |first: u32| {
                    self.handed::<READ_AT_ONCE, N>(set, teams, first.min(ready - several))
                };
                // The next ones are read while these are added up. Two in turn need no copies.
                let mut even = read(0);
                while term + several <= ready {
                    let odd = read(term + several);
                    even.add_to(set, sums);
                    term += several;
                    if term + several > ready {
                        break;
                    }
                    even = read(term + several);
                    odd.add_to(set, sums);
                    term += several;
                }
            }
            while term < ready {
                self.handed::<1, N>(set, teams, term).add_to(set, sums);
                term += 1;
            }
        }
    }

    /// Reads `K` terms of a team, the first of which has the number `first`: their factors, and those components that this thread adds up.
    ///
    /// # Safety
    /// The same as for [`add_up`](Self::add_up), with terms that are ready.
    #[inline(always)]
    unsafe fn handed<const K: usize, const N: usize>(
        &self,
        set: &Set,
        teams: u32,
        first: u32,
    ) -> Handed<A, D, K, N> {
        let read = |number: u32| {
            let mut numbers = [A::number(0.0); K];
            each!(K, |k| {
                let at = (first + k as u32) * teams + set.own;
                // SAFETY: the caller guarantees this.
                numbers[k] = unsafe { self.terms.get(Self::place(number, at)) };
            });
            numbers
        };
        let mut terms = Handed {
            factors: read(0),
            components: [[A::number(0.0); K]; N],
        };
        each!(N, |n| if n == 0 || set.has(n, const { 3 * D as u32 }) {
            terms.components[n] = read(1 + set.component(n));
        });
        terms
    }

    /// Folds the sums of the chains of each body, which adjacent threads have, and writes the results. A level of the tree adds two parts, and
    /// each of their threads does this for half of the values. The lowest level adds the parts that are farthest apart.
    ///
    /// # Safety
    /// The same as for [`pull_set`](Self::pull_set), of which `sum` must be the result.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn fold<const I: usize>(&self, set: &Set, sum: &[A::Sum; I]) {
        let components = const { 3 * D as u32 };
        let number = const { 3 * D * I };
        let mut values = [0.0; MOST_VALUES];
        each!(I, |k| {
            let totals = A::totals(&sum[k]);
            each!(D, |d| {
                let at = 3 * (k * D + d);
                values[at] = totals[d].x;
                values[at + 1] = totals[d].y;
                values[at + 2] = totals[d].z;
            });
        });
        let parts = again(self.tile.division.parts);
        // The values of this thread are some from number `first` on.
        let (mut first, mut count) = (0, number as u32);
        each!(const { MOST_PARTS.ilog2() as usize }, |level| {
            let distance = parts >> (level + 1);
            if distance > 0 {
                let (all, half) = (number.div_ceil(1 << level), number.div_ceil(2 << level));
                let has_second = set.part & distance != 0;
                each_value!(half, |k| {
                    let second = if k + half < all {
                        values[k + half]
                    } else {
                        0.0
                    };
                    let (mine, other) = match has_second {
                        true => (second, values[k]),
                        false => (values[k], second),
                    };
                    // SAFETY: whole warps call it.
                    let other = unsafe { warp_shuffle_xor(u32::MAX, other, distance, 32) }.0;
                    values[k] = mine + other;
                });
                let half = half as u32;
                (first, count) = match has_second {
                    true => (first + half, count.saturating_sub(half)),
                    false => (first, count.min(half)),
                };
            }
        });
        if set.own < set.chains {
            each_value!(number, ratio(number as u32 + parts - 1, parts), |k| {
                let value = first + k as u32;
                let second = I == 2 && value >= components;
                let body = set.number(second as usize);
                if (k as u32) < count && body < set.bodies {
                    let component = if second { value - components } else { value };
                    let body = set.first + body;
                    // SAFETY: the numbers are those of the class, and each belongs to one thread.
                    unsafe { *self.remaining.number(component, self.tile.class, body) = values[k] };
                }
            });
        }
    }

    /// The place of a number of a term in shared memory: first all factors, then all first components, and so on.
    #[inline(always)]
    fn place(number: u32, at: u32) -> usize {
        (number * 2 * thread::block_dim_x() + at) as usize
    }

    /// Writes a term for the team that adds it up.
    ///
    /// # Safety
    /// `at` must be less than twice the number of threads, and no other thread may use this term before a barrier.
    #[inline(always)]
    unsafe fn hand_over(&self, at: u32, term: &(A::Number, [Vec3<A::Number>; D])) {
        let (factor, vectors) = term;
        // SAFETY: the caller guarantees this; a term has 1 + 3D numbers.
        unsafe {
            self.terms.set(Self::place(0, at), *factor);
            each!(D, |d| {
                let number = 1 + 3 * d as u32;
                self.terms.set(Self::place(number, at), vectors[d].x);
                self.terms.set(Self::place(number + 1, at), vectors[d].y);
                self.terms.set(Self::place(number + 2, at), vectors[d].z);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::summation::partial_sums::{partial_sums, terms};

    fn launch(n: usize, count: u32) -> Launch {
        Launch {
            softening2: 0.0,
            sums: partial_sums(n) as u32,
            terms: terms(n) as u32,
            count,
            first: 0,
            stride: 1,
        }
    }

    #[test]
    fn a_team_is_as_large_as_threads_and_terms_allow() {
        for threads in [64, 128, 256] {
            for chains in 1..=threads {
                for terms in 1..70 {
                    let mut team = 1;
                    while 2 * team * chains <= threads && 2 * team < terms {
                        team *= 2;
                    }
                    let expected = if team < LEAST_TEAM { 1 } else { team };
                    let found = team_of(threads, chains, terms);
                    assert_eq!(found, expected, "{threads} {chains} {terms}");
                }
            }
        }
    }

    #[test]
    fn blocks_share_all_partial_sums_and_bodies() {
        for n in [200, 1024, 8192, 16384, 65536, 1 << 20] {
            for (threads, blocks) in [(64, 1), (128, 7), (128, 264), (128, 1000)] {
                for count in [1, 2, 73, 853, n as u32] {
                    let launch = launch(n, count);
                    let division = Division::among(&launch, threads, blocks);
                    let what = format!("{n} {threads} {blocks} {count}: {division:?}");
                    assert_eq!(
                        division.parts * division.remaining,
                        launch.parts(),
                        "{what}"
                    );
                    assert!(division.parts <= MOST_PARTS, "{what}");
                    assert!(division.remaining <= MOST_REMAINING, "{what}");
                    assert!(division.bodies >= 1, "{what}");
                    let groups = division.units(count) / division.remaining;
                    assert!(groups * division.bodies >= count, "{what}");
                    assert!((groups - 1) * division.bodies < count, "{what}");
                    let too_many = division.units(count) > blocks && division.remaining <= blocks;
                    assert!(!too_many, "{what}");
                }
            }
        }
    }

    #[test]
    fn a_large_gpu_has_work_for_nearly_all_blocks() {
        for n in [8192, 16384, 32768, 65536, 262_144] {
            for count in [2, 264, 1000] {
                let units = Division::among(&launch(n, count), 128, 264).units(count);
                assert!(units >= 252, "{n} bodies, {count} active: {units}");
            }
        }
    }
}
