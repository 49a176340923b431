//! The library as its users meet it: one binary, a file of tests for each concern.

#![allow(clippy::duplicate_mod, reason = "an example that is compiled here finds its data as the tests do")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod archives;
mod audit_baselines;
mod audit_data;
mod audit_result;
mod block_store;
mod choice;
mod common;
mod dual;
mod evaluation_choices;
mod evaluation_conformance;
mod evaluation_conventions;
mod evaluation_golden;
mod evaluation_jackknife;
mod evaluation_paper;
mod evaluation_parts;
mod evaluation_statistics;
mod evaluation_streams;
mod evaluation_tally_files;
mod evaluation_uncertainty;
mod experiments;
mod formats;
mod hostile_archives;
mod ignored_pairs;
mod interval_limits;
mod judged;
mod judged_simulation;
mod layers;
mod losses;
mod matched_rows;
mod misalignment;
mod model_files;
mod mutated_files;
mod optimization;
mod optimization_claims;
mod prediction;
mod propensity_curves;
mod propensity_data;
mod propensity_estimators;
mod propensity_fits;
mod propensity_shrunken;
mod recalibration_guard;
mod recall_pooled;
mod round_trips;
mod row_propensities;
mod row_propensities_coat;
mod row_propensities_hpo;
mod sensitivity;
mod stats_real_data;
mod survey_coat;
mod training;
mod training_study;
mod tree_files;
mod tree_recalibration;
mod tree_runs;
mod trees;
mod tuning;
mod weighting;

/// A file that is not declared above would not be compiled, and nobody would miss its tests.
#[test]
fn every_file_is_part_of_the_suite() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    for entry in std::fs::read_dir(here).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "main" || include_str!("main.rs").contains(&format!("\nmod {name};")), "{}", path.display());
    }
}
