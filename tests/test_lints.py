# SPDX-License-Identifier: Apache-2.0
"""tools/lints.py on small sources of known style."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def lints() -> ModuleType:
    """Load the script, which is in no package."""
    spec = importlib.util.spec_from_file_location("lints", ROOT / "tools" / "lints.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lints"] = module
    spec.loader.exec_module(module)
    return module


def places(lints: ModuleType, folder: Path, source: str, name: str = "a.py") -> dict:
    (folder / name).write_text(source, encoding="utf-8")
    tally = lints.measured(folder, (name,))
    return {rule: len(result) for rule, result in tally.places.items() if result}


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("rows = [[a for a in row] for row in table]", "nested"),
        ("flat = [a for row in table for a in row]", "nested"),
        ("f(1, 2, 3, 4, 5, 6)", "positional"),
        ("class A: ...\nclass B:\n    class A: ...", "classes"),
        ("total = " + " + ".join("abcdefghijklmnop"), "long"),
        ("# The one of which the length is known.", "prose"),
        ('def f():\n    """Return what is left."""', "prose"),
    ],
)
def test_each_rule_finds_its_construction(
    lints: ModuleType, tmp_path: Path, source: str, rule: str
) -> None:
    assert places(lints, tmp_path, source) == {rule: 1}


@pytest.mark.parametrize(
    "source",
    [
        "rows = [a for a in row]",
        "f(1, 2, 3, 4, 5, a=6, b=7)",
        "f(*values, 1, 2, 3, 4, 5, 6)",
        "total = " + " + ".join("abcdefghijklm"),
        "text = 'nobody told'",
        "class _A: ...\nclass B:\n    class _A: ...\n    class Settings: ...",
        "class A:\n    class Settings: ...\nclass B:\n    class Settings: ...",
        '"""Read a file.\n\nReturns its rows."""',
    ],
)
def test_plain_code_is_left_alone(
    lints: ModuleType, tmp_path: Path, source: str
) -> None:
    assert places(lints, tmp_path, source) == {}


def test_a_page_is_read_without_its_code(lints: ModuleType, tmp_path: Path) -> None:
    text = "Nothing is sent.\n\n```\nnobody told\n```\n\nUse `nothing`.\n"
    assert places(lints, tmp_path, text, "a.md") == {"pages": 1}


def test_a_figure_above_its_limit_fails_with_the_rule_s_name(
    lints: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("f(1, 2, 3, 4, 5, 6)\n", encoding="utf-8")
    tally = lints.measured(tmp_path, ("a.py",))
    limits = dict.fromkeys(lints.RULES, 0.0)
    assert [text.split(":")[0] for text in lints.failures(tally, limits)] == [
        "positional"
    ]
    assert lints.failures(tally, limits | {"positional": 1}) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("`docs/how-to/CHECK.md` checks a session.", 1),
        ("See docs/how-to/CHECK.md.", 1),
        ("[CHECK](docs/how-to/CHECK.md) checks a session.", 0),
        ("[`docs/how-to/CHECK.md`](docs/how-to/CHECK.md)", 0),
        ("`WIRING.md` of your project, `docs/how-to/NO_PAGE.md`", 0),
        ("```\ncat docs/how-to/CHECK.md\n```", 0),
    ],
)
def test_a_page_that_a_text_names_is_a_link(
    lints: ModuleType, tmp_path: Path, text: str, places: int
) -> None:
    page = tmp_path / "README.md"
    page.write_text(text, encoding="utf-8")
    assert lints.measured(tmp_path, ("README.md",)).figure("links") == places
