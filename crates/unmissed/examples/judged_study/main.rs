//! What judged pairs bring when the truth is known: the tables of `docs/guide/judging-pairs.md`.
//!
//! `cargo run --release -p unmissed --example judged_study -- [DESIGNS]`, 2 000 designs unless given. A generated survey with 1 000 test
//! users, three models, k = 1, 3, 5; each design draws its own pairs, judges know the complete labels, and intervals are about the
//! complete labels of these rows (`--interval mask`). With `-- DESIGNS hpo` it is about two releases of the Human Phenotype Ontology, of
//! which the later one judges; data are looked for in `UNMISSED_DATA`, or in `../shared/data` beside the checkout.

#![allow(clippy::print_stdout)]

mod hpo;
#[path = "../timelapse_study/rankers.rs"]
#[allow(dead_code, reason = "the other example uses all of it")]
mod rankers;
#[path = "../../tests/suite/common/real_data.rs"]
#[allow(dead_code, unreachable_pub)]
mod real_data;
#[allow(unreachable_pub, reason = "the tests compile it too")]
mod simulation;

use simulation::{How, Summary, World, simulate};
use unmissed::request::JudgedMethod;
use unmissed::{Error, Result};

const SIZES: [(&str, &str); 4] = [("users", "5000"), ("test-users", "1000"), ("items", "300"), ("controlled-users", "10")];

/// A standard deviation below this is rounding.
const EXACT: f64 = 1e-9;

fn main() -> Result<()> {
    let designs = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|_| Error::value("cannot read the number of designs").found(format!("'{text}'")))?,
        None => 2_000,
    };
    if std::env::args().nth(2).as_deref() == Some("hpo") {
        return hpo::run(designs);
    }
    let world = World::survey(&SIZES, 7)?;
    let truth = world.truth()?;
    println!("precision of the three models at 1, 3 and 5 on complete labels: {}\n", percent(&truth[..9]));
    println!(
        "| budget | k | what | worst bias / its SE | coverage, % | half width, points | variance / plain | two rounds: bias / SE, coverage |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for budget in [100, 500, 2000] {
        let calibrated = simulate(&world, budget, designs, How::default())?;
        let plain = simulate(&world, budget, designs, How { method: JudgedMethod::HorvitzThompson, ..How::default() })?;
        let rounds = simulate(&world, budget, designs, How { two_rounds: true, ..How::default() })?;
        println!("{}", plain_line(budget, &plain));
        for k in [1, 3, 5] {
            for is_difference in [false, true] {
                let here = |all: &[Summary]| -> Vec<Summary> {
                    all.iter().filter(|cell| cell.k == k && cell.is_difference == is_difference).cloned().collect()
                };
                let (of, plain, rounds) = (here(&calibrated), here(&plain), here(&rounds));
                let ratio = of
                    .iter()
                    .zip(&plain)
                    .filter(|(_, plain)| plain.sd > EXACT)
                    .map(|(a, b)| (a.sd / b.sd).powi(2))
                    .fold(0.0, f64::max);
                println!(
                    "| {budget} | {k} | {} | {:.1} | {} | {:.2} | {ratio:.2} | {:.1}, {} |",
                    if is_difference { "differences" } else { "values" },
                    worst(&of),
                    range(&of),
                    100.0 * of.iter().map(|cell| cell.half_width).sum::<f64>() / of.len() as f64,
                    worst(&rounds),
                    range(&rounds),
                );
            }
        }
    }
    machines(&world, designs)
}

/// Human judgements of 500 pairs, and a machine's of all.
fn machines(world: &World, designs: u64) -> Result<()> {
    let alone = simulate(world, 500, designs, How::default())?;
    println!("\n| machine's accuracy | worst bias / its SE | coverage, % | half width / without | standard deviation / without |");
    println!("|---|---|---|---|---|");
    for accuracy in [0.5, 0.6, 0.8, 0.95] {
        let with = simulate(world, 500, designs, How { machine: Some(accuracy), ..How::default() })?;
        let ratios = |of: fn(&Summary) -> f64| {
            let ratios: Vec<f64> = with.iter().zip(&alone).map(|(a, b)| of(a) / of(b)).collect();
            let (low, high) = ratios.iter().fold((f64::INFINITY, 0f64), |(low, high), r| (low.min(*r), high.max(*r)));
            format!("{low:.2} to {high:.2}")
        };
        println!(
            "| {accuracy} | {:.1} | {} | {} | {} |",
            worst(&with),
            range(&with),
            ratios(|cell| cell.half_width),
            ratios(|cell| cell.sd)
        );
    }
    Ok(())
}

fn plain_line(budget: u64, plain: &[Summary]) -> String {
    format!("| {budget} | all | plain | {:.1} | {} | | | |", worst(plain), range(plain))
}

fn worst(cells: &[Summary]) -> f64 {
    // Without guesses, what is observed is all there is where a list has no relevant label that is missing.
    cells.iter().filter(|cell| cell.sd > EXACT).map(|cell| (cell.bias / cell.bias_se).abs()).fold(0.0, f64::max)
}

fn range(cells: &[Summary]) -> String {
    let (low, high) = cells.iter().fold((1f64, 0f64), |(low, high), cell| (low.min(cell.coverage), high.max(cell.coverage)));
    format!("{:.1} to {:.1}", 100.0 * low, 100.0 * high)
}

fn percent(values: &[f64]) -> String {
    values.iter().map(|value| format!("{:.1}", 100.0 * value)).collect::<Vec<_>>().join(", ")
}
