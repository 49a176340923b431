"""Rows in Arrow and Parquet."""

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

N, M = 300, 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(9)
    y = sp.csr_matrix(rng.random((N, M)) < 0.15, dtype=np.int8)
    scores = rng.random((N, M), dtype=np.float32) + 0.5 * y.toarray()
    best = np.argsort(-scores, axis=1, kind="stable")[:, :6]
    table = pyarrow.table(
        {
            "id": np.arange(N),
            "labels": pyarrow.array([row.indices.tolist() for row in y], pyarrow.list_(pyarrow.int32())),
            "predictions": pyarrow.array(best.tolist(), pyarrow.list_(pyarrow.int64())),
            "scores": pyarrow.array(np.take_along_axis(scores, best, 1).tolist(), pyarrow.list_(pyarrow.float32())),
            "text": [f"row {row}" for row in range(N)],
        }
    )
    return y, best, table


def test_every_source_gives_one_evaluation(data, tmp_path):
    y, best, table = data
    wanted = um.evaluate(y, um.TopK(best), train=y, propensity="jpv").to_dict()
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        parquet.write_table(table.slice(100 * part, 100), folder / f"part-{part}.parquet", row_group_size=30)
    one = tmp_path / "one.parquet"
    parquet.write_table(table, one)
    sources = [
        folder,
        str(one),
        sorted(folder.iterdir()),
        pyarrow.dataset.dataset(folder),
        table,
        table.to_reader(max_chunksize=17),
    ]
    for source in sources:
        assert um.evaluate_dataset(source, train=y, propensity="jpv").to_dict() == wanted
    by_score = um.evaluate_dataset(folder, predictions=("predictions", "scores"), rows="id", n_labels=M, train=y, propensity="jpv")
    assert by_score.to_dict() == wanted
    two = um.evaluate_dataset(one, predictions={"a": "predictions", "b": ("predictions", "scores")}, n_labels=M, k=3)
    assert two.value("precision", 3, model="a") == two.value("precision", 3, model="b")


def test_what_is_no_such_data_is_refused(data, tmp_path):
    y, best, table = data
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="the number of labels is not known"):
        um.evaluate_dataset(tmp_path)
    with pytest.raises(ValueError, match="a.parquet has no column 'nothing': expected labels, nothing, found id, labels"):
        um.evaluate_dataset(tmp_path, predictions="nothing", n_labels=M)
    with pytest.raises(ValueError, match="column 'text': expected lists of numbers, found string"):
        um.evaluate_dataset(tmp_path, predictions="text", n_labels=M)
    with pytest.raises(ValueError, match="cannot read record batches from this"):
        um.evaluate_dataset(3, n_labels=M)
    with pytest.raises(ValueError, match="a label|out of range|label"):
        um.evaluate_dataset(tmp_path, n_labels=5)
    # A file of another schema in the folder.
    parquet.write_table(table.drop_columns(["predictions"]), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="b.parquet has no column 'predictions'"):
        um.evaluate_dataset(tmp_path, n_labels=M)
    with pytest.raises(FileNotFoundError):
        um.evaluate_dataset(tmp_path / "nowhere", n_labels=M)


def test_lists_of_one_length(data):
    y, best, table = data
    fixed = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(best.ravel()), best.shape[1])
    changed = table.set_column(table.schema.get_field_index("predictions"), "predictions", fixed)
    wanted = um.evaluate_dataset(table, n_labels=M).to_dict()
    assert um.evaluate_dataset(changed, n_labels=M).to_dict() == wanted
    assert um.evaluate_dataset(changed.slice(7, 90), n_labels=M).to_dict() == um.evaluate_dataset(table.slice(7, 90), n_labels=M).to_dict()


def test_what_newcomers_try_is_explained(data, tmp_path):
    _, _, table = data
    texts = pyarrow.table({"labels": [["a"]], "predictions": [[0]], "id": [0]})
    gap = pyarrow.table({"labels": [[0], [1]], "predictions": [[0], [1]], "id": [0, None]})
    (tmp_path / "empty").mkdir()
    for source, more, message in [
        (table, {"predictions": None}, "predictions do not name columns"),
        (table, {"predictions": ["predictions"]}, "predictions do not name columns"),
        (table, {"predictions": ("predictions", "scores", "id")}, "a tuple of two: labels and scores"),
        (table, {"labels": None}, "names of columns"),
        (table, {"rows": "labels"}, "rows is a column of its own"),
        (table, {"rows": "text"}, "column 'text': expected row numbers as whole numbers, found string"),
        (gap, {"rows": "id"}, "column 'id' has rows without a number"),
        (texts, {}, "column 'labels': expected lists of numbers, found list<item: string>"),
        (tmp_path / "empty", {}, "there is nothing to read"),
        ([], {}, "there is nothing to read"),
    ]:
        with pytest.raises(ValueError, match=message):
            um.evaluate_dataset(source, n_labels=M, **more)
