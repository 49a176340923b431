"""Losses for PyTorch that correct for missing labels: those of the library's registry, on logits of all labels.

Targets are the observed labels of each row, not a dense matrix. If f(z) is the term of an unobserved pair at logit z, a loss is
``sum f(z)`` over all pairs, plus correction terms for the observed pairs. Half-precision logits are converted to single precision.

>>> import torch
>>> from unmissed.torch import UnbiasedLogistic
>>> loss = UnbiasedLogistic(propensity=[0.5, 0.25, 1.0])
>>> logits = torch.zeros(2, 3, requires_grad=True)
>>> round(loss(logits, [[0], [1, 2]]).item(), 4)
0.6931
>>> loss(logits, [[0], [1, 2]]).backward()
>>> logits.grad[0] * 6
tensor([-1.5000,  0.5000,  0.5000])

Importing this module imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ._propensity import Propensities

__all__ = [
    "BoundedLogistic",
    "BoundedSquaredHinge",
    "CorrectedLoss",
    "Logistic",
    "NonnegativeLogistic",
    "PluginLogistic",
    "SquaredHinge",
    "UnbiasedLogistic",
    "UnbiasedSquaredHinge",
    "corrected_loss",
    "positive_pairs",
]


def positive_pairs(positives: Any, rows: int, labels: int, device: Any = None) -> tuple[Tensor, Tensor]:
    """Rows and labels of observed pairs, as index tensors.

    Parameters
    ----------
    positives : (rows, labels) tensors, padded tensor of shape (n_rows, most), or a list with the labels of each row
        A pair of one-dimensional index tensors is used unchanged; in a padded tensor, entries below 0 are padding.
    rows, labels : int
        The shape of the logits.
    device : optional
        Where the index tensors go.
    """
    if isinstance(positives, tuple) and len(positives) == 2 and all(isinstance(one, Tensor) for one in positives):
        of_row, of_label = (one.to(device) for one in positives)
        if of_row.shape != of_label.shape or of_row.dim() != 1:
            raise ValueError(f"positives do not fit: expected two index tensors of one length, found {of_row.shape} and {of_label.shape}")
    elif isinstance(positives, Tensor):
        if positives.dim() != 2 or positives.shape[0] != rows or positives.is_floating_point():
            raise ValueError(
                f"positives do not fit: expected whole numbers of shape ({rows}, most), found {positives.dtype} {tuple(positives.shape)}"
            )
        of_row, place = (positives.to(device) >= 0).nonzero(as_tuple=True)
        of_label = positives.to(device)[of_row, place]
    else:
        lists = [np.asarray(one, np.int64).ravel() for one in positives]
        if len(lists) != rows:
            raise ValueError(f"positives have another number of rows than the logits: expected {rows}, found {len(lists)}")
        of_row = torch.from_numpy(np.repeat(np.arange(rows), [len(one) for one in lists])).to(device)
        of_label = torch.from_numpy(np.concatenate(lists) if lists else np.empty(0, np.int64)).to(device)
    return of_row.long(), of_label.long()


def _check_pairs(of_row: Tensor, of_label: Tensor, rows: int, labels: int) -> None:
    """Checks the pairs: one out of range would stop a GPU, and one that occurs twice would count twice."""
    if not of_row.numel():
        return
    for what, found, most in (("row", of_row, rows), ("label", of_label, labels)):
        wrong = (found < 0) | (found >= most)
        if bool(wrong.any()):
            place = int(wrong.nonzero()[0, 0])
            raise ValueError(f"positive pair {place}: the {what} is out of range: expected 0 to {most - 1}, found {int(found[place])}")
    codes = (of_row * labels + of_label).sort().values
    twice = (codes[1:] == codes[:-1]).nonzero()
    if twice.numel():
        code = int(codes[int(twice[0, 0])])
        raise ValueError(f"row {code // labels}: label {code % labels} occurs twice")


#: What observed pairs add beyond unobserved ones, and what unobserved ones add: functions of logits and propensities.
_Term = Callable[[Tensor, Tensor], Tensor]


def _softplus(z: Tensor, _: Tensor) -> Tensor:
    # beta=1 and no threshold: torch's default turns linear at 20, where double precision still sees the difference.
    return functional.softplus(z, threshold=80.0)


def _plugin(z: Tensor, p: Tensor) -> Tensor:
    """-ln(1 - p s(z)), without cancellation."""
    return -torch.logaddexp(functional.logsigmoid(-z), torch.log1p(-p) + functional.logsigmoid(z))


def _margin(z: Tensor, _: Tensor) -> Tensor:
    return functional.relu(1 + z).square()


_UNOBSERVED: dict[str, _Term] = {
    "logistic": _softplus,
    "unbiased-logistic": _softplus,
    "bounded-logistic": _softplus,
    "plugin-logistic": _plugin,
    "nonnegative-logistic": _softplus,
    "squared-hinge": _margin,
    "unbiased-squared-hinge": _margin,
    "bounded-squared-hinge": _margin,
}

_OBSERVED: dict[str, _Term] = {
    "logistic": lambda z, p: -z,
    "unbiased-logistic": lambda z, p: -z / p,
    "bounded-logistic": lambda z, p: (2 / p - 1) * _softplus(-z, p) - _softplus(z, p),
    "plugin-logistic": lambda z, p: _softplus(-z, p) - torch.log(p) - _plugin(z, p),
    "nonnegative-logistic": lambda z, p: -z / p,
    "squared-hinge": lambda z, p: _margin(-z, p) - _margin(z, p),
    "unbiased-squared-hinge": lambda z, p: (_margin(-z, p) - _margin(z, p)) / p,
    "bounded-squared-hinge": lambda z, p: (2 / p - 1) * _margin(-z, p) - _margin(z, p),
}

#: Losses that look at the propensities of unobserved pairs too.
_EVERYWHERE = ("plugin-logistic",)


def corrected_loss(
    logits: Tensor,
    positives: Any,
    *,
    loss: str = "unbiased-logistic",
    propensity: Tensor | Propensities | Sequence[float] | None = None,
    pair_propensity: Tensor | None = None,
    weights: Tensor | Sequence[float] | None = None,
    reduction: str = "mean",
    check: bool = True,
) -> Tensor:
    """A loss of the registry on logits, given the observed labels of each row.

    Parameters
    ----------
    logits : Tensor of shape (n_rows, n_labels)
        Half precision is converted to single precision.
    positives : (rows, labels) tensors, padded tensor, or list of lists
        Observed labels, as `positive_pairs` takes them.
    loss : str, default "unbiased-logistic"
        A name of the registry: ``um.OneVsRest`` takes the same.
    propensity : Tensor, Propensities or sequence, optional
        Of shape (n_labels,), or (n_rows, n_labels) for row-dependent propensities; 1 by default.
    pair_propensity : Tensor of shape (n_positives,), optional
        Row-dependent propensities of the observed pairs only; losses other than ``"plugin-logistic"`` need no others.
    weights : Tensor or sequence of shape (n_labels,), optional
        A factor for the loss of each label.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean over all pairs, their sum, or one sum for each row.
    check : bool, default True
        Whether to check positives and propensities, which makes a GPU wait.

    Returns
    -------
    Tensor
        In double precision where logits are, else in single.
    """
    if loss not in _UNOBSERVED:
        raise ValueError(f"unknown loss '{loss}': expected one of {', '.join(_UNOBSERVED)}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"unknown reduction '{reduction}': expected mean, sum or none")
    if logits.dim() != 2:
        raise ValueError(f"the logits have the wrong shape: expected (rows, labels), found {tuple(logits.shape)}")
    rows, labels = logits.shape
    z = logits if logits.dtype == torch.float64 else logits.float()
    of_row, of_label = positive_pairs(positives, rows, labels, logits.device)
    if check:
        _check_pairs(of_row, of_label, rows, labels)
    p = _propensities(propensity, z, check)
    if pair_propensity is not None and loss in _EVERYWHERE:
        raise ValueError(f"{loss} needs the propensities of all pairs: pass propensity= of shape ({rows}, {labels})")
    if pair_propensity is not None:
        at_pairs = _like(pair_propensity, z)
        if at_pairs.shape != of_row.shape:
            raise ValueError(f"pair_propensity does not fit: expected {of_row.numel()} numbers, found {tuple(at_pairs.shape)}")
        _check_range(at_pairs, check)
    else:
        at_pairs = p[of_row, of_label] if p.dim() == 2 else p[of_label]
    w = None if weights is None else _like(weights, z)
    if w is not None and w.shape != (labels,):
        raise ValueError(f"weights do not fit: expected {labels} numbers, found {tuple(w.shape)}")
    at = z[of_row, of_label]
    if loss == "nonnegative-logistic":
        return _nonnegative(z, at, at_pairs, of_label, w, reduction)
    everywhere, beyond = _UNOBSERVED[loss](z, p), _OBSERVED[loss](at, at_pairs)
    if w is not None:
        everywhere, beyond = everywhere * w, beyond * w[of_label]
    if reduction == "none":
        return everywhere.sum(1).index_add(0, of_row, beyond)
    total = everywhere.sum() + beyond.sum()
    return total / max(rows * labels, 1) if reduction == "mean" else total


def _nonnegative(z: Tensor, at: Tensor, p: Tensor, of_label: Tensor, w: Tensor | None, reduction: str) -> Tensor:
    """`sum over labels of w (A + max(0, B))`, with B the part of irrelevant pairs of a label on the batch.

    Where B is below 0, its gradient is 0. Training with Adam in the library goes back along B there, and Newton's method takes a smooth maximum.
    """
    if reduction == "none":
        raise ValueError("nonnegative-logistic is not a sum over rows: expected reduction mean or sum")
    everywhere = _softplus(z, p).sum(0)
    irrelevant = everywhere.index_add(0, of_label, -_softplus(at, p) / p)
    relevant = torch.zeros_like(everywhere).index_add(0, of_label, _softplus(-at, p) / p)
    total = relevant + irrelevant.clamp(min=0)
    total = (total if w is None else total * w).sum()
    return total / max(z.numel(), 1) if reduction == "mean" else total


def _propensities(given: Any, z: Tensor, check: bool) -> Tensor:
    if given is None:
        return torch.ones(z.shape[1], dtype=z.dtype, device=z.device)
    values = given.values if isinstance(given, Propensities) else given
    p = _like(values, z)
    if p.shape not in ((z.shape[1],), tuple(z.shape)):
        raise ValueError(f"propensities do not fit: expected shape ({z.shape[1]},) or {tuple(z.shape)}, found {tuple(p.shape)}")
    _check_range(p, check)
    return p


def _like(values: Any, z: Tensor) -> Tensor:
    # Some devices have no double precision, so it is given up before values go there.
    return torch.as_tensor(values).to(z.dtype).to(z.device)


def _check_range(p: Tensor, check: bool) -> None:
    if check and p.numel() and not bool(((p > 0) & (p <= 1)).all()):
        wrong = p[~((p > 0) & (p <= 1))][0].item()
        raise ValueError(f"a propensity is out of range: expected a number in (0, 1], found {wrong}")


class CorrectedLoss(nn.Module):
    """`corrected_loss` as a module: propensities and weights are buffers in single precision, which move with it.

    They stay in single precision when the module is converted. Logits in double precision get the values that were given.

    Parameters
    ----------
    loss : str, default "unbiased-logistic"
        A name of the registry.
    propensity : Propensities, Tensor or sequence of shape (n_labels,), optional
        Propensities per label; row-dependent ones are given to the call.
    weights : Tensor or sequence of shape (n_labels,), optional
        A factor for the loss of each label.
    reduction : {"mean", "sum", "none"}, default "mean"
        As in `corrected_loss`.
    check : bool, default True
        Whether to check positives and propensities.
    """

    propensity: Tensor | None
    weights: Tensor | None

    def __init__(
        self,
        loss: str = "unbiased-logistic",
        *,
        propensity: Propensities | Tensor | Iterable[float] | None = None,
        weights: Tensor | Sequence[float] | None = None,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if loss not in _UNOBSERVED:
            raise ValueError(f"unknown loss '{loss}': expected one of {', '.join(_UNOBSERVED)}")
        self.loss, self.reduction, self.check = loss, reduction, check
        values = propensity.values if isinstance(propensity, Propensities) else propensity
        given = {"propensity": values, "weights": weights}
        # No buffers: not every device has double precision.
        self._exact = {name: None if one is None else torch.as_tensor(one, dtype=torch.float64).cpu() for name, one in given.items()}
        for name, exact in self._exact.items():
            self.register_buffer(name, None if exact is None else exact.float())
        if self._exact["propensity"] is not None:
            _check_range(self._exact["propensity"], True)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CorrectedLoss:
        kept = {name: buffer for name, buffer in self._buffers.items() if buffer is not None and not buffer.is_meta}
        super()._apply(fn, recurse)
        for name, buffer in kept.items():
            # To the device, but not to half precision, which would round propensities.
            self._buffers[name] = buffer.to(self._buffers[name].device)  # type: ignore[union-attr]
        return self

    def _values(self, name: str, logits: Tensor) -> Tensor | None:
        buffer, exact = self._buffers[name], self._exact[name]
        # A state that was loaded has other values than those that were given.
        if logits.dtype == torch.float64 and buffer is not None and exact is not None and torch.equal(exact.float(), buffer.cpu()):
            return exact
        return buffer

    def forward(
        self, logits: Tensor, positives: Any, *, propensity: Tensor | None = None, pair_propensity: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; `propensity` and `pair_propensity` are as in `corrected_loss`, for this batch."""
        return corrected_loss(
            logits,
            positives,
            loss=self.loss,
            propensity=self._values("propensity", logits) if propensity is None else propensity,
            pair_propensity=pair_propensity,
            weights=self._values("weights", logits),
            reduction=self.reduction,
            check=self.check,
        )

    def extra_repr(self) -> str:
        return f"{self.loss}, reduction={self.reduction}"


def _module(name: str, summary: str) -> type[CorrectedLoss]:
    def __init__(self: CorrectedLoss, **settings: Any) -> None:
        CorrectedLoss.__init__(self, name, **settings)

    title = "".join(part.capitalize() for part in name.split("-"))
    body = {"__init__": __init__, "__doc__": f"{summary} Parameters are those of `CorrectedLoss`.", "__module__": __name__}
    return type(title, (CorrectedLoss,), body)


Logistic = _module("logistic", "The log loss, as if nothing were missing.")
UnbiasedLogistic = _module("unbiased-logistic", "The log loss on the true labels, unbiased under missing ones; it has no lower bound.")
BoundedLogistic = _module("bounded-logistic", "The log loss with observed labels weighted by 2/p - 1: bounded, but biased.")
PluginLogistic = _module("plugin-logistic", "The likelihood of the observed labels, p times the probability of relevance; not convex.")
NonnegativeLogistic = _module(
    "nonnegative-logistic",
    "The unbiased log loss whose part of irrelevant labels stays at or above 0 on the batch; where it would be below, it has no gradient"
    " (the library's Adam goes back along it).",
)
SquaredHinge = _module("squared-hinge", "The squared hinge, as if nothing were missing.")
UnbiasedSquaredHinge = _module("unbiased-squared-hinge", "The squared hinge on the true labels, unbiased under missing ones; not convex.")
BoundedSquaredHinge = _module("bounded-squared-hinge", "The squared hinge with observed labels weighted by 2/p - 1: bounded, but biased.")
