# SPDX-License-Identifier: Apache-2.0
"""The screen of `rig run`, as stored in screens/: one for each outcome and width."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rig.cli.printed.summary import print_summary, shown
from rig.results import document
from rig.results.document import Results
from rig.results.resolution import Resolution
from rig.session.session import open_bench
from rig.store.session_folder import RESULTS
from tests import screens
from tests.conftest import ROOT

FOLDER = Path("sessions/20261124T120000Z-bench")
SCREENS = Path(__file__).parent / "screens"
#: Properties of a terminal.
LINES = 24
ASC = ["task.asc.samples=6", "scenario.single_stream.idle_s=0.1"]


def measured(folder: Path, bench: str, *overrides: str, trials: int = 5) -> Results:
    with open_bench(ROOT / "benches" / f"{bench}.toml", overrides) as opened:
        return opened.run(trials, folder).results


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, drifting_session: Path
) -> dict[str, Results]:
    folder = tmp_path_factory.mktemp("summary")
    passed = measured(folder, "virtual-asc", *ASC)
    claimed = replace(passed, audit=passed.replication)
    null = ("task.null.samples=4", "scenario.single_stream.idle_s=0.1")
    return {
        "pass": passed,
        "claim": claimed,
        "fail": document.read(drifting_session / RESULTS),
        "not-tested": measured(folder, "virtual-null", *null, trials=2),
        "invalid": measured(
            folder, "virtual-null", *null, "monitor.virtual.edge_jitter_s=1e-5"
        ),
        "qubo": measured(folder, "virtual-qubo"),
    }


OUTCOMES = ("pass", "claim", "fail", "not-tested", "invalid", "qubo")


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_screen_is_the_stored_one(name: str, results: dict[str, Results]) -> None:
    def show(width: int, piped: bool) -> str:
        result = screens.screen(
            lambda console: print_summary(
                console, results[name], FOLDER, FOLDER / "report.html"
            ),
            width,
            piped=piped,
        )
        # and the line that names the session
        assert len(result.splitlines()) <= LINES - 1
        return result

    result = screens.every(show)
    screens.compare(SCREENS / f"run-{name}.txt", result)
    assert not screens.wider(result)


def test_more_headlines_than_rows_are_cut_and_counted(
    results: dict[str, Results],
) -> None:
    found = results["qubo"]
    (first, *_) = shown(found).values()
    many = {f"cut_problem{number}_1s": first for number in range(30)}
    changed = replace(found, metrics=many)
    text = screens.screen(
        lambda console: print_summary(console, changed, FOLDER, FOLDER / "report.html"),
        80,
        piped=True,
    )
    rows = [line for line in text.splitlines() if line.startswith(" cut_problem")]
    assert len(shown(changed)) == 11
    assert rows[0].startswith(" cut_problem0_1s ")
    assert f"19 more metrics: rig results {FOLDER} --all" in text


def test_a_reason_that_is_too_long_for_a_cell_stands_below_the_table(
    results: dict[str, Results],
) -> None:
    found = results["not-tested"]
    name, metric = next(iter(shown(found).items()))
    reason = "one trial does not tell what differs from trial to trial"
    sides = {
        side: replace(getattr(metric, side), reason=reason)
        for side in ("same_samples", "other_samples")
    }
    metrics = {**found.metrics, name: replace(metric, **sides)}
    changed = replace(found, metrics=metrics)
    text = screens.screen(
        lambda console: print_summary(console, changed, FOLDER, FOLDER / "report.html"),
        80,
        piped=True,
    )
    assert "not known [1]" in text
    assert f"[1] not known: {reason}" in text


def printed(results: Results) -> str:
    return screens.screen(
        lambda console: print_summary(console, results, FOLDER, FOLDER / "report.html"),
        100,
        piped=True,
    )


def test_one_trial_has_no_distance_from_the_mean(results: dict[str, Results]) -> None:
    found = results["not-tested"]
    metrics = {
        name: replace(metric, per_trial=metric.per_trial[:1])
        for name, metric in found.metrics.items()
    }
    text = printed(replace(found, metrics=metrics))
    rows = [line for line in text.splitlines() if line.startswith(" latency_")]
    assert [row.split()[-1] for row in rows] == ["-"] * 3


def test_a_window_of_which_no_length_is_enough_is_not_called_too_short(
    results: dict[str, Results],
) -> None:
    never = Resolution("infer", 0.06, 0.12, None, "current gain")
    short = Resolution("idle", 0.1, 0.06, 0.2, "noise")
    text = printed(replace(results["pass"], resolution=(never, short)))
    assert "windows too short to resolve 5 %: idle (--wide states the length" in text
    assert "windows of no length resolve 5 %: infer (current gain)" in text
