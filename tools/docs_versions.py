# SPDX-License-Identifier: Apache-2.0
"""Adds the documentation of `make docs` to a folder of versions.

`python tools/docs_versions.py FOLDER` copies build/site to FOLDER/X.Y, which it
replaces, and lists all versions in FOLDER/versions.json, the newest first.
A web server that offers FOLDER shows a menu of them on each page.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r"(\d+)\.(\d+)")


def add(site: Path, version: str, folder: Path) -> None:
    """Add the site of a version such as "0.9.0" to a folder of versions."""
    short = _VERSION.match(version)
    if short is None:
        raise ValueError(f"no version: {version}")
    shutil.copytree(site, folder / f".{short[0]}", dirs_exist_ok=True)
    shutil.rmtree(folder / short[0], ignore_errors=True)
    (folder / f".{short[0]}").rename(folder / short[0])
    found = [path.name for path in folder.iterdir() if _VERSION.fullmatch(path.name)]
    found.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    listed = [
        {"version": name, "title": name, "aliases": ["latest"] * (name == found[0])}
        for name in found
    ]
    text = json.dumps(listed, indent=1) + "\n"
    (folder / "versions.json").write_text(text, encoding="utf-8")


def main() -> int:
    """Add the site that `make docs` built."""
    site = ROOT / "build" / "site"
    if len(sys.argv) != 2 or not (site / "index.html").is_file():
        print("make docs, then python tools/docs_versions.py FOLDER", file=sys.stderr)
        return 2
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    add(site, content["project"]["version"], Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
