//! What the compiler cannot hold about the layers.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, list);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "toml") {
            list.push(path);
        }
    }
}

/// Whether a text names a crate, in code or in a manifest.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.trim_start().starts_with('#'))
        .any(|line| line.split(|c| !is_part(c)).any(|word| word == name))
}

#[test]
fn only_the_devices_name_cust() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let devices = root.join("host/gpu");
    let mut list = vec![root.join("Cargo.toml"), root.join("build.rs")];
    sources(&root.join("host"), &mut list);
    let naming: Vec<PathBuf> = (list.into_iter())
        .filter(|path| names(&std::fs::read_to_string(path).expect("a text"), "cust"))
        .collect();
    let outside: Vec<&PathBuf> = naming.iter().filter(|p| !p.starts_with(&devices)).collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(naming.contains(&devices.join("cuda.rs")));
}
