# SPDX-License-Identifier: Apache-2.0
"""`--json` of commands that list, plan and probe: one document alone on standard
output, with the words of outcomes and labels, and the exit code that the command has
without it.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rig.bench.probe import probe as probe_bench
from rig.cli.main import rig
from rig.model.finding import Finding
from rig.session.session import open_bench
from tests.conftest import ROOT

VIRTUAL = ROOT / "benches" / "virtual-null.toml"
QUICK = ("task.null.samples=2", "scenario.single_stream.idle_s=0.1")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one session of two trials."""
    folder = tmp_path_factory.mktemp("json") / "sessions"
    with open_bench(VIRTUAL, QUICK) as opened:
        opened.run(2, folder)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(rig, [str(word) for word in words], standalone_mode=False)


def told(*words: str | Path) -> dict[str, Any]:
    """Return a command's output with --json."""
    done = run(*words, "--json")
    assert done.exception is None, done.exception
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_list_has_every_kind_whole_and_sessions_with_outcome_and_labels(
    sessions: Path,
) -> None:
    result = told("list", "--sessions", sessions)
    kinds = {kind["name"]: kind for kind in result["monitor"]}
    assert kinds["virtual"]["about"].endswith("simulated.")
    assert set(result) == {"sut", "monitor", "scenario", "task", "sessions"}
    [row] = result["sessions"]
    assert row["outcome"] == "not tested" and row["status"] == "success"
    assert "SIMULATED" in row["labels"] and Path(row["session"]).parent == sessions


def test_settings_are_listed_with_what_is_allowed() -> None:
    result = told("list", "bench")
    trials = next(row for row in result["settings"] if row["key"] == "trials")
    assert trials["default"] == "5" and trials["type"] == "integer" and trials["help"]


def test_a_plan_has_all_steps_what_they_take_and_labels(tmp_path: Path) -> None:
    options = ("--set", QUICK[0], "--trial=2", "--sessions", tmp_path)
    result = told("plan", VIRTUAL, *options)
    assert (
        result["trial"] == 2
        and result["room"] is True
        and result["virtual_time"] is True
    )
    assert "SIMULATED" in result["labels"]
    kinds = [step["kind"] for step in result["steps"]]
    assert kinds.count("query") == kinds.count("load") > 2 and "idle" in kinds
    assert all(step["text"] for step in result["steps"])
    assert 0 < result["expected_s"] == result["known_s"]
    assert result["known_b"] > result["byte_hz"] * result["known_s"] > 0
    assert "SIMULATED" in run("plan", VIRTUAL).stdout


def test_a_probe_has_a_word_for_each_row_and_names_what_is_simulated() -> None:
    result = told("probe", VIRTUAL)
    assert result["outcome"] == "pass" and result["labels"] == ["SIMULATED"]
    rows = {row["name"]: row for row in result["findings"]}
    assert rows["monitor"]["labels"] == rows["device"]["labels"] == ["SIMULATED"]
    assert rows["bench file"]["labels"] == [] and rows["SYNC wire"]["outcome"] == "pass"
    beside = run("probe", VIRTUAL, "--json").stderr
    assert (
        "PASS  monitor:  SIMULATED  virtual monitor" in beside
        and "next: rig run" in beside
    )


def test_a_probe_that_finds_something_wrong_says_so_and_exits_3(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(*words: Any, **options: Any) -> Any:
        yield from list(probe_bench(*words, **options))[:2]
        yield Finding("timer rate", True, "not decided", tested=False)
        yield Finding("SYNC wire", False, "no edges", "wire it")

    monkeypatch.setattr("rig.cli.probe.probe_bench", wrong)
    done = run("probe", VIRTUAL, "--json")
    result = json.loads(done.stdout)
    assert done.return_value == 3 and result["outcome"] == "fail"
    assert [row["outcome"] for row in result["findings"]] == [
        "pass",
        "pass",
        "not tested",
        "fail",
    ]
    assert result["findings"][-1]["try_next"] == "wire it"


def test_an_error_prints_no_document(tmp_path: Path) -> None:
    for words in (
        ("probe", "nosuch.toml"),
        ("plan", "nosuch.toml"),
        ("list", "sut.nosuch"),
    ):
        done = run(*words, "--json")
        assert done.exception is not None and not done.stdout


def test_windows_of_a_trial_have_the_names_of_its_phases_and_samples(
    sessions: Path,
) -> None:
    [session] = sessions.iterdir()
    result = told("measure", session / "trial-1")
    names = [window["name"] for window in result["windows"]]
    assert any(name.endswith(" idle") for name in names)
    counted = {
        name.partition(" ")[2]: window
        for name, window in zip(names, result["windows"], strict=True)
        if " of sample " in name and "warm-up" not in name
    }
    due = {
        f"{phase} of sample {n}"
        for phase, n in product(("preprocess", "infer"), (0, 1))
    }
    assert set(counted) == due
    assert any(name.endswith(", warm-up") for name in names)
    assert all(window["energy_j"] > 0 for window in counted.values())


def test_windows_that_are_not_the_sessions_have_no_names_of_it(sessions: Path) -> None:
    [session] = sessions.iterdir()
    pulses = told("measure", session / "trial-1", "--edges", "fall-rise")["windows"]
    assert all(window["name"].isdecimal() for window in pulses)
    whole = told("measure", session / "trial-1", "--whole")["windows"]
    assert len(whole) == 1 and "sample" not in whole[0]["name"]
