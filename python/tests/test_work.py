"""How work is done: the lock is free, Ctrl-C stops it, progress shows, importing is quick."""

import concurrent.futures
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import unmissed as um
from unmissed import _work


def run(code, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env, timeout=120)


def test_importing_is_quick_and_imports_nothing_else():
    code = """
        import sys, time
        start = time.perf_counter()
        import unmissed
        seconds = time.perf_counter() - start
        heavy = {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "tqdm"} & set(sys.modules)
        print(seconds, sorted(heavy))
    """
    best = min((run(code).stdout.split(" ", 1) for _ in range(3)), key=lambda found: float(found[0]))
    assert float(best[0]) < 0.150 and best[1].strip() == "[]", best


LONG = """
    import time, sys, signal, threading, numpy as np, scipy.sparse as sp
    import unmissed as um
    rng = np.random.default_rng(0)
    n, m, stored = 300_000, 5_000, 50
    width = m // stored
    ids = rng.integers(0, width, (n, stored), dtype=np.int32) + np.arange(stored, dtype=np.int32) * width
    scores = sp.csr_matrix((rng.random(n * stored, np.float32), ids.ravel(), np.arange(0, n * stored + 1, stored)), shape=(n, m))
    truth = sp.csr_matrix((np.ones(n * 5, np.float32), ids[:, ::10].ravel(), np.arange(0, n * 5 + 1, 5)), shape=(n, m))
    features = rng.random((50_000, 40), np.float32)
    models = [um.Propensities(np.full(m, i / 9), origin=str(i)) for i in range(1, 9)]
"""


def interrupted(work, after):
    """Runs `work` in a process of its own, sends SIGINT after some seconds, and gives the seconds until it stopped."""
    code = textwrap.dedent(LONG) + textwrap.dedent(f"""
        print("ready", flush=True)
        start = time.perf_counter()
        try:
            {work}
        except KeyboardInterrupt:
            print("stopped", time.time(), flush=True)
        else:
            print("finished", time.perf_counter() - start, flush=True)
        import os; os._exit(0)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    time.sleep(after)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    words = process.stdout.readline().split()
    process.stdout.close()
    assert process.wait(60) == 0
    assert words and words[0] == "stopped", words
    return float(words[1]) - sent


@pytest.mark.parametrize(
    "after, work",
    [
        # In the pass over the rows, and in the bootstrap after it.
        (0.5, "um.evaluate(truth, scores, propensity=models, metrics=['recall'], k=range(1, 51), n_jobs=1)"),
        (0.5, "um.audit(truth, scores, train=truth, k=range(1, 11), n_jobs=1)"),
        (3.0, "um.audit(truth[:20_000], scores[:20_000], train=truth[:20_000], bootstrap=50_000, k=1, n_jobs=1)"),
        (0.5, "um.datasets.balls(train_rows=20_000_000, labels=200, n_jobs=1)"),
        (1.0, "um.OneVsRest('logistic', None, n_jobs=1).fit(features, truth[:50_000])"),
        (1.0, "um.OneVsRest('logistic', None, tune=True, n_jobs=1).fit(features, truth[:50_000])"),
        (1.0, "um.OneVsRest(joint='plugin', n_jobs=1).fit(features, truth[:50_000])"),
    ],
)
def test_ctrl_c_stops_long_work_soon(work, after):
    # Within a second on a machine without other work.
    assert interrupted(work, after) < 3.0


def test_the_lock_is_free_while_the_library_works():
    rng = np.random.default_rng(0)
    truth, scores = rng.random((20_000, 200)) < 0.05, rng.random((20_000, 200), np.float32)
    beats, done = [], threading.Event()

    def beat():
        while not done.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=beat)
    thread.start()
    start = time.perf_counter()
    um.evaluate(truth, scores, propensity=np.full(200, 0.5), bootstrap=500, n_jobs=1)
    end = time.perf_counter()
    done.set()
    thread.join()
    within = [one for one in beats if start <= one <= end]
    # With the lock held it would beat at the start and at the end only.
    assert len(within) > 20 * (end - start), (len(within), end - start)


@pytest.mark.parametrize("owned", [False, True])
def test_a_panic_reaches_the_caller(owned):
    """As an exception, soon: nobody waits for a result that will not come."""
    code = f"""
        from unmissed import _core
        try:
            _core.panics({owned}, {{"threads": 1, "show": None}})
        except BaseException as error:
            print(type(error).__name__, error)
    """
    assert run(code).stdout.strip() == "PanicException on purpose"


def test_calls_from_several_threads_agree(small):
    truth, scores, train = small
    expected = um.evaluate(truth, scores, train=train, propensity="jpv").to_dict()
    found = []
    work = [threading.Thread(target=lambda: found.append(um.evaluate(truth, scores, train=train, propensity="jpv").to_dict())) for _ in range(8)]
    [one.start() for one in work]
    [one.join() for one in work]
    assert found == [expected] * 8


def test_a_forked_child_can_work():
    code = """
        import os, unmissed as um
        assert um.precision([[0]], [[0]], k=1) == 1.0
        child = os.fork()
        if child == 0:
            os._exit(0 if um.precision([[0]], [[0]], k=1) == 1.0 else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code).stdout.strip() == "0"


def test_progress_is_a_bar_of_tqdm_that_shows_up_late(monkeypatch, capsys):
    bar = _work._Bar()
    bar("evaluate", 1, 10)
    assert bar.bar is None
    monkeypatch.setattr(_work, "PATIENCE", 0.0)
    bar("evaluate", 5, 10)
    pytest.importorskip("tqdm")
    assert bar.bar.n == 5 and bar.bar.total == 10 and "evaluate" in bar.bar.desc
    bar("reading", 3, 0)
    assert bar.bar.total is None
    bar.close()
    assert bar.bar is None


def test_progress_without_tqdm(monkeypatch, capsys):
    monkeypatch.setattr(_work, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    bar = _work._Bar()
    bar("evaluate", 5, 10)
    bar.close()
    assert "evaluate  50 %" in capsys.readouterr().err


def test_progress_is_shown_when_it_is_asked_for_and_somebody_watches(monkeypatch):
    monkeypatch.setattr(_work, "_somebody_watches", lambda: True)
    with _work.working(verbose=True) as how:
        assert callable(how["show"])
    with _work.working() as how:
        assert how["show"] is None
    monkeypatch.setattr(_work, "_somebody_watches", lambda: False)
    with _work.working(verbose=True) as how:
        assert how["show"] is None


def test_who_watches(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not _work._somebody_watches()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert _work._somebody_watches()
    # Bars of several threads would overwrite each other.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert not pool.submit(_work._somebody_watches).result()


def test_numbers_of_threads(monkeypatch):
    monkeypatch.delenv("UNMISSED_THREADS", raising=False)
    monkeypatch.setattr(_work, "_cores", lambda: 4)
    assert [_work.number_of_threads(jobs) for jobs in (None, 1, np.int64(7), -1, -2, -9)] == [None, 1, 7, None, 3, 1]
    monkeypatch.setenv("UNMISSED_THREADS", "2")
    assert [_work.number_of_threads(jobs) for jobs in (None, 3, -1)] == [2, 3, None]


#: A search whose every fit takes long enough for a bar, on a terminal of its own.
SEARCH = """
    import os, pty, sys
    child, terminal = pty.fork()
    if child == 0:
        import numpy as np, unmissed as um
        from unmissed import _work
        from sklearn.model_selection import GridSearchCV
        _work.PATIENCE = 0.0
        rng = np.random.default_rng(0)
        X, Y = rng.random((6000, 60), np.float32), (rng.random((6000, 300)) < 0.05).astype(int)
        model = um.OneVsRest(n_jobs=1, verbose={verbose})
        GridSearchCV(model, {{"decay": [1e-5, 1e-4]}}, scoring=um.scorer("precision@1"), cv=2, n_jobs={jobs}, refit=False).fit(X, Y)
        os._exit(0)
    # A new terminal has no columns, and a bar would have no room.
    import fcntl, struct, termios
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.waitpid(child, 0)
    print(shown)
"""


@pytest.mark.parametrize("verbose, jobs, bars", [(False, 1, False), (True, 1, True), (True, 2, False)])
def test_searches_are_not_flooded_with_bars(verbose, jobs, bars):
    pytest.importorskip("sklearn"), pytest.importorskip("pty")
    try:
        found = run(SEARCH.format(verbose=verbose, jobs=jobs))
    except subprocess.TimeoutExpired:
        if jobs == 1:
            raise
        # Workers of joblib that outlive the search keep its output open; that is theirs, and says nothing about bars.
        pytest.skip("worker processes of the search did not end")
    assert found.returncode == 0, found.stderr
    assert ("train" in found.stdout) == bars and (found.stdout.strip() != "b''") == bars, found.stdout


def test_an_exception_while_showing_progress_stops_the_work(monkeypatch):
    def broken(self, stage, done, total):
        raise RuntimeError("the screen is gone")

    monkeypatch.setattr(_work._Bar, "__call__", broken)
    monkeypatch.setattr(_work, "_somebody_watches", lambda: True)
    rng = np.random.default_rng(0)
    truth, scores = rng.random((40_000, 200)) < 0.05, rng.random((40_000, 200), np.float32)
    with pytest.raises(RuntimeError, match="the screen is gone"):
        um.evaluate(truth, scores, propensity=np.full(200, 0.5), bootstrap=2000, n_jobs=1, verbose=True)
