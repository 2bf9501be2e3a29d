//! Launch bounds of kernels. `#[kernel(max_threads = …)]` leaves a comment in the body of the entry, because rustc has no means to write
//! directives before it.

use std::collections::HashMap;

use super::{BEGIN_ASSEMBLY, END_ASSEMBLY, bodies, rewritten};

/// The beginning of the comment.
const COMMENT: &str = "// launch bounds: ";

/// Returns PTX with the directives where they belong: between the parameters of an entry and its body.
pub(super) fn declared(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    for body in bodies(&lines) {
        let comment = |i: &usize| Some((*i, lines[*i].trim().strip_prefix(COMMENT)?));
        let Some((at, given)) = body.clone().find_map(|i| comment(&i)) else {
            continue;
        };
        let Some(brace) = body.clone().find(|i| lines[*i].trim() == "{") else {
            continue;
        };
        let directives = given.replace(" .", "\n.");
        instead.insert(brace, format!("{directives}\n{{"));
        let assembly = at - 1..at + 2;
        let texts = assembly.clone().map(|i| lines[i].trim());
        if texts.eq([BEGIN_ASSEMBLY, lines[at].trim(), END_ASSEMBLY]) {
            instead.extend(assembly.map(|i| (i, String::new())));
        }
    }
    rewritten(ptx, &instead)
}

/// Returns PTX in which kernels without a bound on registers have this one. (`.minnctapersm` bounds them, too.)
pub(super) fn limited(ptx: &str, most: u32) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    for body in bodies(&lines).filter(|body| lines[body.start].contains(".entry ")) {
        let Some(brace) = body.clone().find(|i| lines[*i].trim() == "{") else {
            continue;
        };
        let is_bound = |line: &&str| {
            [".maxnreg", ".minnctapersm"]
                .iter()
                .any(|bound| line.contains(bound))
        };
        if !lines[body.start..brace].iter().any(is_bound) {
            instead.insert(brace, format!(".maxnreg {most}\n{{"));
        }
    }
    rewritten(ptx, &instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_placed_before_the_body_of_their_entry() {
        let bounded = "\
.visible .entry first(
\t.param .u64 first_param_0
)
{
\t.reg .b32 %r<2>;

\t// begin inline asm
\t// launch bounds: .maxntid 256 .minnctapersm 2
\t// end inline asm
\tret;

}
";
        let other = ".visible .entry second()\n{\n\tret;\n\n}\n";
        let module = format!("{other}{bounded}{other}");
        let expected = bounded
            .replace(")\n{", ")\n.maxntid 256\n.minnctapersm 2\n{")
            .replace("\t// begin inline asm\n\t// launch bounds: .maxntid 256 .minnctapersm 2\n\t// end inline asm\n", "\n\n\n");
        assert_eq!(declared(&module), format!("{other}{expected}{other}"));
        assert_eq!(declared(other), other);
    }

    #[test]
    fn a_limit_of_registers_is_for_kernels_without_one() {
        let free =
            ".visible .entry first()\n.maxntid 64\n{\n\tret;\n}\n.func second()\n{\n\tret;\n}\n";
        let bounded = ".visible .entry third()\n.maxnreg 40\n{\n\tret;\n}\n";
        let expected = free.replacen("\n{", "\n.maxnreg 64\n{", 1);
        assert_eq!(
            limited(&format!("{free}{bounded}"), 64),
            format!("{expected}{bounded}")
        );
    }
}
