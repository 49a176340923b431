"""One-vs-rest logistic regression by scikit-learn's liblinear: seconds of training and P@1,3,5, beside `unmissed train`.

python scripts/bench_liblinear.py TRAIN TEST C        (numpy, scipy, scikit-learn; two processes)
Rows are scaled to length 1 and a constant feature is added, as the field does.
"""
import sys
import time

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize


def read(path):
    with open(path) as file:
        rows, features, labels = map(int, file.readline().split())
        xi, xj, xv, yi, yj = [], [], [], [], []
        for i, line in enumerate(file):
            head, *tail = line.rstrip("\n").split(" ")
            for label in filter(None, head.split(",")):
                yi.append(i), yj.append(int(label))
            for pair in tail:
                j, v = pair.split(":")
                xi.append(i), xj.append(int(j)), xv.append(float(v))
    x = sp.csr_matrix((xv, (xi, xj)), shape=(rows, features))
    y = sp.csr_matrix((np.ones(len(yi)), (yi, yj)), shape=(rows, labels))
    return normalize(x), y


train_x, train_y = read(sys.argv[1])
test_x, test_y = read(sys.argv[2])
start = time.perf_counter()
model = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=float(sys.argv[3])), n_jobs=2).fit(train_x, train_y)
seconds = time.perf_counter() - start
order = np.argsort(-model.decision_function(test_x), axis=1)[:, :5]
hits = np.take_along_axis(test_y.toarray(), order, axis=1)
print(f"liblinear C={sys.argv[3]}: {seconds:.2f} s, P@1,3,5", [round(100 * hits[:, :k].mean(), 2) for k in (1, 3, 5)])
