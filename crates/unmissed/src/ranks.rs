//! Rank correlation: do two lists of numbers have the same order?

/// The rank correlation; equal values share the mean of their ranks. `None` when one side is constant.
pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let scale = (dot(&a, &a) * dot(&b, &b)).sqrt();
    (scale > 0.0).then(|| dot(&a, &b) / scale)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for ties in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = start as f64 + (ties.len() as f64 - 1.0) / 2.0;
        ties.iter().for_each(|place| ranks[*place] = rank);
        start += ties.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spearman's coefficient of (1, 2, 2, 4) and (1, 3, 2, 4), ranks 0, 1.5, 1.5, 3 and 0, 2, 1, 3: 4.5 / sqrt(4.5 * 5).
    #[test]
    fn ties_share_their_ranks() {
        let found = rank_correlation(&[1.0, 2.0, 2.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((found - 4.5 / (4.5f64 * 5.0).sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(rank_correlation(&[1.0, 2.0], &[2.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[2.0, 1.0]), None);
    }
}
