//! The command line as users meet it: one binary, a file of tests for each concern.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod annotate;
mod audit;
mod bad_input;
mod commands;
mod crossfit;
mod evaluate;
mod files;
mod help;
mod manners;
mod mix_ups;
mod optimize;
mod predict;
mod propensity;
mod reproduce;
mod rows;
mod security;
mod train;
mod trees;
mod tutorials;
mod workdir;
