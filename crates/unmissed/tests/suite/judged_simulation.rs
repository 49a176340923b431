//! What `docs/guide/judging-pairs.md` says about judged pairs, in reduced form; `--example judged_study` is the whole of it.

#[path = "../../examples/judged_study/simulation.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod simulation;

use simulation::{How, Summary, World, simulate};
use unmissed::request::JudgedMethod;

const SIZES: [(&str, &str); 4] = [("users", "600"), ("test-users", "150"), ("items", "60"), ("controlled-users", "10")];
const DESIGNS: u64 = 150;

fn check(cells: &[Summary], what: &str) {
    assert_eq!(cells.len(), 18, "three models and three pairs of them, at three k");
    for cell in cells {
        // 18 numbers, and 150 designs instead of 2 000: wider limits than those of the study.
        assert!(cell.bias.abs() < 4.0 * cell.bias_se + 1e-9, "{what}: {cell:?}");
        assert!(cell.coverage >= 0.88, "{what}: {cell:?}");
    }
}

#[test]
fn estimates_are_unbiased_and_intervals_cover() {
    let world = World::survey(&SIZES, 3).unwrap();
    let calibrated = simulate(&world, 120, DESIGNS, How::default()).unwrap();
    check(&calibrated, "calibrated");
    let plain = simulate(&world, 120, DESIGNS, How { method: JudgedMethod::HorvitzThompson, ..How::default() }).unwrap();
    check(&plain, "Horvitz-Thompson");
    check(&simulate(&world, 120, DESIGNS, How { two_rounds: true, ..How::default() }).unwrap(), "two rounds");
    for (calibrated, plain) in calibrated.iter().zip(&plain) {
        assert!(calibrated.sd < 1.2 * plain.sd || plain.sd < 1e-9, "{calibrated:?} {plain:?}");
    }
}

#[test]
fn machines_help_as_much_as_they_know() {
    let world = World::survey(&SIZES, 5).unwrap();
    let with = |machine| simulate(&world, 120, DESIGNS, How { machine, ..How::default() }).unwrap();
    let (alone, useless, good) = (with(None), with(Some(0.5)), with(Some(0.95)));
    check(&good, "a good machine");
    for ((alone, useless), good) in alone.iter().zip(&useless).zip(&good) {
        assert!(useless.sd < 1.2 * alone.sd && useless.half_width < 1.06 * alone.half_width, "{useless:?} {alone:?}");
        assert!(good.half_width < 0.95 * alone.half_width, "{good:?} {alone:?}");
    }
}
