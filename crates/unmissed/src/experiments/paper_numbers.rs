//! Numbers from the paper, to compare with ours.

/// A line of Table 1: data set, rows, min IR as printed, ILIR, obesity index (%), Pos-80 % (%).
pub(super) struct Imbalance {
    pub(super) name: &'static str,
    pub(super) rows: f64,
    pub(super) min_ir: f64,
    pub(super) ilir: f64,
    pub(super) obesity: f64,
    pub(super) pos80: f64,
}

const fn imbalance(name: &'static str, rows: f64, min_ir: f64, ilir: f64, obesity: f64, pos80: f64) -> Imbalance {
    Imbalance { name, rows, min_ir, ilir, obesity, pos80 }
}

/// Table 1, and the obesity index from the same data file.
pub(super) static IMBALANCE: &[Imbalance] = &[
    imbalance("Eurlex-4K", 15_539.0, 15.0, 1_006.0, 85.0, 19.9),
    imbalance("AmazonCat-13K", 1_186_239.0, 3.3, 355_211.0, 90.0, 4.8),
    imbalance("Wiki10-31K", 14_146.0, 1.2, 11_411.0, 72.0, 19.6),
    imbalance("Delicious-200K", 196_606.0, 3.0, 64_548.0, 85.0, 4.0),
    imbalance("WikiLSHTC-325K", 1_778_351.0, 6.1, 293_936.0, 84.0, 20.7),
    imbalance("Wikipedia-500K", 1_813_391.0, 6.5, 279_506.0, 80.0, 25.1),
    imbalance("Amazon-670K", 490_449.0, 268.0, 1_826.0, 66.0, 54.3),
    imbalance("Amazon-3M", 1_717_899.0, 143.0, 12_014.0, 83.0, 26.1),
];

/// A line of the table of generated data sets: training rows, test rows, labels, observed and true labels per row.
pub(super) struct Made {
    pub(super) name: &'static str,
    pub(super) noise: &'static str,
    pub(super) train: f64,
    pub(super) test: f64,
    pub(super) labels: f64,
    pub(super) observed: f64,
    pub(super) truth: f64,
}

const fn made(name: &'static str, noise: &'static str, sizes: [f64; 3], observed: f64, truth: f64) -> Made {
    Made { name, noise, train: sizes[0], test: sizes[1], labels: sizes[2], observed, truth }
}

/// The table of generated data sets in the appendix.
pub(super) static MADE: &[Made] = &[
    made("hyper-balls", "jpv", [63_000.0, 30_000.0, 100.0], 3.72, 4.27),
    made("hyper-balls", "power", [63_000.0, 30_000.0, 100.0], 2.44, 4.27),
    made("Eurlex-4K", "jpv", [12_188.0, 5_805.0, 976.0], 1.55, 4.46),
    made("Eurlex-4K", "power", [12_188.0, 5_805.0, 976.0], 0.81, 4.46),
    made("AmazonCat-13K", "jpv", [627_786.0, 298_946.0, 1_531.0], 3.65, 4.43),
    made("AmazonCat-13K", "power", [627_786.0, 298_946.0, 1_331.0], 0.69, 4.43),
    made("Wiki10-31K", "jpv", [13_079.0, 6_229.0, 2_951.0], 6.22, 13.38),
    made("Wiki10-31K", "power", [13_079.0, 6_229.0, 2_951.0], 1.46, 13.38),
    made("Yahoo R3", "survey", [11_946.0, 2_436.0, 1_000.0], 3.97, 87.94),
];

/// Data set, noise and method (0 JPV, 1 power), P@1, 3 and 5, PSP@1 by JPV and by power.
type Mismatch = (&'static str, usize, usize, [f64; 5]);

/// The table 'Mismatch of propensity models'.
static MISMATCH: &[Mismatch] = &[
    ("hyper-balls", 0, 0, [78.49, 69.74, 58.86, 78.66, 102.02]),
    ("hyper-balls", 0, 1, [70.22, 64.89, 56.66, 70.34, 133.60]),
    ("hyper-balls", 1, 0, [75.71, 67.8, 56.69, 77.59, 75.71]),
    ("hyper-balls", 1, 1, [77.79, 69.14, 58.04, 72.02, 77.20]),
    ("Eurlex-4K", 0, 0, [64.75, 50.64, 40.57, 64.94, 74.75]),
    ("Eurlex-4K", 0, 1, [66.51, 51.91, 41.50, 66.84, 80.63]),
    ("Eurlex-4K", 1, 0, [54.23, 41.72, 32.99, 44.33, 52.19]),
    ("Eurlex-4K", 1, 1, [55.07, 42.07, 33.04, 42.35, 53.08]),
    ("AmazonCat-13K", 0, 0, [86.32, 64.58, 48.53, 86.60, 182.71]),
    ("AmazonCat-13K", 0, 1, [78.87, 67.78, 53.31, 79.38, 389.35]),
    ("AmazonCat-13K", 1, 0, [67.32, 40.86, 29.78, 44.94, 64.03]),
    ("AmazonCat-13K", 1, 1, [82.80, 55.72, 40.33, 44.31, 82.22]),
    ("Wiki10-31K", 0, 0, [82.57, 68.72, 59.18, 82.97, 120.76]),
    ("Wiki10-31K", 0, 1, [78.85, 65.53, 57.19, 80.01, 228.02]),
    ("Wiki10-31K", 1, 0, [80.44, 54.8, 47.06, 87.34, 80.43]),
    ("Wiki10-31K", 1, 1, [79.18, 59.89, 49.05, 71.98, 78.61]),
];

/// The paper's line for a data set.
pub(super) fn mismatch(name: &str, artificial: bool, noise: usize, method: usize) -> Option<[f64; 5]> {
    let known = if artificial { "hyper-balls" } else { known_as(name)? };
    MISMATCH.iter().find(|line| (line.0, line.1, line.2) == (known, noise, method)).map(|line| line.3)
}

/// First words that other data sets have as their whole name: Mulan's delicious has 983 labels.
const OTHERS: &[&str] = &["delicious"];

/// The paper's name of a data set that the user calls something like it.
pub(super) fn known_as(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let asked = plain(name);
    let stem = |known: &str| known.split('-').next().map(plain).unwrap_or_default();
    let same = |known: &&str| {
        let full = plain(known);
        // 'Amazon' alone may be one of three: only the full name tells.
        let clear = IMBALANCE.iter().filter(|line| stem(line.name) == asked).count() == 1 && !OTHERS.contains(&asked.as_str());
        asked == full || (asked == stem(known) && clear)
    };
    IMBALANCE.iter().map(|line| line.name).find(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_when_they_are_clear() {
        assert_eq!(known_as("eurlex"), Some("Eurlex-4K"));
        assert_eq!(known_as("AmazonCat-13K"), Some("AmazonCat-13K"));
        assert_eq!(known_as("wiki10_31k"), Some("Wiki10-31K"));
        assert_eq!(known_as("amazon"), None);
        assert_eq!((known_as("delicious"), known_as("delicious-200k")), (None, Some("Delicious-200K")));
        assert_eq!(known_as("bibtex"), None);
    }
}
