"""Files and artificial data."""

import errno
import inspect
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from test_evaluate import CLI

import unmissed as um
from unmissed import _core


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz", "data.txt.zst", "data.svm", "data.npz"])
def test_data_come_back(tmp_path, name, small):
    truth, _, _ = small
    X = sp.random(60, 7, density=0.3, format="csr", random_state=1, dtype=np.float32)
    if name == "data.svm":
        with pytest.warns(UserWarning, match="dropped: the numbers of rows, features and labels"):
            files = um.write(tmp_path / name, truth, X=X, format="svmlight")
    else:
        files = um.write(tmp_path / name, truth, X=X)
    assert files
    data = um.read(tmp_path / name)
    if name == "data.svm":
        # svmlight knows shapes only as far as there are entries.
        assert data.y.nnz == truth.nnz and data.X.nnz == X.nnz
    else:
        assert same(data.y, truth) and same(data.X, X)
    assert data.y.dtype == np.int32 and data.X.dtype == np.float32 and data.y.indices.dtype == np.int32


def test_scores_come_back(tmp_path, small):
    _, scores, _ = small
    um.write(tmp_path / "p.txt", scores=scores)
    data = um.read(tmp_path / "p.txt")
    assert same(data.scores, scores) and data.y is None and repr(data) == "Data(scores: 60 x 25)"
    um.write(tmp_path / "q.npz", data)
    assert same(um.read(tmp_path / "q.npz").scores, scores)
    # What scipy writes is read.
    sp.save_npz(tmp_path / "s.npz", scores)
    assert same(um.read(tmp_path / "s.npz").scores, scores)


def test_files_have_all_labels_of_the_problem(tmp_path):
    """The best labels of rows seldom include the last one, so neither they nor lists tell how many there are."""
    top = um.TopK(np.array([[1, 0], [2, 1]]), np.array([[0.5, 0.25], [1.0, 0.5]]))
    for scores in (top, top.labels, top.labels.tolist(), (top.labels, top.scores), [[(1, 0.5)], [(2, 1.0)]]):
        with pytest.raises(ValueError, match="n_labels="):
            um.write(tmp_path / "p.txt", scores=scores)
        assert not (tmp_path / "p.txt").exists()
        um.write(tmp_path / "p.txt", scores=scores, n_labels=7)
        assert um.read(tmp_path / "p.txt").scores.shape == (2, 7)
        (tmp_path / "p.txt").unlink()
    with pytest.raises(ValueError, match="n_labels="):
        um.write(tmp_path / "y.txt", [[0, 2], [1]])
    um.write(tmp_path / "p.txt", scores=um.TopK(top.labels, top.scores, n_labels=7))
    assert um.read(tmp_path / "p.txt").scores.shape == (2, 7)
    with pytest.raises(ValueError, match="another number of labels: expected 8, found 7"):
        um.write(tmp_path / "p.txt", scores=um.TopK(top.labels, n_labels=7), n_labels=8)


def test_labels_are_what_scikit_learn_takes(tmp_path):
    """Its LabelBinarizer numbers labels in the type of the matrix, so one that ends at 127 scrambles those beyond."""
    sklearn = pytest.importorskip("sklearn.preprocessing")
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import BernoulliNB

    rng = np.random.default_rng(0)
    Y = (rng.random((800, 150)) < 0.02).astype(int)
    X = (Y + (rng.random(Y.shape) < 0.01)).astype(float)
    um.write(tmp_path / "d.txt", Y, X=X)
    read = um.read(tmp_path / "d.txt")
    binarizer = sklearn.LabelBinarizer(sparse_output=True).fit(read.y)
    assert np.array_equal(binarizer.transform(read.y).toarray(), Y)
    assert np.array_equal(binarizer.inverse_transform(binarizer.transform(read.y)).toarray(), Y)
    theirs = OneVsRestClassifier(BernoulliNB()).fit(read.X, read.y)
    assert um.precision(Y, theirs.predict_proba(read.X), k=1) > 0.8
    assert um.datasets.survey(users=300, items=20).train.y.dtype == np.int32


def test_dense_features(tmp_path):
    um.write(tmp_path / "d.txt", [[0], [1]], X=np.array([[1.0, 0.0], [0.5, 2.0]]), n_labels=2)
    assert um.read(tmp_path / "d.txt").X.toarray().tolist() == [[1.0, 0.0], [0.5, 2.0]]


def test_ratings_and_thresholds(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n0,0,5\n0,1,2\n1,1,4\n")
    assert um.read(tmp_path / "r.csv", format="ratings", positive=4).y.toarray().tolist() == [[1, 0], [0, 1]]


def test_what_cannot_be_held_is_said(tmp_path, small):
    _, scores, _ = small
    with pytest.warns(UserWarning, match="dropped"):
        um.write(tmp_path / "x.txt", scores=scores, format="xmc")


def test_errors_are_the_librarys(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.txt") as caught:
        um.read("nowhere.txt")
    assert (caught.value.errno, str(caught.value.filename)) == (errno.ENOENT, "nowhere.txt")
    (tmp_path / "bad.txt").write_text("2 3 4\n0 0:1\n9 0:1\n")
    with pytest.raises(um.FormatError, match=r"bad.txt:3: .*found 9"):
        um.read(tmp_path / "bad.txt")
    assert issubclass(um.FormatError, ValueError)
    with pytest.raises(FileNotFoundError, match="folder.txt"):
        um.write(tmp_path / "no" / "such" / "folder.txt", [[0]], n_labels=1)
    with pytest.raises(ValueError, match="docx"):
        um.write(tmp_path / "x.docx", [[0]], n_labels=1)
    with pytest.raises(ValueError):
        um.write(tmp_path / "x.txt")
    assert not list(tmp_path.glob("x.*"))


def test_generators_have_the_parameters_of_the_registry():
    for name, _ in _core.registry("generators"):
        signature = inspect.signature(getattr(um.datasets, name))
        ours = {p: d.default for p, d in signature.parameters.items() if p not in ("random_state", "n_jobs")}
        theirs = {p.replace("-", "_"): d for p, d, _ in _core.parameters(name)}
        assert list(ours) == list(theirs)
        text = {p: ",".join(map(str, d)) if isinstance(d, tuple) else str(d) for p, d in ours.items()}
        assert text == theirs


def test_generated_data_are_those_of_the_command_line(tmp_path):
    if not CLI.exists():
        pytest.skip(f"{CLI} is not built")
    data = um.datasets.survey(users=40, test_users=20, controlled_users=30, items=25, random_state=9)
    flags = ["--users", "40", "--test-users", "20", "--controlled-users", "30", "--items", "25", "--seed", "9"]
    subprocess.run([CLI, "generate", "survey", "-o", tmp_path, *flags], check=True, capture_output=True)
    for part in ("train", "test", "train_clean", "test_clean", "controlled"):
        theirs = um.read(tmp_path / f"{part}.txt")
        ours = getattr(data, part)
        assert same(theirs.y, ours.y)
        dense = ours.X if isinstance(ours.X, np.ndarray) else ours.X.toarray()
        assert np.array_equal(theirs.X.toarray(), dense)
    table = um.propensities(None, f"table:{tmp_path / 'propensities.csv'}")
    assert np.array_equal(table.values, data.propensities.values)


def test_balls(tmp_path):
    a, b = (um.datasets.balls(train_rows=50, test_rows=10, labels=20, random_state=1, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(a.train.X, b.train.X) and same(a.test.y, b.test.y) and a.propensities is None
    assert a.tables["labels"]["prior"].shape == (20,)
    with pytest.raises(ValueError, match="'labels' of 'balls'"):
        um.datasets.balls(labels=0)


def test_statistics_of_labels_and_features(tmp_path):
    y = sp.csr_matrix(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]))
    X = sp.csr_matrix(np.array([[1.0, 0, 2], [0, 0, 0], [3, 0, 0], [0, 0, 0]], np.float32))
    found = um.stats(y, X=X)
    assert (found["rows"], found["labels"], found["labels_occurring"], found["rows_without_labels"]) == (4, 4, 3, 1)
    assert (found["features"], found["features_per_row_mean"], found["ilir"]) == (3, 0.75, 3.0)
    assert um.stats(y)["features"] is None
    um.write(tmp_path / "data.txt", y, X=X)
    assert um.stats(um.read(tmp_path / "data.txt")) == found
    with pytest.raises(ValueError, match="rows"):
        um.stats(y, X=X[:3])
