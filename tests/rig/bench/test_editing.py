# SPDX-License-Identifier: Apache-2.0
"""A bench file's text edited key by key: comments and order stay, defaults are not
written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rig.bench import config
from rig.bench.editing import UNSET, BenchText
from rig.errors import ConfigError
from tests.conftest import ROOT

BENCHES = sorted((ROOT / "benches").glob("*.toml"))
FOLDER = ROOT / "benches"
TEXT = """\
# What this bench is for.
[bench]
name = "mine"   # how it is called

# The device.
[sut.virtual]
clock_ppm = 60.0

# The instrument.
[monitor.virtual]
sample_hz = 200_000     # as the real one

[scenario.single_stream]

[task.null]
samples = 6
"""


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


def test_a_value_that_is_there_is_changed_in_its_place() -> None:
    edited = BenchText(TEXT).with_value("monitor.virtual.sample_hz", 100_000)
    assert edited.text == TEXT.replace("200_000     #", "100000     #")


def test_a_new_key_stands_behind_its_table_and_before_the_next_ones_comment() -> None:
    edited = BenchText(TEXT).with_value("sut.virtual.tick_hz", 500)
    assert edited.text == TEXT.replace("= 60.0\n", "= 60.0\ntick_hz = 500\n")


def test_a_key_of_a_table_inside_gets_a_table_of_its_own_and_leaves_no_trace_when_it_goes():
    edited = BenchText(TEXT).with_value("sut.virtual.infer.power_w", 0.5)
    assert "\n[sut.virtual.infer]\npower_w = 0.5\n" in edited.text
    assert edited.problem(FOLDER) is None
    assert edited.with_value("sut.virtual.infer.power_w", 0.045).text == TEXT


def test_a_default_is_not_written_unless_a_comment_stands_behind_the_key() -> None:
    text = BenchText(TEXT)
    assert (
        text.with_value("sut.virtual.clock_ppm", 40.0).value("sut.virtual.clock_ppm")
        is UNSET
    )
    kept = text.with_value("bench.name", "bench")
    assert 'name = "bench"   # how it is called' in kept.text
    assert text.with_value("bench.trials", 5).text == TEXT


def test_a_key_that_is_taken_away_leaves_its_comment() -> None:
    edited = BenchText(TEXT).without("monitor.virtual.sample_hz")
    assert edited.value("monitor.virtual.sample_hz") is UNSET
    assert "# as the real one" in edited.text
    assert edited.without("monitor.virtual.sample_hz") == edited


def test_another_kind_keeps_the_place_the_comments_and_what_it_knows() -> None:
    edited = BenchText(TEXT).with_kind("sut", "posix")
    assert "# The device.\n[sut.posix]\n\n# The instrument." in edited.text
    back = edited.with_value("sut.posix.tick_hz", 5).with_kind("sut", "virtual")
    assert back.value("sut.virtual.tick_hz") == 5
    assert comments(edited.text) == comments(TEXT)


def test_a_second_monitor_makes_two_rails_and_its_removal_leaves_one() -> None:
    both = BenchText(TEXT).with_monitor("virtual", "io", first="core")
    assert both.monitors() == {"core": "rail.core", "io": "rail.io"}
    assert both.problem(FOLDER) is None
    assert both.value("rail.core.virtual.sample_hz") == 200_000
    assert both.text.index("rail.io") < both.text.index("scenario")
    assert comments(both.text) == comments(TEXT)
    item = both.without_monitor("io")
    assert item.monitors() == {"core": "rail.core"}
    none = item.without_monitor("core")
    assert none.monitors() == {}
    assert none.problem(FOLDER) is None
    assert none.with_monitor("virtual").monitors() == {"": "monitor"}


def test_a_second_monitor_of_the_same_supply_is_refused() -> None:
    text = BenchText(TEXT)
    with pytest.raises(ConfigError, match="a second supply has a name"):
        text.with_monitor("virtual")
    with pytest.raises(ConfigError, match="'io' is measured already"):
        text.with_monitor("virtual", "io").with_monitor("virtual", "io")


def test_inline_tables_and_dotted_keys_are_edited_as_they_stand() -> None:
    text = BenchText(
        "sut.virtual = {clock_ppm = 3.0, infer = {power_w = 0.2}}\n"
        "monitor.virtual.sample_hz = 5000\n"
        "[scenario.single_stream]\n[task.null]\n"
    )
    edited = text.with_value("sut.virtual.infer.power_w", 0.3).with_value(
        "sut.virtual.idle_w", 0.1
    )
    edited = edited.with_value("monitor.virtual.clock_ppm", 1.0).without(
        "sut.virtual.clock_ppm"
    )
    tree = tomllib.loads(edited.text)
    assert tree["sut"]["virtual"] == {"infer": {"power_w": 0.3}, "idle_w": 0.1}
    assert tree["monitor"]["virtual"] == {"sample_hz": 5000, "clock_ppm": 1.0}
    assert edited.with_kind("monitor", "none").kind("monitor") == "none"


def test_texts_of_several_lines_hold_no_keys() -> None:
    text = BenchText(
        TEXT + '\n[metadata]\nnote = """\n[sut.other]\nclock_ppm = 1\n"""\n'
    )
    edited = text.with_value("sut.virtual.clock_ppm", 7.0)
    assert edited.value("sut.virtual.clock_ppm") == 7.0
    assert edited.value("metadata.note") == "[sut.other]\nclock_ppm = 1\n"


@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_an_edit_of_an_example_changes_that_key_and_no_comment(path: Path) -> None:
    text = BenchText(path.read_text(encoding="utf-8"))
    edited = text.with_value("bench.seed", 77).with_value(
        "scenario.single_stream.idle_s", 0.9
    )
    if text.kind("scenario") != "single_stream":
        edited = text.with_value("bench.seed", 77)
    assert comments(edited.text) == comments(text.text)
    assert edited.value("bench.seed") == 77
    assert (
        edited.with_value("bench.trials", 4)
        .with_value("bench.trials", 5)
        .without("bench.seed")
        .without("scenario.single_stream.idle_s")
        .tree()
        == text.without("bench.seed")
        .without("scenario.single_stream.idle_s")
        .without("bench.trials")
        .tree()
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("clock_ppm = 60.0", "clock_ppm = = 60.0", 7, "is not TOML"),
        ("clock_ppm = 60.0", "clock_pm = 60.0", 7, "did you mean clock_ppm"),
        ("clock_ppm = 60.0", 'clock_ppm = "fast"', 7, "'fast' is not a float"),
        ("samples = 6", "samples = -3", 16, "-3"),
        ("[sut.virtual]", "[sut.vitual]", 6, "no such kind of sut"),
        ("[scenario.single_stream]\n", "", None, "exactly one table [scenario.KIND]"),
        ("[bench]", "[bunch]", 2, "no such section"),
        ("samples = 6\n", "samples = [1,\n", 16, "is not TOML"),
    ],
)
def test_nonsense_is_named_with_its_line(
    old: str, new: str, line: int | None, says: str
) -> None:
    problem = BenchText(TEXT.replace(old, new)).problem(FOLDER)
    assert problem is not None
    assert problem.line == line
    assert says in problem.sentence
    assert "\n" not in problem.sentence


def test_the_problem_of_a_text_is_what_the_command_line_says(tmp_path: Path) -> None:
    wrong = TEXT.replace("samples = 6", "samples = 0.5")
    path = tmp_path / "wrong.toml"
    path.write_text(wrong)
    with pytest.raises(ConfigError) as raised:
        config.load(path)
    problem = BenchText(wrong).problem(tmp_path)
    assert problem is not None
    assert str(problem.error) == str(raised.value)
