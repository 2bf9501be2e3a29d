//! Moves between two kinds of memory. LLVM expands a copy of memory that may overlap into loops, except where source and target are in
//! different address spaces: llc drops these without a word.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The start of the names of LLVM's moves.
const MOVE: &str = "@llvm.memmove.";

/// The optimised program, whose moves between address spaces are functions.
pub fn between_spaces(mut text: String) -> String {
    let found: BTreeSet<String> = (text.match_indices(MOVE))
        .map(|(start, _)| {
            let name = &text[start..];
            let end = name.find('(').unwrap_or(name.len());
            name[..end].to_owned()
        })
        .filter(|name| spaces(name).is_some_and(|(to, from, _)| to != from))
        .collect();
    for name in found {
        let Some((to, from, length)) = spaces(&name) else {
            continue;
        };
        text = (text.lines())
            .filter(|line| !(line.starts_with("declare ") && line.contains(&format!("{name}("))))
            .fold(String::with_capacity(text.len()), |mut text, line| {
                text += line;
                text.push('\n');
                text
            });
        let own = format!("@cuda_builder_move.p{to}.p{from}.i{length}");
        text = text.replace(&format!("{name}("), &format!("{own}("));
        text += &definition(&own, to, from, length);
    }
    text
}

/// The address spaces of target and source and the bits of the length, from a move's name.
fn spaces(name: &str) -> Option<(u32, u32, u32)> {
    let mut parts = name.strip_prefix(MOVE)?.split('.');
    let mut part = |kind| parts.next()?.strip_prefix(kind)?.parse().ok();
    Some((part('p')?, part('p')?, part('i')?))
}

/// A function that moves words of 8 bytes where everything is a multiple of 8, otherwise bytes; backwards if the target is further on.
fn definition(name: &str, to: u32, from: u32, length: u32) -> String {
    let mut text = format!(
        "\ndefine internal void {name}(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i{length} %length, i1 %volatile) {{\n"
    );
    for (address, space) in [("to", to), ("from", from)] {
        let _ = match space {
            0 => writeln!(
                text,
                "  %{address}.any = getelementptr i8, ptr %{address}, i64 0"
            ),
            _ => writeln!(
                text,
                "  %{address}.any = addrspacecast ptr addrspace({space}) %{address} to ptr"
            ),
        };
    }
    let _ = match length {
        64 => writeln!(text, "  %bytes = add i64 %length, 0"),
        _ => writeln!(text, "  %bytes = zext i{length} %length to i64"),
    };
    text + "  %target = ptrtoint ptr %to.any to i64
  %source = ptrtoint ptr %from.any to i64
  %both = or i64 %target, %source
  %all = or i64 %both, %bytes
  %rest.of.word = and i64 %all, 7
  %is.words = icmp eq i64 %rest.of.word, 0
  %width = select i1 %is.words, i64 8, i64 1
  %is.forwards = icmp ule i64 %target, %source
  %last = sub i64 %bytes, %width
  %first = select i1 %is.forwards, i64 0, i64 %last
  %minus.width = sub i64 0, %width
  %by = select i1 %is.forwards, i64 %width, i64 %minus.width
  %is.empty = icmp eq i64 %bytes, 0
  br i1 %is.empty, label %done, label %loop
loop:
  %at = phi i64 [ %first, %0 ], [ %next, %moved ]
  %left = phi i64 [ %bytes, %0 ], [ %still, %moved ]
  %to.here = getelementptr i8, ptr %to.any, i64 %at
  %from.here = getelementptr i8, ptr %from.any, i64 %at
  br i1 %is.words, label %word, label %byte
word:
  %a.word = load i64, ptr %from.here, align 8
  store i64 %a.word, ptr %to.here, align 8
  br label %moved
byte:
  %a.byte = load i8, ptr %from.here, align 1
  store i8 %a.byte, ptr %to.here, align 1
  br label %moved
moved:
  %next = add i64 %at, %by
  %still = sub i64 %left, %width
  %is.done = icmp eq i64 %still, 0
  br i1 %is.done, label %done, label %loop
done:
  ret void
}
"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_within_an_address_space_stay() {
        let same = "  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 9, i1 false)\n";
        assert_eq!(between_spaces(same.to_owned()), same);
        let other = "  call void @llvm.memmove.p1.p5.i32(ptr addrspace(1) %a, ptr addrspace(5) %b, i32 9, i1 false), !x\n\
                     declare void @llvm.memmove.p1.p5.i32(ptr addrspace(1), ptr addrspace(5), i32, i1 immarg)\n";
        let text = between_spaces(other.to_owned());
        assert!(
            !text.contains("llvm.memmove") && !text.contains("declare"),
            "{text}"
        );
        assert!(
            text.contains("call void @cuda_builder_move.p1.p5.i32(ptr addrspace(1) %a,"),
            "{text}"
        );
        assert!(
            text.contains("%to.any = addrspacecast ptr addrspace(1) %to to ptr"),
            "{text}"
        );
    }
}
