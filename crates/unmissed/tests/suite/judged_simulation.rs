//! What `docs/guide/judging-pairs.md` says about judged pairs, in reduced form; `--example judged_study` is the whole of it.

#[path = "../../examples/judged_study/simulation.rs"]
mod simulation;

use simulation::{How, Summary, World, simulate};
use unmissed::request::JudgedMethod;

const SIZES: [(&str, &str); 4] = [("users", "1500"), ("test-users", "400"), ("items", "120"), ("controlled-users", "10")];
const DESIGNS: u64 = 300;

fn check(cells: &[Summary], what: &str) {
    assert_eq!(cells.len(), 18, "three models and three pairs of them, at three k");
    for cell in cells {
        // 18 numbers, and 300 designs instead of 2 000: wider limits than those of the study.
        assert!(cell.bias.abs() < 4.0 * cell.bias_se, "{what}: {cell:?}");
        assert!((0.91..=0.985).contains(&cell.coverage), "{what}: {cell:?}");
    }
}

#[test]
fn estimates_are_unbiased_and_intervals_cover() {
    let world = World::survey(&SIZES, 3).unwrap();
    let calibrated = simulate(&world, 200, DESIGNS, How::default()).unwrap();
    check(&calibrated, "calibrated");
    let plain = simulate(&world, 200, DESIGNS, How { method: JudgedMethod::HorvitzThompson, ..How::default() }).unwrap();
    check(&plain, "Horvitz-Thompson");
    check(&simulate(&world, 200, DESIGNS, How { two_rounds: true, ..How::default() }).unwrap(), "two rounds");
    for (calibrated, plain) in calibrated.iter().zip(&plain) {
        assert!(calibrated.sd < 1.1 * plain.sd, "{calibrated:?} {plain:?}");
    }
}

#[test]
fn machines_help_as_much_as_they_know() {
    let world = World::survey(&SIZES, 5).unwrap();
    let with = |machine| simulate(&world, 200, DESIGNS, How { machine, ..How::default() }).unwrap();
    let (alone, useless, good) = (with(None), with(Some(0.5)), with(Some(0.95)));
    check(&good, "a good machine");
    for ((alone, useless), good) in alone.iter().zip(&useless).zip(&good) {
        assert!(useless.sd < 1.1 * alone.sd && useless.half_width < 1.05 * alone.half_width, "{useless:?} {alone:?}");
        assert!(good.half_width < 0.75 * alone.half_width, "{good:?} {alone:?}");
    }
}
