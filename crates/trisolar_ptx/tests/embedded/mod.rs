//! The PTX that Trisolar embeds.

use std::io::Read as _;
use std::path::Path;

/// The PTX of all modules.
pub fn texts() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host/kernels.modules");
    let bytes = std::fs::read(file).expect("the kernels");
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|part| part == what);
    let start = find(&bytes, b"cuda_builder modules 1\n").expect("a title");
    let end = start + find(&bytes[start..], b"\n\n").expect("a table");
    let table = std::str::from_utf8(&bytes[start..end]).expect("a table");
    let mut rest = &bytes[end + 2..];
    let lengths = table
        .lines()
        .filter_map(|line| line.strip_prefix("module "));
    let unpack = |length: &str| {
        let (packed, others) = rest.split_at(length.parse().expect("a length"));
        rest = others;
        let mut text = String::new();
        let mut stream = flate2::read::ZlibDecoder::new(packed);
        stream.read_to_string(&mut text).expect("PTX");
        text
    };
    lengths.map(unpack).collect()
}
