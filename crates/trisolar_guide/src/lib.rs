//! The Markdown pages of a repository as modules of rustdoc, so that `cargo doc` makes a site of them, with search.
//!
//! The pages are written for GitHub, where links name files. [`guide!`] makes them links between modules and puts pictures into the
//! page itself, because rustdoc copies no files.

mod code;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro::{Ident, Literal, Span, TokenStream};

/// The module `guide`: README.md, with a module for CONTRIBUTING.md and for each page of `docs/`. The module must be in the root of a crate
/// whose manifest lies in the same folder as README.md.
#[proc_macro]
pub fn guide(_: TokenStream) -> TokenStream {
    expanded(Pages::module)
}

/// The module `guide` with nothing but the Rust of the pages, a module for each page, so that `cargo test --doc` compiles it.
#[proc_macro]
pub fn guide_code(_: TokenStream) -> TokenStream {
    expanded(Pages::code)
}

fn expanded(module: impl Fn(&Pages) -> Result<TokenStream, String>) -> TokenStream {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    match Pages::of(Path::new(&root)).and_then(|pages| module(&pages)) {
        Ok(module) => module,
        Err(message) => {
            let message = Literal::string(&message);
            format!("compile_error!({message});")
                .parse()
                .expect("a macro")
        }
    }
}

/// A repository's pages.
struct Pages {
    root: PathBuf,
    /// Their paths in the repository.
    files: Vec<String>,
}

/// The module of a page in `guide`.
fn module_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.trim_end_matches(".md")
        .to_lowercase()
        .replace('-', "_")
}

impl Pages {
    fn of(root: &Path) -> Result<Self, String> {
        let fail = |e| format!("cannot read {}: {e}", root.join("docs").display());
        let mut files = vec!["CONTRIBUTING.md".to_owned()];
        for entry in fs::read_dir(root.join("docs")).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.ends_with(".md")) {
                files.push(format!("docs/{name}"));
            }
        }
        files.sort();
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    fn module(&self) -> Result<TokenStream, String> {
        let mut modules = TokenStream::new();
        for file in &self.files {
            modules.extend(documented(
                &self.page(file)?,
                &module_of(file),
                TokenStream::new(),
            ));
        }
        Ok(documented(&self.page("README.md")?, "guide", modules))
    }

    fn code(&self) -> Result<TokenStream, String> {
        let mut modules = TokenStream::new();
        for (name, text) in code::tests(self)? {
            modules.extend(documented(&text, &name, TokenStream::new()));
        }
        Ok(documented("", "guide", modules))
    }

    fn text(&self, file: &str) -> Result<String, String> {
        let path = self.root.join(file);
        fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    }

    /// A page as rustdoc understands it.
    fn page(&self, file: &str) -> Result<String, String> {
        let text = self.text(file)?;
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.for_rustdoc(&text, folder)
            .map_err(|e| format!("{file}: {e}"))
    }

    fn for_rustdoc(&self, text: &str, folder: &str) -> Result<String, String> {
        let (mut out, mut prose) = (String::new(), String::new());
        let mut inside = false;
        for line in text.split_inclusive('\n') {
            if line.trim_start().starts_with("```") {
                out += &self.with_links(&std::mem::take(&mut prose), folder)?;
                inside = !inside;
                out += line.trim_end();
                // To rustdoc a block without a language is Rust.
                out += if inside && line.trim() == "```" {
                    "text\n"
                } else {
                    "\n"
                };
            } else if inside {
                out += line;
            } else {
                prose += line;
            }
        }
        Ok(out + &self.with_links(&prose, folder)?)
    }

    /// A text without blocks of code, with its links as they are in rustdoc.
    fn with_links(&self, text: &str, folder: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['`', ']']) {
            let (before, found) = rest.split_at(at);
            out += before;
            if found.starts_with('`') {
                // Code ends with as many backquotes as it begins with.
                let quotes = &found[..found.len() - found.trim_start_matches('`').len()];
                let end = found[quotes.len()..]
                    .find(quotes)
                    .map_or(found.len(), |i| i + 2 * quotes.len());
                out += &found[..end];
                rest = &found[end..];
            } else if let Some(link) = found.strip_prefix("](") {
                let (target, after) = link.split_once(')').ok_or("a link has no end")?;
                match self.target(target, folder)? {
                    Some(target) => out += &format!("]({target})"),
                    None => without_last_bracket(&mut out),
                }
                rest = after;
            } else {
                out.push(']');
                rest = &found[1..];
            }
        }
        Ok(out + rest)
    }

    /// Where a link leads to in rustdoc, or `None` if only the repository has it.
    fn target(&self, target: &str, folder: &str) -> Result<Option<String>, String> {
        if target.starts_with('#') || target.contains("://") {
            return Ok(Some(target.to_owned()));
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in file.split('/') {
            match part {
                ".." => drop(path.pop()),
                part => path.push(part),
            }
        }
        let file = path.join("/");
        let hash = if anchor.is_empty() { "" } else { "#" };
        if file == "README.md" {
            return Ok(Some(format!("crate::guide{hash}{anchor}")));
        }
        if self.files.contains(&file) {
            return Ok(Some(format!(
                "crate::guide::{}{hash}{anchor}",
                module_of(&file)
            )));
        }
        if file.ends_with(".png") {
            let bytes =
                fs::read(self.root.join(&file)).map_err(|e| format!("cannot read {file}: {e}"))?;
            return Ok(Some(format!("data:image/png;base64,{}", base64(&bytes))));
        }
        Ok(None)
    }
}

/// Takes away the bracket that opens the text at the end.
fn without_last_bracket(text: &mut String) {
    let mut depth = 0;
    for (i, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => {
                text.remove(i);
                return;
            }
            '[' => depth -= 1,
            _ => {}
        }
    }
}

/// A public module with this documentation. rustdoc searches names only, so the words of its headings and the options in it are other names
/// of the module.
fn documented(text: &str, name: &str, items: TokenStream) -> TokenStream {
    let aliases = search_words(text).into_iter().filter(|word| word != name);
    let aliases: String = aliases
        .map(|word| format!("#[doc(alias = {word:?})] "))
        .collect();
    let (text, name) = (Literal::string(text), Ident::new(name, Span::call_site()));
    let code = format!("#[doc = {text}] {aliases} pub mod {name} {{ {items} }}");
    code.parse().expect("a module")
}

/// The words of the headings of a page, and the names of the options in it.
fn search_words(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let words = headings.flat_map(|line| line.split(|c| !is_part(c)));
    let options = text
        .split(|c| !is_part(c))
        .filter_map(|word| word.strip_prefix("--"));
    (words.filter(|word| word.len() > 3).chain(options))
        .map(|word| word.trim_matches('-').to_lowercase())
        .filter(|word| !word.is_empty() && !word.chars().all(|c| c == '-'))
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, i| {
            word << 8 | u32::from(three.get(i).copied().unwrap_or(0))
        });
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= three.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        Pages {
            root: PathBuf::from("/nowhere"),
            files: vec!["docs/a-b.md".into(), "CONTRIBUTING.md".into()],
        }
    }

    #[test]
    fn links_lead_to_modules() {
        let cases = [
            ("[a](a-b.md)", "[a](crate::guide::a_b)"),
            (
                "[a](a-b.md#c) and [b](../CONTRIBUTING.md)",
                "[a](crate::guide::a_b#c) and [b](crate::guide::contributing)",
            ),
            (
                "[up](../README.md#x), [here](#y), [far](https://x.y/z.md)",
                "[up](crate::guide#x), [here](#y), [far](https://x.y/z.md)",
            ),
            ("[`f` of [0]](../host/f.rs)!", "`f` of [0]!"),
            ("`[a](a-b.md)` ``x ` y`` [0]", "`[a](a-b.md)` ``x ` y`` [0]"),
            ("```\n[a](a-b.md)\n```\n", "```text\n[a](a-b.md)\n```\n"),
            ("```sh\n[a](a-b.md)\n```\n", "```sh\n[a](a-b.md)\n```\n"),
        ];
        for (page, expected) in cases {
            assert_eq!(pages().for_rustdoc(page, "docs").unwrap(), expected);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let message = pages().for_rustdoc("![x](x.png)", "docs").unwrap_err();
        assert!(message.contains("docs/x.png"), "{message}");
    }

    #[test]
    fn headings_and_options_are_found() {
        let page = "# Zooms and sweeps\n\n|---|\n`--film` is --in-flight -- not\n";
        let words = search_words(page);
        assert_eq!(
            Vec::from_iter(&words),
            ["film", "in-flight", "sweeps", "zooms"]
        );
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
