//! The header and the library say the same: names and numbers. (That types agree is checked by the C programs.)

use std::collections::BTreeSet;

const HEADER: &str = include_str!("../../../include/trisolar.h");
const SOURCES: [&str; 2] = [
    include_str!("../src/lib.rs"),
    include_str!("../src/encounters.rs"),
];

/// Names before an opening bracket that begin like the interface's.
fn functions<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    lines
        .filter_map(|line| {
            let before = line.split('(').next()?;
            let name = before.rsplit([' ', '*']).next()?;
            (line.contains('(') && name.starts_with("trisolar_")).then_some(name)
        })
        .collect()
}

#[test]
fn every_function_is_declared_and_defined() {
    let code = HEADER
        .lines()
        .filter(|l| !l.starts_with([' ', '*', '/', '#']));
    let declared = functions(code.filter(|l| !l.starts_with("typedef")));
    let mut defined = BTreeSet::new();
    let mut lines = SOURCES.iter().flat_map(|source| source.lines());
    while let Some(line) = lines.next() {
        if line == "#[unsafe(no_mangle)]" {
            defined.extend(functions(lines.next().into_iter()));
        }
    }
    assert!(defined.len() >= 12, "{defined:?}");
    assert_eq!(declared, defined);
}
