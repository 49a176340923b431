//! Names of metrics in other libraries and papers, and what to ask for here.

/// What to ask for instead of a name that is not ours; `None` for a name that nobody uses.
pub(super) fn advice(name: &str) -> Option<String> {
    let name = name.to_lowercase().replace(['_', ' '], "-");
    if let Some((base, k)) = name.split_once('@') {
        let k = if k.is_empty() || k == "k" { "5" } else { k };
        let ask = match ours(base) {
            Some(metric) => format!("ask for '{metric}' and k = {k} (--metrics {metric} --k {k}; in Python k={k})"),
            None => advice(base)?,
        };
        return Some(ask);
    }
    let base = name.trim_end_matches("-at-k").trim_end_matches("-score");
    let scored = |metric: &str| {
        format!(
            "propensity-scored {metric} is '{metric}' with propensities (--metrics {metric} --propensity jpv): its 'normalized' values are what \
             papers report, its 'unbiased' ones estimate the {metric} on complete labels; --compat pyxclib has pyxclib's numbers"
        )
    };
    Some(match base {
        "psp" | "psprecision" | "ps-precision" | "psprec" | "propensity-scored-precision" => scored("precision"),
        "psn" | "psndcg" | "psdcg" | "ps-ndcg" | "propensity-scored-ndcg" => scored("ndcg"),
        "psr" | "psrecall" | "ps-recall" | "propensity-scored-recall" => scored("recall"),
        "psf" | "psf1" | "ps-f1" => scored("macro-f"),
        "f1" | "f" | "fmeasure" | "f-measure" | "fbeta" | "macro-f1" | "macrof1" | "f1-macro" => {
            "ask for 'macro-f', the mean of F1 over labels ('macro-f:beta=2' for another beta)".into()
        }
        "micro-f1" | "micro-f" | "f1-micro" | "sample-f1" | "f1-samples" => {
            "there is no micro or sample F; ask for 'macro-f', or 'precision' and 'recall'".into()
        }
        "map" | "ap" | "average-precision" | "mean-average-precision" | "mrr" | "lrap" => {
            "it is not a sum over labels, so it cannot be corrected label by label; ask for 'ndcg', which also weights ranks".into()
        }
        "auc" | "roc-auc" | "auroc" | "pr-auc" | "auprc" => {
            "it needs the scores of all labels; ask for 'precision', 'ndcg' or 'recall' at some k".into()
        }
        "hit" | "hits" | "hit-rate" | "hitrate" | "success" | "success-rate" | "one-error" => {
            "ask for 'abandonment', the share of rows without a hit in the top k, which is one minus the hit rate".into()
        }
        "accuracy" | "acc" | "hamming" | "hamming-loss" | "jaccard" | "subset-accuracy" | "exact-match" => {
            "with many labels it says almost nothing about rankings; ask for 'precision' or 'recall' at some k".into()
        }
        "macro-precision" | "macro-recall" | "balanced-accuracy" => "ask for 'macro-f' or 'coverage', the means over labels".into(),
        base => format!("ask for '{}'", ours(base)?),
    })
}

/// Our name of a metric that others abbreviate.
fn ours(base: &str) -> Option<&'static str> {
    Some(match base {
        "p" | "prec" | "precision" => "precision",
        "r" | "rec" | "recall" => "recall",
        "n" | "ndcg" | "dcg" => "ndcg",
        "wp" | "weighted-precision" => "weighted-precision",
        "cov" | "coverage" => "coverage",
        "macro-f" => "macro-f",
        "abandonment" => "abandonment",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::metrics::{METRICS, find};

    #[test]
    fn well_known_names_say_what_to_ask_for() {
        let message = |name: &str| find(name).err().unwrap().to_string();
        for (name, part) in [
            ("p@5", "unknown metric 'p@5'; ask for 'precision' and k = 5 (--metrics precision --k 5; in Python k=5)"),
            ("P@1", "ask for 'precision' and k = 1"),
            ("nDCG@3", "ask for 'ndcg' and k = 3"),
            ("psp", "unknown metric 'psp'; propensity-scored precision is 'precision' with propensities"),
            ("PSP@3", "propensity-scored precision"),
            ("psndcg", "propensity-scored ndcg"),
            ("f1", "unknown metric 'f1'; ask for 'macro-f'"),
            ("F1_score", "ask for 'macro-f'"),
            ("map", "unknown metric 'map'; it is not a sum over labels"),
            ("MRR", "ask for 'ndcg'"),
            ("hit_rate", "ask for 'abandonment'"),
            ("prec", "ask for 'precision'"),
            ("precision_at_k", "ask for 'precision'"),
            ("roc_auc", "needs the scores of all labels"),
            ("nonsense", "expected one of precision, ndcg"),
            ("precison", "did you mean 'precision'?"),
        ] {
            assert!(message(name).contains(part), "{}", message(name));
        }
    }

    #[test]
    fn what_is_asked_for_exists() {
        for name in ["p", "r", "n", "wp", "cov", "macro-f", "abandonment"] {
            let ours = super::ours(name).unwrap();
            assert!(METRICS.iter().any(|metric| metric.name() == ours), "{ours}");
        }
    }
}
