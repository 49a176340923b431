//! All scores as csv, for the link on the page.

use crate::audit::AuditResult;
use crate::data::{csv_cell, spreadsheet_safe};

/// One line for each number, with the digits that six places of a share need.
pub(super) fn scores(result: &AuditResult) -> Vec<u8> {
    let mut text = String::from("metric,k,estimator,propensity,group,model,value,se,low,high,n\n");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{}", (value * 1e8).round() / 1e8));
    let complete = result.truth.iter().flat_map(|truth| &truth.rows).map(|row| (row, "complete labels"));
    for (row, estimator) in result.evaluation.rows.iter().map(|row| (row, row.estimator.name())).chain(complete) {
        let words = [&*row.metric, &row.k.to_string(), estimator, row.propensity.as_deref().unwrap_or(""), &row.group, &row.model]
            .map(|word| csv_cell(&spreadsheet_safe(word)).into_owned());
        let numbers = [row.value, row.se, row.low, row.high].map(number);
        text += &format!("{},{},{}\n", words.join(","), numbers.join(","), row.n);
    }
    text.into_bytes()
}
