//! Kernels divided into modules, so that a program loads no more text than a launch needs.
//!
//! A GPU gives every loaded module its own copy of the module's global statics. So kernels of a crate that share a static that can change
//! are in one module, and every other kernel has a module of its own, with a copy of the functions and constants that it uses.
//!
//! [`Modules::encoded`] is the form in which kernels are embedded in programs:
//!
//! ```text
//! cuda_builder modules 1
//! kernel <module> <package> <name>     for each kernel; modules count from 0
//! module <bytes>                       for each module, the length of its PTX
//!                                      an empty line, then the modules' PTX, one after the other
//! ```
//!
//! `<package>` is the name of the package whose source has the kernel (`CARGO_PKG_NAME` where `#[kernel]` is expanded; for
//! [`CudaBuilder::module`](crate::CudaBuilder::module), that of the host's package), because two packages of a program may have kernels of
//! the same name. A text that could not be compiled starts with [`NOT_COMPILED`](crate::ptx::NOT_COMPILED) instead.

use std::fmt::Write;

/// A kernel and the module that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The package whose source has the kernel.
    pub package: String,
    /// The name of its PTX entry.
    pub name: String,
    /// The place of its module in [`Modules::texts`].
    pub module: usize,
}

/// The kernels of a crate, divided into modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// Every kernel, in the order of the modules.
    pub kernels: Vec<Kernel>,
    /// The PTX of each module.
    pub texts: Vec<String>,
}

impl Modules {
    /// The first line of the encoded form.
    pub const TITLE: &str = "cuda_builder modules 1";

    /// The modules in the form in which programs embed them.
    pub fn encoded(&self) -> Vec<u8> {
        let texts: Vec<&[u8]> = self.texts.iter().map(String::as_bytes).collect();
        self.encoded_with(&texts)
    }

    /// The same with other bytes in place of each module's PTX, such as the packed PTX.
    pub fn encoded_with(&self, modules: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut text = format!("{}\n", Self::TITLE);
        for kernel in &self.kernels {
            let _ = writeln!(
                text,
                "kernel {} {} {}",
                kernel.module, kernel.package, kernel.name
            );
        }
        for module in modules {
            let _ = writeln!(text, "module {}", module.as_ref().len());
        }
        text.push('\n');
        let mut bytes = text.into_bytes();
        modules
            .iter()
            .for_each(|module| bytes.extend_from_slice(module.as_ref()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoded_form_has_a_table_and_the_texts() {
        let kernel = |module, name: &str| Kernel {
            package: "waves".into(),
            name: name.into(),
            module,
        };
        let modules = Modules {
            kernels: vec![kernel(0, "step"), kernel(0, "count"), kernel(1, "draw")],
            texts: vec!["first\n".into(), "second".into()],
        };
        assert_eq!(
            String::from_utf8(modules.encoded()).unwrap(),
            "cuda_builder modules 1\nkernel 0 waves step\nkernel 0 waves count\nkernel 1 waves draw\nmodule 6\nmodule 6\n\nfirst\nsecond"
        );
    }
}
