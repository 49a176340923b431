"""What the docstrings of metric functions say beyond what the registry knows."""

from __future__ import annotations

from typing import NamedTuple


class Text(NamedTuple):
    """Definition and examples."""

    definition: str
    examples: str


TEXTS = {
    "precision": Text(
        """Precision at k: the share of the k best-ranked labels that are relevant, averaged over rows.

``mean_i 1/k sum_{r <= k} y_ij``, where j is the label at rank r of row i.""",
        """
        >>> import unmissed as um
        >>> y_true = [[0, 1], [2]]
        >>> y_pred = [[0, 2, 1], [0, 1, 2]]
        >>> um.precision(y_true, y_pred, k=1)
        0.5
        >>> um.precision(y_true, y_pred, k=[1, 2]).tolist()
        [0.5, 0.25]
        >>> um.precision(y_true, y_pred, k=1, estimator="unbiased", propensity=[0.5, 1.0, 0.25])
        1.0

        A row with fewer than k predictions has misses in the open places:

        >>> um.precision([[0]], [[0]], k=2)
        0.5
        """,
    ),
    "ndcg": Text(
        """Discounted gain at k, relative to a list of k relevant labels, averaged over rows.

``mean_i 1/I(k) sum_{r <= k} y_ij / log2(r + 1)`` with ``I(k) = sum_{r <= k} 1 / log2(r + 1)``. A row with fewer than k relevant
labels cannot reach 1; `ndcg_min` divides by what the row's labels allow.""",
        """
        >>> import unmissed as um
        >>> um.ndcg([[0], [2]], [[0, 1], [1, 2]], k=1)
        0.5
        >>> round(um.ndcg([[0, 1]], [[0, 1]], k=2), 6)
        1.0
        >>> round(um.ndcg([[0]], [[0, 1]], k=2), 4)
        0.6131
        """,
    ),
    "ndcg-min": Text(
        """nDCG at k as most libraries have it: relative to the best that the row's labels allow, averaged over rows.

``mean_i 1/I(min(k, n_i)) sum_{r <= k} y_ij / log2(r + 1)`` with n_i relevant labels in row i; rows without any count 0.""",
        """
        >>> import unmissed as um
        >>> um.ndcg_min([[0]], [[0, 1]], k=2)
        1.0
        >>> round(um.ndcg_min([[1], []], [[0, 1], [0]], k=2), 4)
        0.3155
        """,
    ),
    "recall": Text(
        """Recall at k: the share of the relevant labels that are among the k best-ranked, averaged over rows.

``mean_i 1/n_i sum_{r <= k} y_ij`` with n_i relevant labels in row i; rows without any count 0.""",
        """
        >>> import unmissed as um
        >>> um.recall([[0, 1], [2]], [[0, 2, 1], [2]], k=1)
        0.75

        Rows without a relevant label stay in the mean:

        >>> um.recall([[0], []], [[0], [1]], k=1)
        0.5
        """,
    ),
    "recall-known": Text(
        """Recall at k where the number of relevant labels of each row is known, averaged over rows.

``mean_i 1/n_i sum_{r <= k} y_ij`` with given n_i. As a sum over labels it is corrected by any label-wise propensity.""",
        """
        >>> import unmissed as um
        >>> um.recall_known([[0]], [[0, 1]], k=1, label_counts=[4])
        0.25
        >>> um.recall_known([[0]], [[0, 1]], k=1, estimator="unbiased", propensity=[0.5, 1.0], label_counts=[4])
        0.5
        """,
    ),
    "weighted-precision": Text(
        """Precision at k with a weight for each label, averaged over rows.

``mean_i 1/k sum_{r <= k} w_j y_ij``. Weights say what matters, propensities what is missing. Weights from training counts are scaled
so that the mean weight of a training positive is 1.""",
        """
        >>> import unmissed as um
        >>> um.weighted_precision([[0], [1]], [[0], [1]], k=1, weights=[1.0, 3.0])
        2.0
        >>> train = [[0], [0], [0], [1]]
        >>> round(um.weighted_precision([[0], [1]], [[0], [1]], k=1, train=train), 4)
        1.3333
        """,
    ),
    "macro-f": Text(
        """F-measure at k of each label, averaged over labels.

``1/m sum_j (1 + beta^2) TP_j / (P_j + beta^2 T_j)``, where label j is predicted in P_j rows, relevant in T_j, and both in TP_j; a
label that is neither predicted nor relevant counts 0.""",
        """
        >>> import unmissed as um
        >>> um.macro_f([[0], [1]], [[0], [0]], k=1)
        0.3333333333333333

        Recall counts more with a larger beta:

        >>> um.macro_f([[0], [1]], [[0], [0]], k=1, beta=2.0)
        0.4166666666666667
        """,
    ),
    "abandonment": Text(
        """Abandonment at k: the share of rows without a relevant label among the k best-ranked.

``mean_i prod_{r <= k} (1 - y_ij)``. Some libraries return one minus this value under the same name.""",
        """
        >>> import unmissed as um
        >>> um.abandonment([[0], [1], [1], []], [[0], [0], [1], [0]], k=1)
        0.5
        """,
    ),
    "coverage": Text(
        """Coverage at k: the share of all labels that are found for at least one row.

``1/m sum_j [label j is relevant and among the k best-ranked in some row]``.""",
        """
        >>> import unmissed as um
        >>> um.coverage([[0], [1], [0]], [[0], [0], [1]], k=1, n_labels=4)
        0.25
        """,
    ),
}
