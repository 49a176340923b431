//! The command line of unmissed.
fn main() {}
