# SPDX-License-Identifier: Apache-2.0
"""Sources, linker scripts, makefiles and benches have lines of at most 100 columns. Of
Python, ruff lets lines pass whose last comment is for a tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

COLUMNS = 100
MADE = ("build", "stored")
FOLDERS = (
    *(
        "benches",
        "benchmarks",
        "drivers",
        "examples",
        "firmware",
        "gui",
        "lab",
        "rig",
        "scenarios",
    ),
    *("sut_backends", "tests"),
)
SUFFIXES = (".c", ".h", ".ld", ".mk", ".py", ".toml")


def sources() -> Iterator[Path]:
    """Yield what people write here; builds and stored sessions lie in folders of their
    own."""
    yield from (ROOT / name for name in ("Makefile", "pyproject.toml"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            made = any(part in MADE or part.startswith("build-") for part in path.parts)
            if (path.suffix in SUFFIXES or path.name == "Makefile") and not made:
                yield path


def test_no_line_is_longer_than_100_columns() -> None:
    checked = list(sources())
    assert {
        "nr_shim.c",
        "nr_wire.h",
        "exact.c",
        "visa_stub.c",
        "cortex_m.mk",
        "demo.toml",
    } <= {path.name for path in checked}
    long = []
    for path in checked:
        lines = path.read_text(encoding="utf-8").splitlines()
        name = path.relative_to(ROOT)
        numbered = enumerate(lines, 1)
        long += [f"{name}:{at}" for at, line in numbered if len(line) > COLUMNS]
    assert long == []
