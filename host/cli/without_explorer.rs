//! Stands for the module `explore` in a build without the explorer: runs are never shown.

/// Pictures of runs.
pub(super) mod live {
    use trisolar::hermite::{Cluster, ClusterRun, HermiteError};
    use trisolar::nbody::{Snapshot, Specification, Validated};
    use trisolar::time_run::{Error, TimeRun as _};

    use crate::Failure;

    /// The options of a run that is shown: none.
    #[derive(Clone, Copy, Debug, clap::Args)]
    pub(crate) struct LiveArgs {}

    /// A run, which is not shown.
    pub(crate) struct Live;

    /// What a page would say of a run.
    pub(crate) struct Unseen;

    impl LiveArgs {
        /// Whether the run is to be shown.
        pub(crate) fn is_on(self) -> bool {
            false
        }

        /// Starts the run.
        ///
        /// # Errors
        /// None.
        pub(crate) fn show(self, _: Unseen) -> Result<Live, Failure> {
            Ok(Live)
        }
    }

    /// The description of an N-body run.
    pub(crate) fn about_nbody(_: &str, _: &str, _: &Validated) -> Unseen {
        Unseen
    }

    /// The description of a cluster run.
    pub(crate) fn about_cluster(_: &Cluster<'_>, _: f64) -> Unseen {
        Unseen
    }

    impl Live {
        /// Advances a cluster to a time. False if `go_on` ended it before.
        ///
        /// # Errors
        /// The engine's.
        pub(crate) fn advance(
            &mut self,
            run: &mut ClusterRun<'_>,
            time: f64,
            go_on: &mut dyn FnMut(f64) -> bool,
        ) -> Result<bool, Error> {
            run.advance(time, go_on)
        }

        /// Whether a picture is due.
        pub(crate) fn wants_cloud(&self) -> bool {
            false
        }

        /// Does not show bodies.
        pub(crate) fn show_bodies(&mut self, _: &Snapshot, _: &Specification) {}

        /// Does not show particles.
        ///
        /// # Errors
        /// None.
        pub(crate) fn show_stars(
            &mut self,
            _: &mut Cluster<'_>,
            _: f64,
        ) -> Result<(), HermiteError> {
            Ok(())
        }

        /// The run has ended.
        pub(crate) fn finish(&self) {}
    }
}
