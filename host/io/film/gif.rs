//! Films as GIF, whose pictures have 256 colours each, chosen for the picture where it has more.

use std::io::Write as _;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use super::{Pictures, Stop, duration, each};
use crate::atomic::AtomicFile;
use crate::size::PictureSize;

/// The speed at which colours are chosen: 1 is the best choice, 30 the fastest.
const SPEED: i32 = 10;

/// A side as a GIF holds it.
///
/// # Errors
/// It is too long.
pub fn side(pixels: u32) -> Result<u16, String> {
    u16::try_from(pixels).map_err(|_| {
        format!("a GIF has at most 65535 pixels a side, not {pixels}; choose .webp or .mp4")
    })
}

pub(super) fn write(
    file: &mut AtomicFile,
    size: PictureSize,
    rate: f64,
    pictures: Pictures<'_>,
) -> Result<(), Stop> {
    let [width, height] = [side(size.width)?, side(size.height)?];
    let mut encoder = Encoder::new(file, width, height, &[])?;
    encoder.set_repeat(Repeat::Infinite)?;
    let encode = |n: usize, rgb: &[u8]| {
        let mut frame = Frame::from_rgb_speed(width, height, rgb, SPEED);
        frame.delay = duration(n as u32, rate, 100.0) as u16;
        frame.dispose = DisposalMethod::Keep;
        frame.make_lzw_pre_encoded();
        Ok(frame)
    };
    each(pictures, encode, |frame| {
        Ok(encoder.write_lzw_pre_encoded_frame(frame)?)
    })?;
    // Writes the last byte.
    Ok(encoder.into_inner()?.flush()?)
}

impl From<EncodingError> for Stop {
    fn from(error: EncodingError) -> Self {
        match error {
            EncodingError::Io(error) => Self::File(error),
            error => Self::Data(error.to_string()),
        }
    }
}
