//! There are no circular imports between the files of a package, so that a file can be read, tested and moved after those that it
//! uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// A module's path below the crate's root.
type Name = Vec<String>;

/// A source file and the names that it uses.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// The names that `use` imports, with the paths of their origins. A name that is only re-exported does not count as used.
    imported: BTreeMap<String, Name>,
    passed_on: BTreeSet<String>,
    /// Modules from which all names are imported.
    globs: Vec<Name>,
    /// Paths that the code writes in full.
    named: Vec<Name>,
    /// The words of the code outside of `use` items.
    words: BTreeSet<String>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|a| a.path().is_ident("cfg") && a.to_token_stream().to_string().contains("test"))
}

/// The file that a `#[path]` attribute names for a module.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|a| match &a.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            let text = pair.value.to_token_stream().to_string();
            Some(text.trim_matches('"').to_owned())
        }
        _ => None,
    })
}

/// A path without `crate`, `self` and `super`, or `None` if it leads to another crate.
fn absolute(module: &[String], path: &[String], modules: &BTreeSet<Name>) -> Option<Name> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        child => {
            let known = [module, &[child.to_owned()]].concat();
            return modules.contains(&known).then(|| [module, path].concat());
        }
    };
    for step in &path[1..] {
        if step == "super" {
            base.pop()?;
        } else {
            base.push(step.clone());
        }
    }
    Some(base)
}

fn flatten(tree: &UseTree, before: &[String], out: &mut Vec<(Name, Option<String>)>) {
    match tree {
        UseTree::Path(path) => {
            let before = [before, &[path.ident.to_string()]].concat();
            flatten(&path.tree, &before, out);
        }
        UseTree::Name(name) if name.ident == "self" => {
            out.push((before.to_vec(), before.last().cloned()));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            out.push(([before, std::slice::from_ref(&name)].concat(), Some(name)));
        }
        UseTree::Rename(rename) => {
            let path = [before, &[rename.ident.to_string()]].concat();
            out.push((path, Some(rename.rename.to_string())));
        }
        UseTree::Glob(_) => out.push((before.to_vec(), None)),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, out);
            }
        }
    }
}

/// Collects the words of a piece of code, and its paths of several words.
fn words(tokens: TokenStream, module: &mut Module) {
    let mut path = Name::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    module.named.push(std::mem::take(&mut path));
                }
                module.words.insert(ident.to_string());
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            other => {
                module.named.push(std::mem::take(&mut path));
                colons = 0;
                if let TokenTree::Group(group) = other {
                    words(group.stream(), module);
                }
            }
        }
    }
    module.named.push(path);
}

/// Reads a file and the modules that it declares. `folder` is the folder of these modules.
fn read(file: &Path, folder: &Path, name: &[String], items: &[Item], all: &mut Raw) {
    let module = all.modules.entry(name.to_vec()).or_default();
    module.file = file.to_owned();
    let mut children = Vec::new();
    for item in items {
        match item {
            Item::Mod(child) if !is_test(&child.attrs) => children.push(child),
            Item::Mod(_) => {}
            Item::Use(item) if is_test(&item.attrs) => {}
            Item::Use(item) => {
                let mut leaves = Vec::new();
                flatten(&item.tree, &[], &mut leaves);
                let private = matches!(item.vis, Visibility::Inherited);
                all.uses.extend(
                    leaves
                        .into_iter()
                        .map(|(path, bound)| (name.to_vec(), path, bound, private)),
                );
            }
            other => words(other.to_token_stream(), module),
        }
    }
    for child in children {
        let ident = child.ident.to_string();
        let inner = [name, std::slice::from_ref(&ident)].concat();
        if let Some((_, items)) = &child.content {
            read(file, &folder.join(&ident), &inner, items, all);
            continue;
        }
        let (path, below) = match path_of(&child.attrs) {
            Some(path) => {
                let path = file.parent().expect("a folder").join(path);
                let below = path.parent().expect("a folder").to_owned();
                (path, below)
            }
            None => {
                let flat = folder.join(format!("{ident}.rs"));
                let deep = folder.join(&ident);
                if flat.exists() {
                    (flat, deep)
                } else {
                    (deep.join("mod.rs"), deep)
                }
            }
        };
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let parsed = syn::parse_file(&text).expect("Rust");
        if !is_test(&parsed.attrs) {
            read(&path, &below, &inner, &parsed.items, all);
        }
    }
}

#[derive(Default)]
struct Raw {
    modules: BTreeMap<Name, Module>,
    /// Each `use` item: the module that contains it, its path, the name that it binds (`None` for all names), and whether it is
    /// private.
    uses: Vec<(Name, Name, Option<String>, bool)>,
}

/// The module that defines the item of a path.
fn defining(path: &[String], modules: &BTreeMap<Name, Module>, depth: usize) -> Option<Name> {
    let mut at = Name::new();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        let child = [&at[..], std::slice::from_ref(first)].concat();
        if !modules.contains_key(&child) {
            break;
        }
        (at, rest) = (child, others);
    }
    let module = modules.get(&at)?;
    let Some((name, others)) = rest.split_first() else {
        return Some(at);
    };
    if depth < 8
        && let Some(from) = module.imported.get(name)
    {
        return defining(&[from, others].concat(), modules, depth + 1);
    }
    Some(at)
}

/// The files that each file of a crate uses.
fn imports(root: &Path) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let text = std::fs::read_to_string(root).expect("a crate");
    let parsed = syn::parse_file(&text).expect("Rust");
    let mut raw = Raw::default();
    read(
        root,
        root.parent().expect("a folder"),
        &[],
        &parsed.items,
        &mut raw,
    );
    let names: BTreeSet<Name> = raw.modules.keys().cloned().collect();
    for (module, path, bound, private) in raw.uses {
        let Some(path) = absolute(&module, &path, &names) else {
            continue;
        };
        let module = raw.modules.get_mut(&module).expect("it was read");
        match bound {
            Some(bound) => {
                if !private {
                    module.passed_on.insert(bound.clone());
                }
                module.imported.insert(bound, path);
            }
            None if private => module.globs.push(path),
            None => {}
        }
    }
    let mut arrows: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (name, module) in &raw.modules {
        let imported = module.imported.iter();
        let used = imported
            .filter(|(bound, _)| {
                !module.passed_on.contains(*bound) || module.words.contains(*bound)
            })
            .map(|(_, path)| path.clone());
        let in_full = module.named.iter();
        let in_full = in_full
            .filter(|path| path.len() > 1)
            .filter_map(|path| absolute(name, path, &names));
        let paths = used.chain(in_full).chain(module.globs.iter().cloned());
        for path in paths.collect::<Vec<_>>() {
            let Some(target) = defining(&path, &raw.modules, 0) else {
                continue;
            };
            let file = &raw.modules[&target].file;
            // A module and the modules inside it belong together: the outer module declares what the inner ones share, and calls
            // them.
            let inside = name.starts_with(&target) || target.starts_with(name);
            if *file != module.file && !inside {
                let arrows = arrows.entry(module.file.clone()).or_default();
                arrows.insert(file.clone());
            }
        }
    }
    arrows
}

/// The files that depend on themselves, as sets of files that depend on each other.
fn circles(arrows: &BTreeMap<PathBuf, BTreeSet<PathBuf>>) -> Vec<BTreeSet<PathBuf>> {
    let reach = |from: &PathBuf| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(file) = open.pop() {
            for next in arrows.get(&file).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> =
        arrows.keys().map(|file| (file, reach(file))).collect();
    let mut found: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, all) in &reached {
        if all.contains(*file) && !found.iter().any(|circle| circle.contains(*file)) {
            let back = |other: &&PathBuf| reached.get(*other).is_some_and(|r| r.contains(*file));
            found.push(all.iter().filter(back).cloned().collect());
        }
    }
    found
}

#[test]
fn no_file_depends_on_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut crates = vec![
        root.join("host/lib.rs"),
        root.join("kernels-gpu/src/lib.rs"),
    ];
    for folder in ["host", "crates"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let folder = entry.expect("an entry").path();
            let roots = ["mod.rs", "lib.rs", "src/lib.rs"].map(|name| folder.join(name));
            crates.extend(roots.into_iter().find(|path| path.exists()));
        }
    }
    assert!(crates.len() > 15, "{crates:?}");
    let mut said = String::new();
    for library in &crates {
        let arrows = imports(library);
        for circle in circles(&arrows) {
            said += "\na circle:";
            for file in &circle {
                let inside = arrows[file].intersection(&circle);
                let names: Vec<_> = inside
                    .map(|f| f.strip_prefix(root).expect("inside").display().to_string())
                    .collect();
                said += &format!(
                    "\n  {} uses {}",
                    file.strip_prefix(root).expect("inside").display(),
                    names.join(", ")
                );
            }
        }
    }
    assert!(said.is_empty(), "{said}");
}

#[test]
fn a_circle_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("lib.rs", "mod a; mod b; mod c; pub use a::A;");
    write("a.rs", "use crate::b::B; pub struct A(pub Option<Box<B>>);");
    write("b.rs", "pub struct B; fn f(_: crate::c::C) {}");
    write("c.rs", "pub struct C;");
    let library = folder.path().join("lib.rs");
    assert!(circles(&imports(&library)).is_empty());
    // The circle goes through the name that the root re-exports.
    write("c.rs", "use super::A; pub struct C(A);");
    let found = circles(&imports(&library));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 3);
}
