# SPDX-License-Identifier: Apache-2.0
"""The changelog's page has the links of its text, and versions of the documentation are
listed for the menu, the newest first.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

_LINK = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)


def linked(path: Path) -> dict[str, Path]:
    """Return the files that the definitions of a page's links name."""
    found = _LINK.findall(path.read_text(encoding="utf-8"))
    return {name: (path.parent / place).resolve() for name, place in found}


def test_the_changelogs_page_has_the_links_of_its_text() -> None:
    pages = [ROOT / "CHANGELOG.md", ROOT / "docs" / "CHANGELOG.md"]
    own, page = map(linked, pages)
    assert own and own == page
    text = pages[0].read_text(encoding="utf-8")
    assert "](docs/" not in text, "an inline link leads nowhere from the page"
    for name, place in own.items():
        assert f"[{name}]" in text and place.is_file()


def test_versions_are_listed_the_newest_first(tmp_path: Path) -> None:
    add = runpy.run_path(str(ROOT / "tools" / "docs_versions.py"))["add"]
    site = tmp_path / "site"
    site.mkdir()
    folder = tmp_path / "published"
    for version in ("0.9.0", "0.10.0", "0.9.1"):
        (site / "index.html").write_text(version)
        add(site, version, folder)
    listed = json.loads((folder / "versions.json").read_text())
    assert [(one["version"], one["aliases"]) for one in listed] == [
        ("0.10", ["latest"]),
        ("0.9", []),
    ]
    assert (folder / "0.9" / "index.html").read_text() == "0.9.1"
    with pytest.raises(ValueError, match="no version"):
        add(site, "next", folder)
