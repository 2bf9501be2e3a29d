//! A PTX file with a record is accepted for the sources that it was made from, and for no others.

mod common;

use std::fs;

use common::{BARE, builder, built};

const TAIL: &str = "#[path = \"more.rs\"] mod more;\n";

#[test]
fn a_record_matches_its_sources_in_any_folder_but_no_changed_ones() {
    let here = tempfile::tempdir().unwrap();
    let krate = here.path().join("a/kernels");
    common::write_crate(&krate, &(BARE.to_owned() + TAIL));
    fs::write(krate.join("src/more.rs"), "// nothing yet\n").unwrap();
    fs::write(krate.join("src/unused.rs"), "// not part of the crate\n").unwrap();
    let Some((ptx, record)) = built(builder(&krate)) else {
        return;
    };
    let text = record.header() + &fs::read_to_string(ptx).unwrap();
    assert!(!text.contains(here.path().to_str().unwrap()), "{text}");

    // The same sources in another folder give the same file, and it matches them.
    let moved = here.path().join("deeper/in/b/kernels");
    common::write_crate(&moved, &(BARE.to_owned() + TAIL));
    fs::write(moved.join("src/more.rs"), "// nothing yet\r\n").unwrap();
    fs::copy(krate.join("Cargo.lock"), moved.join("Cargo.lock")).unwrap();
    assert_eq!(builder(&moved).check_prebuilt(&text).unwrap(), Ok(()));
    assert_eq!(builder(&moved).check_same(&text).unwrap(), Ok(()));
    // A different compiler or cuda_builder may give different PTX, which is acceptable only where none can be built.
    for (tool, line) in [
        ("compiler", "// compiler: rustc "),
        ("builder", "// builder: "),
    ] {
        let other = text.replace(line, &format!("{line}0"));
        assert_ne!(other, text);
        assert_eq!(builder(&moved).check_prebuilt(&other).unwrap(), Ok(()));
        let stale = builder(&moved).check_same(&other).unwrap().unwrap_err();
        assert_eq!(
            stale.differences,
            [format!("the {tool} is a different one")]
        );
    }
    let (ptx, record) = built(builder(&moved)).unwrap();
    assert_eq!(record.header() + &fs::read_to_string(ptx).unwrap(), text);

    // A file that does not affect the PTX does not matter.
    fs::write(krate.join("src/unused.rs"), "// changed\n").unwrap();
    let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap();
    fs::write(krate.join("Cargo.toml"), format!("# a comment\n{manifest}")).unwrap();
    assert_eq!(builder(&krate).check_prebuilt(&text).unwrap(), Ok(()));

    let differences = || {
        builder(&krate)
            .check_prebuilt(&text)
            .unwrap()
            .unwrap_err()
            .differences
    };
    fs::write(krate.join("src/more.rs"), "pub fn f() {}\n").unwrap();
    assert_eq!(differences(), ["src/more.rs has changed"]);
    fs::remove_file(krate.join("src/more.rs")).unwrap();
    assert_eq!(differences(), ["src/more.rs has changed"]);
    fs::write(krate.join("src/more.rs"), "// nothing yet\n").unwrap();
    fs::write(
        krate.join("Cargo.toml"),
        manifest.replace("extra = []", "extra = []\ndefault = [\"extra\"]"),
    )
    .unwrap();
    assert_eq!(differences(), ["Cargo.toml has changed"]);
    fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    assert_eq!(
        differences_of(builder(&krate).fma_contraction(true), &text),
        1
    );
    assert_eq!(differences_of(builder(&krate), ".version 7.0\n"), 1);
}

fn differences_of(builder: cuda_builder::CudaBuilder, text: &str) -> usize {
    builder
        .check_prebuilt(text)
        .unwrap()
        .unwrap_err()
        .differences
        .len()
}
