"""The optimum that tests/training.rs holds Newton's method against, by scipy's L-BFGS in double precision.

Needs numpy and scipy. Prints, for each label, the least value of
mean_i [ln(1 + e^z_i) - (y_i / p) z_i] + decay / 2 |w|^2,  z = b + X w,  b free of decay.
"""
import numpy as np
from scipy.optimize import minimize

ROWS, FEATURES, DECAY = 60, 5, 1e-2
i, f = np.arange(ROWS)[:, None], np.arange(FEATURES)[None, :]
X = np.float32(np.sin(0.7 * (i + 1) * (f + 1)) + 0.2 * f).astype(np.float64)

for label, p in enumerate([0.3, 0.6, 1.0]):
    y = (np.sin(1.3 * np.arange(ROWS) + 2.1 * label) + 0.5 * X[:, label] > 0.9) / p

    def objective(w):
        z = w[0] + X @ w[1:]
        value = np.mean(np.logaddexp(0, z) - y * z) + DECAY / 2 * w[1:] @ w[1:]
        slope = (1 / (1 + np.exp(-z)) - y) / ROWS
        return value, np.concatenate([[slope.sum()], X.T @ slope + DECAY * w[1:]])

    found = minimize(objective, np.zeros(FEATURES + 1), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    print(label, p, int((y > 0).sum()), repr(found.fun), found.x.round(6).tolist())
