//! Communication between the processes of a run.

use std::fmt;

/// The processes of a run. Every one of them makes the same calls in the same order.
pub trait Ranks: fmt::Debug {
    /// The number of this one, from 0.
    fn rank(&self) -> usize;
    /// Number of processes.
    fn size(&self) -> usize;
    /// The number of this one among the processes of the same machine, from 0, and how many these are.
    fn here(&self) -> [usize; 2];
    /// Gathers the numbers of all ranks in the order of the ranks; `counts` holds how many numbers each rank contributes.
    fn gather(&self, mine: &[f64], counts: &[usize], all: &mut [f64]);
    /// Sends to the rank below and receives from the one above; rank 0 is above the last one.
    fn pass(&self, give: &[f64], take: &mut [f64]);
    /// Sends without waiting for the receiver.
    fn send(&self, to: usize, numbers: Vec<f64>);
    /// Waits for the numbers that another rank sends.
    fn receive(&self, from: usize, numbers: &mut [f64]);
    /// Waits until everything sent has been received.
    fn delivered(&self);
    /// Whether `here` holds on any rank.
    fn any(&self, here: bool) -> bool;
}

/// Ranks that also send each other messages at any time, without matching calls on the other ranks. Only the thread that joined the ranks may
/// make calls.
pub trait Messages: Ranks {
    /// Number of ranks, including this one, that can run on the same processors as this one.
    fn sharing_processors(&self) -> usize;
    /// Sends a message without waiting for the receiver.
    fn send_bytes(&self, to: usize, bytes: Vec<u8>);
    /// A message that has arrived, with the number of its sender; `None` if there is no message.
    fn receive_bytes(&self) -> Option<(usize, Vec<u8>)>;
    /// Frees the memory of the messages of this rank that have been delivered.
    fn forget_delivered(&self);
    /// Ends all ranks with this exit code.
    fn abort(&self, code: i32) -> !;
}
