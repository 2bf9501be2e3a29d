//! Messages between the processes of a run: a description as JSON, and many numbers behind it, bit for bit.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Error;

/// A message of this description and these numbers.
pub fn packed(head: &impl Serialize, numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let head = serde_json::to_vec(head).expect("plain numbers and names");
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(head);
    bytes.extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    bytes
}

/// What the same program has [packed]. `read` makes the result, unless numbers are missing.
///
/// # Errors
/// [`Error::Failed`] if the message is incomplete.
pub fn unpacked<H: DeserializeOwned, T>(
    bytes: &[u8],
    read: impl FnOnce(H, &mut dyn Iterator<Item = f64>) -> Option<T>,
) -> Result<T, Error> {
    let parts = || {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (head, numbers) = rest.split_at_checked(length)?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|b| f64::from_le_bytes(*b));
        read(serde_json::from_slice(head).ok()?, &mut numbers)
    };
    parts().ok_or_else(|| Error::Failed("what rank 0 sent is incomplete".into()))
}
