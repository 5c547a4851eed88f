# SPDX-License-Identifier: Apache-2.0
"""Advice reads as the command line names options, and other edges word it."""

from __future__ import annotations

import ast
import pickle
from dataclasses import fields

from rig.importers.advice import Advice, AdvisedNote, NoSync, Suggestion, give, worded
from rig.importers.options import Options
from tests.conftest import ROOT
from tests.sources import parsed

RATE = give(", if you know it", rate_hz="HZ")
EVEN = give(time="none", rate_hz="HZ")


def as_names(suggestion: Suggestion) -> str:
    """Word a suggestion by the fields' names; refuse one of the time."""
    names = [name for name, _ in suggestion.options]
    return "" if "time" in names else "+".join(names)


def test_advice_reads_as_options_of_the_command_line() -> None:
    assert Advice(RATE) == "--rate HZ, if you know it"
    assert Advice("mend it", EVEN) == "mend it, or --time none --rate HZ"
    assert Advice(give(current="I (mA):UNIT")) == "--current 'I (mA):UNIT'"
    assert Advice(give(supply_v="")) == "--supply-v"


def test_an_edge_words_advice_by_itself_and_leaves_out_what_it_refuses() -> None:
    advice = Advice("mend it", EVEN, RATE)
    assert advice.worded(as_names) == "mend it, or rate_hz"
    assert Advice(EVEN).worded(as_names) == ""
    assert advice.or_else("resample it").worded(as_names).endswith(", or resample it")


def test_joined_advice_names_each_need_once() -> None:
    advice = Advice.joined([Advice(RATE), "mend it", Advice(RATE), Advice(EVEN)])
    assert advice == "--rate HZ, if you know it; mend it; --time none --rate HZ"
    assert advice.worded(as_names) == "rate_hz; mend it"


def test_a_note_keeps_its_fact_where_an_edge_refuses_its_advice() -> None:
    note = AdvisedNote("known to 1 %", Advice(EVEN))
    assert note == "known to 1 %: --time none --rate HZ"
    assert worded(note, as_names) == "known to 1 %"
    assert worded(NoSync("no SYNC", Advice(RATE)), as_names) == "no SYNC: rate_hz"
    assert NoSync("no SYNC") == worded(NoSync("no SYNC"), as_names) == "no SYNC"
    assert worded("--rate HZ", as_names) == "--rate HZ"


def test_advice_keeps_its_suggestions_on_the_way_to_another_process() -> None:
    for text in (Advice(EVEN, RATE), NoSync("no SYNC", Advice(RATE))):
        passed = pickle.loads(pickle.dumps(text))
        assert passed == text
        assert worded(passed, as_names) == worded(text, as_names)


def test_importers_suggest_options_that_exist() -> None:
    named = set()
    for path in (ROOT / "rig/importers").rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "give":
                named |= {keyword.arg for keyword in node.keywords if keyword.arg}
    assert {"supply_v", "rate_hz", "sync"} <= named
    assert named <= {field.name for field in fields(Options)}
