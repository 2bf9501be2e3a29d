//! Films as lossless animated WebP. The frames are encoded by `image-webp`; the container around them is a few chunks, see
//! the WebP Container Specification, "Animation".

use std::io::{Seek as _, SeekFrom, Write};

use image_webp::{ColorType, WebPEncoder};

use super::{Pictures, Stop, duration, each};
use crate::atomic::AtomicFile;
use crate::size::PictureSize;

/// The longest side of a WebP picture.
const MAX_SIDE: u32 = 16384;
/// A file holds its own length in 32 bits.
const MAX_BYTES: u64 = u32::MAX as u64 - 1;
/// Flag of `VP8X`: the file is an animation.
const ANIMATED: u32 = 0x02;
/// Flag of `ANMF`: the frame replaces the previous one instead of being blended with it.
const REPLACES: u8 = 0x02;

pub(super) fn write(
    file: &mut AtomicFile,
    size: PictureSize,
    rate: f64,
    pictures: Pictures<'_>,
) -> Result<(), Stop> {
    let longest = size.width.max(size.height);
    if longest > MAX_SIDE {
        return Err(Stop::Data(format!(
            "a WebP has at most {MAX_SIDE} pixels a side, not {longest}; choose .gif or .mp4"
        )));
    }
    let size = (size.width, size.height);
    let mut length = 12 + begin(file, size)?;
    let encode = |n: usize, rgb: &[u8]| {
        let image = encode(rgb, size)?;
        Ok(frame(&image, size, duration(n as u32, rate, 1000.0)))
    };
    each(pictures, encode, |chunk| {
        length += chunk.len() as u64;
        if length > MAX_BYTES {
            let reason = "a WebP has at most 4 GiB; choose .mp4, or fewer or smaller frames";
            return Err(Stop::Data(reason.into()));
        }
        Ok(file.write_all(chunk)?)
    })?;
    Ok(end(file, length)?)
}

/// A picture as the chunk `VP8L`.
fn encode(rgb: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    WebPEncoder::new(&mut bytes)
        .encode(rgb, width, height, ColorType::Rgb8)
        .map_err(|e| e.to_string())?;
    // "RIFF", a length, "WEBP", and then the one chunk.
    match bytes.get(12..16) {
        Some(b"VP8L") => Ok(bytes.split_off(12)),
        _ => Err("the encoder returned a chunk that is not VP8L".into()),
    }
}

/// The head of the file; returns the bytes after its first 12.
fn begin(file: &mut AtomicFile, (width, height): (u32, u32)) -> std::io::Result<u64> {
    let mut vp8x = ANIMATED.to_le_bytes().to_vec();
    vp8x.extend(three_bytes(width - 1));
    vp8x.extend(three_bytes(height - 1));
    // Background (unused) and the number of repetitions; 0 means no end.
    let anim = [0; 6];
    let chunks = [chunk(b"VP8X", &vp8x), chunk(b"ANIM", &anim)].concat();
    file.write_all(b"RIFF\0\0\0\0WEBP")?;
    file.write_all(&chunks)?;
    Ok(chunks.len() as u64)
}

/// The chunk of a frame.
fn frame(image: &[u8], (width, height): (u32, u32), milliseconds: u32) -> Vec<u8> {
    let mut anmf = vec![0; 6];
    for n in [width - 1, height - 1, milliseconds] {
        anmf.extend(three_bytes(n));
    }
    anmf.push(REPLACES);
    anmf.extend(image);
    chunk(b"ANMF", &anmf)
}

/// Puts the length of the file into its head.
fn end(file: &mut AtomicFile, length: u64) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(4))?;
    file.write_all(&((length - 8) as u32).to_le_bytes())?;
    file.seek(SeekFrom::End(0)).map(|_| ())
}

/// A name, a length, the contents, and a byte more if their number is odd.
fn chunk(name: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let mut bytes = name.to_vec();
    bytes.extend((contents.len() as u32).to_le_bytes());
    bytes.extend(contents);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes
}

fn three_bytes(n: u32) -> [u8; 3] {
    let [a, b, c, _] = n.to_le_bytes();
    [a, b, c]
}
