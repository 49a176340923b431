//! The survey protocol on the coat ratings: every user is in the random part, 16 of 300 items each.

use unmissed::data::Ratings;
use unmissed::data::formats::ReadOptions;
use unmissed::data::survey::{ShownRate, SurveyOptions, TrainUsers, survey};

#[test]
fn coat() {
    let Some(folder) = crate::common::data("coat") else { return };
    let matrix = ReadOptions { format: Some("matrix".parse().unwrap()), ..ReadOptions::default() };
    let read = |name: &str| Ratings::read(folder.join(name), &matrix).unwrap().ratings;
    let (chosen, random) = (read("train.ascii"), read("test.ascii"));
    assert_eq!((chosen.nnz(), random.nnz()), (6960, 4640));
    let options = |train| SurveyOptions { positive: 4.0, seed: 3, train };
    assert!(survey(&chosen, &random, &options(TrainUsers::Unique)).is_err());
    let made = survey(&chosen, &random, &options(TrainUsers::All)).unwrap();
    assert_eq!((made.train.rows(), made.controlled.rows()), (290, 290));
    let features = made.train.features().unwrap().to_sparse().unwrap().nnz();
    assert_eq!((features + made.train.labels().nnz(), made.controlled.labels().nnz()), (1905, 860));
    assert_eq!(made.rate, ShownRate { shown: 16.0, items: 300, uniform: true });
}
