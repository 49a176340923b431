"""How fast omikuji's own loader reads an XMLC text file: the peer of `cargo bench --bench reading`.

pip install omikuji, then: python scripts/bench_omikuji.py data.txt
Prints a JSON line for one and for two threads: the best and the median of seven reads.
"""

import json
import os
import statistics
import sys
import time

import omikuji
from omikuji._libomikuji import ffi, lib

REPETITIONS = 7


def read(path, pool):
    start = time.perf_counter()
    data = lib.load_omikuji_data_set(ffi.new("char[]", path.encode()), pool.ptr)
    seconds = time.perf_counter() - start
    if data == ffi.NULL:
        sys.exit(f"omikuji cannot read {path}")
    lib.free_omikuji_data_set(data)
    return seconds


def main():
    path = sys.argv[1]
    megabytes = os.path.getsize(path) / 1e6
    for threads in (1, 2):
        pool = omikuji._ThreadPoolHandle(threads, initialize=True)
        seconds = [read(path, pool) for _ in range(REPETITIONS)]
        best, median = megabytes / min(seconds), megabytes / statistics.median(seconds)
        print(json.dumps({"task": "read", "peer": "omikuji", "threads": threads, "best_mb_per_s": round(best), "median_mb_per_s": round(median)}))


if __name__ == "__main__":
    main()
