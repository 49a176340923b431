//! `shrunken` is never worse than the better of `direct` and the fitted curve, and better where both have something to say.

#[path = "../../examples/shrunken_simulation.rs"]
#[allow(dead_code, unreachable_pub)]
mod simulation;

use simulation::{Errors, SEEDS, SIZES, mean, repetition};

#[test]
fn shrunken_takes_the_better_of_both() {
    for (place, rows) in SIZES.into_iter().enumerate() {
        let errors: Vec<Errors> = (0..SEEDS).map(|seed| repetition(seed, rows).unwrap()).collect();
        let of = |part: fn(&Errors) -> f64| mean(errors.iter().map(part)).0;
        for (name, other) in
            [("direct", (|e| e.direct) as fn(&Errors) -> f64), ("curve", |e| e.curve), ("likelihood", |e| e.likelihood)]
        {
            let (worse, error) = mean(errors.iter().map(|e| e.shrunken - other(e)));
            println!("{rows} rows: shrunken {:.4}, {name} {:.4}, t {:.1}", of(|e| e.shrunken), of(other), -worse / error);
            assert!(worse <= 0.02 * of(other) || worse <= 2.0 * error, "{rows} rows: worse than {name}");
            if place == 1 {
                assert!(-worse / error > 2.0, "{rows} rows: not better than {name}");
            }
        }
    }
}
