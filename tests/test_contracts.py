# SPDX-License-Identifier: Apache-2.0
"""A stand-in that accepts a call which its library refuses is found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contracts import c_functions, described, described_by, lacking, looser


class Library:
    """As a library has it."""

    def start(self) -> None:
        """Start."""

    def run(self, steps: int, *, seed: int, limit_s: float = 1.0) -> None:
        """Run."""

    def free(self, *args: Any, **kwargs: Any) -> None:
        """Accept any event."""


class WithReset:
    """As a stand-in had it."""

    def start(self, reset: bool = True) -> None:
        """Start."""


@pytest.mark.parametrize(
    ("stand_in", "library", "said"),
    [
        (
            WithReset().start,
            Library().start,
            ["it takes reset as argument 1 without a name"],
        ),
        (lambda **more: None, Library().start, ["it takes any names"]),
        (
            lambda steps, seed: None,
            Library().run,
            ["it takes seed as argument 2 without a name"],
        ),
        (lambda count, *, seed: None, Library().run, ["its argument 1 is count"]),
        (lambda steps, *, seed=1: None, Library().run, ["it does without seed"]),
        (lambda steps: None, Library().run, ["it does without seed"]),
        (lambda steps, *, seed, pace=1: None, Library().run, ["it takes pace by name"]),
        (lambda steps, *, seed: None, Library().run, []),
        (lambda steps, /, *, seed: None, Library().run, []),
        (lambda count, /, *, seed: None, Library().run, []),
        (lambda count=1, /, *, seed: None, Library().run, ["it does without steps"]),
        (lambda: None, Library().start, []),
    ],
)
def test_what_a_stand_in_takes_beyond_its_library_is_reported(
    stand_in: Callable[..., None], library: Callable[..., None], said: list[str]
) -> None:
    result = looser(stand_in, described(library))
    assert bool(result) == bool(said)
    assert all(part in " ".join(result) for part in said)


def test_names_that_a_library_checks_itself_are_stated() -> None:
    free = described(Library().free)
    assert looser(lambda *, tau: None, free) == []
    assert looser(lambda *, tau: None, free, named=("tau",)) == []
    assert looser(lambda *, tao: None, free, named=("tau",)) == ["it takes tao by name"]


def test_a_library_of_another_interpreter_is_described_without_an_import_here(
    tmp_path: Path,
) -> None:
    wanted = {
        "dumps": ("json", "dumps"),
        "decoder": ("json", "JSONDecoder()"),
        "nothing": ("json", "no_such"),
    }
    reported = described_by(sys.executable, wanted, tmp_path)
    assert looser(lambda obj, *, indent=None: None, reported["dumps"]) == []
    assert looser(lambda obj, indent: None, reported["dumps"]) != []
    assert lacking(Library(), reported["decoder"], ("decode",)) == [
        "the stand-in has no decode"
    ]
    assert looser(print, reported["nothing"])[0].startswith(
        "it is not there: NameError"
    )


def test_the_functions_of_c_source_are_read_with_their_types() -> None:
    source = """
static int viHidden(void) { return viOpen(1, ""); }
int viOpen(uint32_t session, const char *name) {
    return 0;
}
const char *viText(void)
{
    return "";
}
void other(int count) { (void)count; }
"""
    assert c_functions(source, "vi") == {
        "viHidden": [],
        "viOpen": ["uint32_t", "char*"],
        "viText": [],
    }
