"""Draws the pictures of docs/gallery.md by the commands that the page shows.

    python scripts/docs_gallery.py target/debug/unmissed

Commands run in docs/gallery, which git ignores; the page links to the files that they write there.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "gallery"


def commands(text: str) -> list[list[str]]:
    """The commands of the page's blocks of code, without comments, with continued lines joined."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def main() -> None:
    binary = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    text = PAGE.read_text()
    for program, *arguments in commands(text):
        if program != "unmissed":
            sys.exit(f"docs/gallery.md: only unmissed is run for the gallery, found {program!r}")
        subprocess.run([binary, "--quiet", *arguments], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    for picture in re.findall(r"!\[[^]]*\]\(gallery/([^)]+)\)", text):
        if not (FOLDER / picture).exists():
            sys.exit(f"docs/gallery.md: no command writes {picture}")


if __name__ == "__main__":
    main()
