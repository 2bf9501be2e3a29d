//! How much the self test computes: the whole test, and `--quick`.

/// The sizes of everything that is compared.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Width and height of the map of the usual plane.
    pub map: [u64; 2],
    /// Width and height of a map that no number of lanes divides.
    pub odd: [u64; 2],
    /// Width of a map of one row.
    pub row: u64,
    /// Width and height of the map of another plane.
    pub plane: [u64; 2],
    /// Width and height of the map with bodies that meet.
    pub meeting: [u64; 2],
    /// Width and height of the maps of every quantity, precision and integrator.
    pub methods: [u64; 2],
    /// Numbers of bodies of all-pairs runs, around the sizes of tiles, rows, blocks and chunks.
    pub bodies: &'static [usize],
    /// Largest number of bodies for the emulator, which is slow.
    pub emulated_bodies: usize,
    /// Number of bodies that only GPUs and the widest lanes compute.
    pub large: Option<usize>,
    /// Number of particles of clusters.
    pub particles: usize,
    /// Number of block steps of clusters, most of which have few active particles.
    pub blocks: usize,
    /// Number of encounters of a case.
    pub runs: u64,
    /// Number of encounters for the emulator, where they do not depend on the number of all.
    pub emulated_runs: u64,
    /// Number of encounters that start from points, all of which the emulator computes.
    pub points: u64,
    /// Width and height of the map of encounters.
    pub encounters_map: [u64; 2],
    /// Number of planetary systems of a case.
    pub systems: u64,
    /// Number of planetary systems for the emulator.
    pub emulated_systems: u64,
}

/// The whole test.
const WHOLE: Sizes = Sizes {
    map: [256, 257],
    odd: [37, 301],
    row: 1001,
    plane: [64, 65],
    meeting: [33, 32],
    methods: [23, 17],
    bodies: &[3, 33, 129, 513, 1111],
    emulated_bodies: 129,
    large: Some(5000),
    // More than get a block each on a GPU, so that the kernels with tiles run as well.
    particles: 700,
    blocks: 6,
    runs: 600,
    emulated_runs: 20,
    points: 40,
    encounters_map: [30, 20],
    systems: 150,
    emulated_systems: 70,
};

/// For slow machines and emulators of processors: every engine, method and kind of start, but few of each.
const QUICK: Sizes = Sizes {
    map: [64, 65],
    odd: [37, 11],
    row: 101,
    plane: [16, 17],
    meeting: [13, 12],
    methods: [7, 5],
    bodies: &[3, 33, 65, 129],
    emulated_bodies: 33,
    large: None,
    particles: 130,
    blocks: 6,
    runs: 24,
    emulated_runs: 4,
    points: 10,
    encounters_map: [6, 5],
    systems: 10,
    emulated_systems: 3,
};

impl Sizes {
    pub fn of(quick: bool) -> &'static Self {
        if quick { &QUICK } else { &WHOLE }
    }
}
