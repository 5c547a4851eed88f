# SPDX-License-Identifier: Apache-2.0
"""The files for people: types for users of the packages, hooks, citation, width of the
pages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rig.cli.docs import KINDS
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [
    name.removesuffix("*")
    for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_types_of_every_package_reach_its_users(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"][package]


def test_every_hook_before_a_commit_is_a_step_of_make_check() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    steps = (ROOT / "Makefile").read_text(encoding="utf-8")
    entries = re.findall(
        r"entry: \.venv/bin/(.+?)(?: --force-exclude)?$", hooks, re.MULTILINE
    )
    assert len(entries) == hooks.count("- id:") == 4
    for entry in entries:
        assert f"$(BIN)/{entry}" in steps, entry


def test_the_citation_names_the_version_and_licence_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r'^([\w-]+): "?(.+?)"?$', citation, re.MULTILINE))
    assert {"cff-version", "message", "title", "type"} <= set(fields)
    assert fields["version"] == PROJECT["project"]["version"]
    assert fields["license"] == PROJECT["project"]["license"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_pages_are_at_most_100_columns_wide_except_rows_of_tables(
    page: Path,
) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    wide = [
        number
        for number, line in enumerate(lines, 1)
        if len(line) > 100 and not line.startswith("|")
    ]
    assert not wide


def test_every_link_between_pages_leads_to_a_file() -> None:
    for page in PAGES:
        for link in re.findall(
            r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")
        ):
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)}: {link}"


def test_every_page_is_of_one_kind_and_in_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    names = [
        path.relative_to(docs).as_posix()
        for path in docs.rglob("*.md")
        if path.parent.name != "decisions" and path.parent != docs
    ]
    assert {name.split("/")[0] for name in names} == set(KINDS)
    assert {name for name in names if f"]({name})" not in index} == set()
    # `rig docs` and messages name a page without its folder.
    assert len({Path(name).name for name in names}) == len(names)


def test_the_index_names_each_page_by_its_title_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    titles = {
        page: title
        for title, page in re.findall(r"^ +- (.+): (\S+\.md)$", menu, re.MULTILINE)
    }
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    rows = "\n".join(row for row in index.splitlines() if row.startswith("| ["))
    links = re.findall(r"\[([^]]+)\]\((\S+\.md)\)", rows)
    assert len(links) > 50
    assert [(text, page) for text, page in links if titles[page] != text] == []


def test_the_menu_of_the_site_has_every_page_once_and_no_other() -> None:
    """A new page has a line in `nav` of mkdocs.yml; a decision in DECISIONS.md."""
    menu = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- .+: (\S+\.md)$", menu, re.MULTILINE)
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    decisions = {page for page in pages if re.match(r"decisions/\d", page)}
    assert set(listed) == pages - decisions
    assert len(listed) == len(set(listed))
    index = (docs / "decisions" / "DECISIONS.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((\S+\.md)\)", index)
    assert sorted(f"decisions/{link}" for link in links) == sorted(decisions)


_ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) +\S")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lists_of_pages_are_lists_on_the_site_too(page: Path) -> None:
    """Python-Markdown wants a blank line before a list, and four spaces before the
    items of an inner one.
    """
    text = page.read_text(encoding="utf-8")
    without_code = re.sub(
        r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL
    )
    before = ""
    inside = False
    wrong = []
    for number, line in enumerate(without_code.splitlines(), 1):
        if item := _ITEM.match(line):
            follows_text = bool(before.strip()) and not inside
            if follows_text or len(item[1]) % 4:
                wrong.append(f"{number}: {line}")
            inside = True
        elif line and not line.startswith(" "):
            # A line of a paragraph that goes on below its item ends the list as well.
            inside = False
        before = line
    assert not wrong


def pinned(name: str) -> dict[str, str]:
    """Return the packages of a file of versions, by their names as registries write
    them."""
    rows = re.findall(
        r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text("utf-8"), re.MULTILINE
    )
    return {canonicalize_name(package): version for package, version in rows}


def test_the_lock_has_the_versions_of_the_constraints_and_a_hash_of_each_package():
    lock = (ROOT / "constraints.lock").read_text(encoding="utf-8")
    assert "//" not in lock, "no address of a registry"
    known = pinned("constraints.txt")
    locked = pinned("constraints.lock")
    assert {
        name: version for name, version in locked.items() if known.get(name) != version
    } == {}
    packages = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)[1:]
    assert len(packages) == len(locked)
    assert all("--hash=sha256:" in package for package in packages)


def test_the_lock_has_every_package_that_the_tests_need() -> None:
    extras = re.search(
        r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert extras is not None
    wanted = [*PROJECT["project"]["dependencies"]]
    for extra in extras[1].split():
        wanted += PROJECT["project"]["optional-dependencies"][extra]
    names = {canonicalize_name(Requirement(each).name) for each in wanted}
    assert names <= pinned("constraints.lock").keys()
