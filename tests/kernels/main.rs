//! Tests of the PTX that is compiled from the kernels.
#![cfg(feature = "gpu")]

mod prebuilt;
mod ptx;

/// The table of modules as `cuda_builder` writes it, without the lengths, and the modules.
fn parts(modules: &[u8]) -> (String, Vec<&[u8]>) {
    let end = modules.windows(2).position(|two| two == b"\n\n");
    let (head, mut rest) = modules.split_at(end.expect("a table") + 2);
    let head = std::str::from_utf8(head).expect("text");
    let (lengths, table): (Vec<&str>, Vec<&str>) =
        head.lines().partition(|line| line.starts_with("module "));
    let parts = lengths.into_iter().map(|line| {
        let length = line["module ".len()..].parse().expect("a length");
        let (part, others) = rest.split_at(length);
        rest = others;
        part
    });
    let parts = parts.collect();
    (table.join("\n"), parts)
}

/// The PTX of a module that is packed.
fn unpacked(part: &[u8]) -> String {
    std::io::read_to_string(flate2::read::ZlibDecoder::new(part)).expect("PTX")
}
