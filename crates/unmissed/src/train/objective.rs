//! The mean loss of a block's labels as a function of the logits of all rows: what Newton's method descends, without the penalty.

use super::floor::Floor;
use super::lines::{Line, Lines};
use super::problem::{Part, Problem};
use crate::losses::Point;

/// See the module's page.
pub(super) struct Objective<'a, const W: usize> {
    problem: &'a Problem<'a>,
    pub(super) part: Part<'a, W>,
    /// Propensities of unobserved pairs, where they depend on the row.
    by_pair: Option<Lines<W>>,
}

/// The loss of all rows at some logits.
pub(super) struct Terms<const W: usize> {
    pub(super) logits: Lines<W>,
    pub(super) gradients: Lines<W>,
    pub(super) curvatures: Lines<W>,
    /// The mean loss of each label.
    pub(super) values: [f64; W],
    /// How far the part of irrelevant pairs counts, for losses that keep it from falling below 0.
    pub(super) floor: Option<Floor<W>>,
}

impl<const W: usize> Terms<W> {
    pub(super) fn zeros(rows: usize) -> Terms<W> {
        let lines = || Lines::zeros(rows);
        Terms { logits: lines(), gradients: lines(), curvatures: lines(), values: [0.0; W], floor: None }
    }
}

impl<'a, const W: usize> Objective<'a, W> {
    /// That of the labels from `first` on.
    pub(super) fn new(problem: &'a Problem<'a>, first: u32) -> Objective<'a, W> {
        let part = problem.part::<W>(first);
        let by_pair = problem.pairs.as_ref().map(|pairs| pairs.lines(&part));
        Objective { problem, part, by_pair }
    }

    /// What a row counts for, by column.
    fn shares(&self) -> Line<W> {
        self.part.weights.map(|weight| weight / self.problem.batches.rows().max(1) as f32)
    }

    /// Gradients, curvatures and values at the logits.
    pub(super) fn refresh(&self, terms: &mut Terms<W>) {
        terms.values = [0.0; W];
        let p = self.by_pair.as_ref().map_or(&self.part.propensities[..], |lines| lines.get().as_flattened());
        self.problem.loss.terms(
            terms.logits.get().as_flattened(),
            p,
            terms.gradients.get_mut().as_flattened_mut(),
            terms.curvatures.get_mut().as_flattened_mut(),
            &mut terms.values,
        );
        if self.problem.loss.irrelevant(0.0, false, 1.0).is_some() {
            return self.refresh_above_floor(terms);
        }
        let Terms { logits, gradients, curvatures, values, .. } = terms;
        self.positives(logits, |place, column, logit, [observed, unobserved]| {
            let point = self.problem.loss.at(logit, true, observed);
            values[column] += point.value - self.problem.loss.at(logit, false, unobserved).value;
            gradients.get_mut()[place][column] = point.gradient as f32;
            curvatures.get_mut()[place][column] = point.curvature as f32;
        });
        let shares = self.shares();
        scale(gradients, shares);
        scale(curvatures, shares);
        (0..W).for_each(|column| values[column] *= f64::from(shares[column]));
    }

    /// The same for losses whose part of irrelevant pairs is kept from falling below 0.
    fn refresh_above_floor(&self, terms: &mut Terms<W>) {
        let loss = self.problem.loss;
        let Terms { logits, gradients, curvatures, values: irrelevant, .. } = &mut *terms;
        let mut relevant = [0.0; W];
        let part_of =
            |logit: f64, p: f64| loss.irrelevant(logit, true, p).unwrap_or(Point { value: 0.0, gradient: 0.0, curvature: 0.0 });
        self.positives(logits, |_, column, logit, [observed, unobserved]| {
            let part = part_of(logit, observed);
            relevant[column] += loss.at(logit, true, observed).value - part.value;
            irrelevant[column] += part.value - loss.at(logit, false, unobserved).value;
        });
        let rows = self.problem.batches.rows().max(1) as f64;
        let floor = Floor::new(irrelevant.map(|sum| sum / rows), &self.part);
        let shares = self.shares();
        let kept: Line<W> = std::array::from_fn(|column| shares[column] * floor.kept[column] as f32);
        scale(gradients, kept);
        scale(curvatures, kept);
        self.positives(logits, |place, column, logit, [observed, _]| {
            let (whole, part) = (loss.at(logit, true, observed), part_of(logit, observed));
            let point = whole.plus(part.times(floor.kept[column] - 1.0)).times(shares[column].into());
            gradients.get_mut()[place][column] = point.gradient as f32;
            curvatures.get_mut()[place][column] = point.curvature as f32;
        });
        let values = |column: usize| f64::from(self.part.weights[column]) * (relevant[column] / rows + floor.values[column]);
        terms.values = std::array::from_fn(values);
        terms.floor = Some(floor);
    }

    /// The gradients of the part of irrelevant pairs, as far as it counts.
    pub(super) fn irrelevant_gradients(&self, terms: &Terms<W>, floor: &Floor<W>, out: &mut Lines<W>) {
        out.get_mut().copy_from_slice(terms.gradients.get());
        let shares = self.shares();
        self.positives(&terms.logits, |place, column, logit, [observed, _]| {
            let part = self.problem.loss.irrelevant(logit, true, observed).map_or(0.0, |part| part.gradient);
            out.get_mut()[place][column] = (part * floor.kept[column]) as f32 * shares[column];
        });
    }

    /// Shows each observed pair: the place of its row, its column, its logit, and its propensity, as it is and as the sweep over
    /// unobserved pairs took it.
    fn positives(&self, logits: &Lines<W>, mut show: impl FnMut(usize, usize, f64, [f64; 2])) {
        let exact = self.part.exact_propensities();
        let mut start = 0;
        for batch in self.problem.batches.iter() {
            for (place, column) in self.part.positives(batch) {
                let place = start + place;
                let p = match (&self.by_pair, &self.problem.pairs) {
                    (Some(lines), Some(pairs)) => {
                        [pairs.observed(place, self.part.first, column), lines.get()[place][column].into()]
                    }
                    _ => [exact[column]; 2],
                };
                show(place, column, logits.get()[place][column].into(), p);
            }
            start += batch.rows();
        }
    }
}

fn scale<const W: usize>(lines: &mut Lines<W>, factors: Line<W>) {
    for line in lines.get_mut() {
        (0..W).for_each(|column| line[column] *= factors[column]);
    }
}
