//! Parts of the names of files.

use std::ffi::OsStr;

/// The rest of a name after a part that it begins with, which need not be text.
pub fn strip_prefix<'a>(name: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_bytes())?;
    // SAFETY: the name was cut behind valid UTF-8, or not at all.
    Some(unsafe { OsStr::from_encoded_bytes_unchecked(rest) })
}

/// The part of a name before what it ends with, which need not be text.
pub fn strip_suffix<'a>(name: &'a OsStr, suffix: &str) -> Option<&'a OsStr> {
    let rest = name.as_encoded_bytes().strip_suffix(suffix.as_bytes())?;
    // SAFETY: the name was cut before valid UTF-8, or not at all.
    Some(unsafe { OsStr::from_encoded_bytes_unchecked(rest) })
}
