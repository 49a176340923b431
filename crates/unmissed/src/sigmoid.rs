//! The logistic function, which turns logits into probabilities wherever there are any.

/// `1 / (1 + exp(-z))`.
pub(crate) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_both_ends() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert!((sigmoid(2.0) - 0.8807970779778823).abs() < 1e-15);
        assert_eq!((sigmoid(-1e30), sigmoid(1e30)), (0.0, 1.0));
    }
}
