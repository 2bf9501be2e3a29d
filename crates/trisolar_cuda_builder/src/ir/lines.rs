//! The lines of instructions that are inlined from libraries.
//!
//! PTX before 7.2 has no words for "inlined at", so that a barrier would have the line of `sync_threads` and an index out of bounds that of `core`. Such
//! instructions get the line of the kernel's own source that called the library.

use std::collections::HashMap;

/// Whether a file belongs to Rust's libraries or to `cuda_std`.
fn is_library(file: &str) -> bool {
    let of_libraries = ["/rustc/", "/rustlib/src/", "cuda_std/src/", "cuda-std-"];
    of_libraries.iter().any(|part| file.contains(part))
}

/// The value of a field, such as `file: !12`.
fn field<'a>(node: &'a str, name: &str) -> Option<&'a str> {
    let rest = &node[node.find(name)? + name.len()..];
    Some(&rest[..rest.find([',', ')']).unwrap_or(rest.len())])
}

/// A program in LLVM's text form, whose locations in libraries are replaced by those of their callers.
pub fn of_callers(text: &str) -> String {
    let node = |line: &'_ str| {
        let (name, node) = line.split_once(" = ")?;
        name.starts_with('!')
            .then(|| (name.to_owned(), node.to_owned()))
    };
    let nodes: HashMap<String, String> = text.lines().filter_map(node).collect();
    let is_inlined_library = |location: &str| -> Option<bool> {
        let scope = nodes.get(field(location, "scope: ")?)?;
        let file = nodes.get(field(scope, "file: ")?)?;
        Some(is_library(file.split('"').nth(1)?))
    };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some((name, own)) = line
            .split_once(" = ")
            .filter(|(_, node)| node.contains("!DILocation("))
        else {
            lines.push(line.to_owned());
            continue;
        };
        let mut location = own;
        while is_inlined_library(location) == Some(true)
            && let Some(caller) = field(location, "inlinedAt: ").and_then(|at| nodes.get(at))
        {
            location = caller;
        }
        let distinct = if own.starts_with("distinct ") {
            "distinct "
        } else {
            ""
        };
        let location = location.trim_start_matches("distinct ");
        lines.push(format!("{name} = {distinct}{location}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::of_callers;

    #[test]
    fn what_is_inlined_from_libraries_has_the_line_of_its_caller() {
        let text = r#"!1 = !DIFile(filename: "/rustc/library/core/src/ptr.rs", directory: ".")
!2 = !DIFile(filename: "src/kernels.rs", directory: ".")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 5)
!4 = distinct !DISubprogram(name: "add", file: !1, line: 900)
!5 = distinct !DISubprogram(name: "copy", file: !1, line: 70)
!6 = !DILocation(line: 901, column: 1, scope: !4, inlinedAt: !7)
!7 = distinct !DILocation(line: 71, column: 2, scope: !5, inlinedAt: !8)
!8 = distinct !DILocation(line: 6, column: 3, scope: !3)
!9 = !DILocation(line: 902, column: 4, scope: !4)
"#;
        let found = of_callers(text);
        assert!(
            found.contains("!6 = !DILocation(line: 6, column: 3, scope: !3)\n"),
            "{found}"
        );
        assert!(
            found.contains("!9 = !DILocation(line: 902, column: 4, scope: !4)\n"),
            "{found}"
        );
        assert_eq!(found.lines().count(), text.lines().count());
    }
}
