# SPDX-License-Identifier: Apache-2.0
"""A package of a plug-in as a page shows it: its modules, its entry points and its
bench file."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page that are in a language."""
    [path] = (ROOT / "docs").glob(f"*/{page}")
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@contextmanager
def installed(page: str, folder: Path) -> Iterator[Path]:
    """Write the files of a page into a folder, as an installed package; yield its bench
    file.

    A block whose first line is a comment with a file name is that file;
    `project.entry-points` are the entry points that the installer would note.
    """
    modules = []
    entry_points = ""
    for block in blocks(page, "python") + blocks(page, "toml"):
        if named := re.match(r"# ([\w/]+\.(?:py|toml))\n", block):
            (folder / named[1]).parent.mkdir(exist_ok=True)
            (folder / named[1]).write_text(block, encoding="utf-8")
            module = named[1].removesuffix(".py").replace("/", ".")
            modules += [module] * named[1].endswith(".py")
            continue
        for group, names in tomllib.loads(block)["project"]["entry-points"].items():
            entry_points += f"[{group}]\n"
            entry_points += "".join(
                f"{name} = {value}\n" for name, value in names.items()
            )
    about = folder / "scratch-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: scratch\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text(entry_points)
    sys.path.insert(0, str(folder))
    try:
        yield folder / "bench.toml"
    finally:
        sys.path.remove(str(folder))
        for module in modules:
            sys.modules.pop(module, None)
