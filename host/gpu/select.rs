//! The device of a program that has no other wish.

use std::io::Write as _;
use std::sync::Arc;

use crate::{Device, Emulator, open};

/// Opens the first GPU or, where the program cannot use one, the emulator of the grid, and then says why on stderr.
pub fn gpu_or_emulator() -> Arc<dyn Device> {
    #[cfg(feature = "devices")]
    let opened = crate::module::table().and_then(|_| open(0));
    #[cfg(not(feature = "devices"))]
    let opened = open(0);
    opened.unwrap_or_else(|why| {
        // A standard error that cannot be written, such as a file on a full disk, must not end the program.
        let _ = writeln!(
            std::io::stderr(),
            "{why}; the kernels run in the emulator, on the CPU"
        );
        Arc::new(Emulator::new("emulator".into()))
    })
}
