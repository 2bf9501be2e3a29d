//! The Rust of the pages as documentation tests, which `cargo test --doc` compiles.

use std::collections::BTreeSet;

use super::Pages;

/// What a block needs around it to compile on its own. Any other block compiles as it is.
struct Context {
    page: &'static str,
    /// How the block begins.
    begins: &'static str,
    /// The lines before the block, in which `{previous}` stands for the page's previous block of Rust.
    before: &'static str,
    after: &'static str,
}

const CONTEXTS: &[Context] = &[
    Context {
        page: "docs/own-systems.md",
        begins: "use trisolar_equations::*;",
        before: "",
        after: "fn main() {}",
    },
    Context {
        page: "docs/first-kernel.md",
        begins: "use cuda_std::prelude::*;",
        before: "",
        after: "fn main() {}",
    },
    Context {
        page: "docs/first-kernel.md",
        begins: "use std::sync::Arc;",
        before: "extern crate self as kernels_gpu;\npub mod kernels {\n{previous}}",
        after: "fn main() {\n    squares_are_scaled();\n}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "#[kernel]\npub fn saxpy",
        before: "use cuda_std::prelude::*;",
        after: "fn main() {}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "device.run::<Saxpy>",
        before: "use std::sync::Arc;

use cuda_std::prelude::*;
use trisolar::gpu::{Buffer, Device, Grid, GpuError};

{previous}
fn launch(device: Arc<dyn Device>, x: Buffer<f32>, mut y: Buffer<f32>) -> Result<(), GpuError> {",
        after: "    Ok(())\n}\nfn main() {}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "#[kernel]\npub fn block_sums",
        before: "use cuda_std::{collective::block_reduce, prelude::*};",
        after: "fn main() {}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "let x = Buffer::of",
        before: "use std::sync::Arc;

use cuda_std::prelude::*;
use trisolar::gpu::{Buffer, Device, Grid, GpuError};

#[kernel]
pub unsafe fn scale(by: f32, data: &mut [f32]) {}

fn launch(device: Arc<dyn Device>, numbers: [f32; 4]) -> Result<(), GpuError> {",
        after: "    Ok(())\n}\nfn main() {}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "#[kernel(instances(f32: f32",
        before: "use cuda_std::prelude::*;

pub trait Float: Copy + 'static {}
impl Float for f32 {}
impl Float for f64 {}
",
        after: "fn main() {}",
    },
    Context {
        page: "docs/kernels.md",
        begins: "#[address_space(constant)]",
        before: "use std::sync::Arc;

use cuda_std::{Constant, address_space};
use trisolar::gpu::{Device, GpuError};

fn set(device: Arc<dyn Device>) -> Result<(), GpuError> {",
        after: "    Ok(())\n}\nfn main() {}",
    },
];

/// The documentation of a module for each page with Rust: the module's name, and its blocks.
pub(super) fn tests(pages: &Pages) -> Result<Vec<(String, String)>, String> {
    let mut unused: BTreeSet<usize> = (0..CONTEXTS.len()).collect();
    let mut modules = Vec::new();
    for page in ["README.md".to_owned()].iter().chain(&pages.files) {
        let mut text = String::new();
        let mut previous = String::new();
        for block in rust(&pages.text(page)?) {
            let context = CONTEXTS
                .iter()
                .position(|c| c.page == page && block.starts_with(c.begins));
            let (before, after) = match context {
                Some(i) => {
                    unused.remove(&i);
                    (
                        CONTEXTS[i].before.replace("{previous}", &previous),
                        CONTEXTS[i].after,
                    )
                }
                None => (String::new(), ""),
            };
            // rustdoc compiles no tests, and leaves them out.
            let body = block.replace("#[test]\n", "");
            text += &format!(
                "```rust,no_run,standalone_crate\n#![allow(unused)]\n{before}\n{body}{after}\n```\n\n"
            );
            previous = block;
        }
        if !text.is_empty() {
            modules.push((super::module_of(page), text));
        }
    }
    match unused.first() {
        None => Ok(modules),
        Some(i) => Err(format!(
            "{}: no block of Rust begins with `{}`",
            CONTEXTS[*i].page, CONTEXTS[*i].begins
        )),
    }
}

/// The blocks of Rust of a page, without the indentation of the list that they are in.
fn rust(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match (line.trim_start().strip_prefix("```"), inside) {
            (Some(_), Some(_)) => inside = None,
            (Some(language), None) => {
                inside = Some((indent, language == "rust"));
                if language == "rust" {
                    blocks.push(String::new());
                }
            }
            (None, Some((indent, true))) => {
                let block = blocks.last_mut().expect("an open block");
                *block += line.get(indent..).unwrap_or_default();
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rust_are_found() {
        let page =
            "a\n  ```rust\n  fn f() {\n\n      g();\n  }\n  ```\n```sh\nls\n```\n```rust\nx\n```\n";
        assert_eq!(rust(page), ["fn f() {\n\n    g();\n}\n", "x\n"]);
    }
}
