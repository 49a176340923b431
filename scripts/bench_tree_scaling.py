"""How training on one tree grows with the number of labels: seconds, memory and size of the model; draws docs/images/tree-scaling.svg.

cargo build --release, pip install numpy scipy, then:
python scripts/bench_tree_scaling.py FOLDER [LABELS ...]       # makes data in FOLDER, measures, appends to FOLDER/scaling.jsonl
python scripts/bench_tree_scaling.py FOLDER --draw             # draws what FOLDER/scaling.jsonl has, and prints it as a table

Data are those of scripts/many_labels.py with 0.73 rows per label, 135 000 features and about 80 of them per row, as in the largest public
benchmark. Training runs with two threads and includes reading the data; memory is the peak of the process, data included.
"""

import json
import math
import os
import subprocess
import sys
import time

UNMISSED = os.environ.get("UNMISSED", "target/release/unmissed")
HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [10_000, 30_000, 100_000, 300_000, 670_000]
TEST_ROWS = 5_000


def run(command):
    """Seconds, CPU seconds and the peak of memory of a program."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(folder, labels):
    data = os.path.join(folder, str(labels))
    train, test, model = (os.path.join(data, name) for name in ("train.txt", "test.txt", "model"))
    if not os.path.exists(test):
        rows = str(round(0.73 * labels))
        generator = os.path.join(HERE, "many_labels.py")
        subprocess.run([sys.executable, generator, data, "--rows", rows, "--test-rows", str(TEST_ROWS), "--labels", str(labels)], check=True)
    threads = ["-q", "--threads", "2"]
    seconds, cpu, peak = run([UNMISSED, "train", train, "-o", model, "--tree", *threads])
    predicting, _, _ = run([UNMISSED, "predict", model, test, "-k", "5", "-o", os.path.join(data, "p.txt"), *threads])
    return {
        "labels": labels,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_mb": round(peak),
        "model_mb": round(os.path.getsize(model) / 1e6, 1),
        "predict_us": round(1e6 * predicting / TEST_ROWS),
        "p_at_1": round(precision(test, os.path.join(data, "p.txt")), 4),
    }


def precision(test, found):
    with open(test) as truth, open(found) as predictions:
        next(truth), next(predictions)
        hits = 0
        for row, predicted in zip(truth, predictions, strict=True):
            best = max((entry.split(":") for entry in predicted.split()), key=lambda entry: float(entry[1]))[0]
            hits += best in row.split(" ", 1)[0].split(",")
    return hits / TEST_ROWS


PANELS = [("cpu_seconds", "training, s of processor time"), ("peak_mb", "peak memory, MB"), ("model_mb", "model, MB")]
WIDTH, HEIGHT, LEFT, TOP = 220, 200, 60, 30


def drawing(results):
    """Three charts on logarithmic axes, with a line of proportional growth through the last point."""
    parts = []
    labels = [result["labels"] for result in results]
    for number, (key, title) in enumerate(PANELS):
        values = [result[key] for result in results]
        low, high = (math.log10(min(labels)) - 0.1, math.log10(max(labels)) + 0.1)
        bottom, top = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        left = LEFT + number * (WIDTH + LEFT)

        def x(value, left=left, low=low, high=high):
            return left + WIDTH * (math.log10(value) - low) / (high - low)

        def y(value, bottom=bottom, top=top):
            return TOP + HEIGHT * (top - math.log10(value)) / (top - bottom)

        parts.append(f'<text x="{left + WIDTH / 2}" y="{TOP - 12}" text-anchor="middle">{title}</text>')
        parts.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" class="frame"/>')
        for power in range(bottom, top + 1):
            parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" class="grid"/>')
            parts.append(f'<text x="{left - 6}" y="{y(10**power) + 4:.1f}" text-anchor="end">{10**power:,}</text>')
        for value in labels:
            parts.append(f'<text x="{x(value):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{value // 1000} k</text>')
        # Proportional growth, as far as it is within the frame.
        first = max(labels[0], labels[-1] * 10**bottom / values[-1])
        start = values[-1] * first / labels[-1]
        parts.append(f'<line x1="{x(first):.1f}" y1="{y(start):.1f}" x2="{x(labels[-1]):.1f}" y2="{y(values[-1]):.1f}" class="linear"/>')
        points = " ".join(f"{x(label):.1f},{y(value):.1f}" for label, value in zip(labels, values, strict=True))
        parts.append(f'<polyline points="{points}" class="measured"/>')
        parts += [f'<circle cx="{point.split(",")[0]}" cy="{point.split(",")[1]}" r="3.5" class="point"/>' for point in points.split()]
    width, height = LEFT + len(PANELS) * (WIDTH + LEFT), TOP + HEIGHT + 50
    style = (
        "text{font:12px sans-serif;fill:#333}.frame{fill:none;stroke:#999}.grid{stroke:#ddd}.linear{stroke:#999;stroke-dasharray:4 3}"
        ".measured{fill:none;stroke:#1b6ca8;stroke-width:2}.point{fill:#1b6ca8}"
    )
    caption = f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">labels; dashed: proportional growth</text>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    title = "<title>Training on one tree: seconds, memory and size of the model by the number of labels</title>"
    background = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, title, f"<style>{style}</style>", background, *parts, caption, "</svg>", ""])


def main():
    folder, *sizes = sys.argv[1:]
    log = os.path.join(folder, "scaling.jsonl")
    if sizes != ["--draw"]:
        os.makedirs(folder, exist_ok=True)
        for labels in map(int, sizes or SIZES):
            result = measure(folder, labels)
            print(json.dumps(result), flush=True)
            with open(log, "a") as out:
                out.write(json.dumps(result) + "\n")
        return
    with open(log) as lines:
        latest = {result["labels"]: result for result in map(json.loads, lines)}
    results = [latest[labels] for labels in sorted(latest)]
    with open(os.path.join(HERE, "..", "docs", "images", "tree-scaling.svg"), "w") as out:
        out.write(drawing(results))
    print("| labels | training, s | processor time, s | peak memory, MB | model, MB | prediction, us per row | P@1 |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for result in results:
        shown = [f"{result['labels']:,}".replace(",", " "), *(result[key] for key in ("seconds", "cpu_seconds", "peak_mb", "model_mb", "predict_us"))]
        print("| " + " | ".join(map(str, shown)) + f" | {100 * result['p_at_1']:.1f} |")


if __name__ == "__main__":
    main()
