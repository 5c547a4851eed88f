# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds without a warning, lists what plug-ins import, asks no
server for anything, and its search works from files.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs import browser
from tests.programs import captured

#: `make docs` gives the tools an environment of their own.
ZENSICAL = ROOT / "build" / "docs" / "bin" / "zensical"
CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
PAGES = re.findall(r"^ .*: ([\w/-]+)\.md$", CONFIGURATION, re.MULTILINE)
LISTED = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
IMPORTED = re.compile(r"^from (rig[\w.]*) import", re.MULTILINE)


def listed_modules(page: str) -> list[str]:
    """Return the modules whose text a page of the reference has."""
    return LISTED.findall((ROOT / "docs/reference" / page).read_text("utf-8"))


def test_every_module_that_pages_for_plugins_import_is_listed_once() -> None:
    listed = listed_modules("PLUGIN_API.md")
    imported = set()
    for path in (ROOT / "docs").rglob("*.md"):
        imported |= set(IMPORTED.findall(path.read_text(encoding="utf-8")))
    assert len(imported) > 10
    for module in imported:
        homes = [each for each in listed if f"{module}.".startswith(f"{each}.")]
        assert len(homes) == 1, module
    assert listed_modules("API.md") == ["rig"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors."""
    if ZENSICAL.exists():
        command = [str(ZENSICAL)]
    elif find_spec("zensical") and find_spec("mkdocstrings_handlers"):
        command = [sys.executable, "-m", "zensical"]
    else:
        pytest.skip("the tools of the documentation are missing: make docs")
    folder = tmp_path_factory.mktemp("site")
    for name in ("mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("docs", "rig"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    # A checkout on the path of Python would be documented in the place of the copy.
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = captured([*command, "build", "--strict"], cwd=folder, env=alone, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "build" / "site"


@pytest.mark.long
def test_every_page_is_built_and_the_reference_has_the_text_of_the_code(
    site: Path,
) -> None:
    for page in PAGES:
        built = "index" if page == "README" else page
        assert (site / f"{built}.html").is_file(), page
    interface = (site / "reference/API.html").read_text(encoding="utf-8")
    assert 'id="rig.Session.metrics"' in interface
    assert 'id="rig.open_bench"' in interface


class LoadedAddresses(HTMLParser):
    """Collects the addresses that a browser loads with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = "href" if tag == "link" else "src"
        self.found += [value for name, value in attrs if name == wanted and value]


def test_no_page_loads_anything_from_a_server(site: Path) -> None:
    for page in site.rglob("*.html"):
        sources = LoadedAddresses()
        sources.feed(page.read_text(encoding="utf-8"))
        assert sources.found
        for address in sources.found:
            assert not re.match(r"(\w+:)?//", address), f"{page.name}: {address}"


@pytest.mark.long
@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")
def test_the_search_finds_a_word_from_files_without_a_network(
    site: Path, tmp_path: Path
) -> None:
    with browser.offline_page(tmp_path) as page:
        page.open(site / "index.html")
        page.wait_for("document.images.length && document.images[0].naturalWidth > 0")
        page.press_control("k")
        # The input of the search is drawn in a tree of its own.
        page.wait_for(f"{_ACTIVE}?.tagName == 'INPUT'")
        page.call("Input.insertText", text="retransmission")
        page.wait_for(f"{_ACTIVE}.getRootNode().textContent.includes('Shim protocol')")
        assert page.requested
        assert all(
            address.split(":")[0] in ("file", "data", "blob", "about")
            for address in page.requested
        ), page.requested


_ACTIVE = "(document.activeElement.shadowRoot ?? document).activeElement"
