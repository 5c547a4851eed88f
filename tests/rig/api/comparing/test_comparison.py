# SPDX-License-Identifier: Apache-2.0
"""Two sessions compared: the uncertainty of a difference, shared facts, changed facts."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import rig
from rig.api.comparing.comparison import compare
from rig.api.comparing.metric_pairs import (
    ComparisonOutcome,
    MetricPair,
    counts,
    pair,
)
from rig.api.comparing.provenance_changes import flat
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.cli.main import rig as command
from rig.results.document import IntervalResult, MetricResult
from rig.session.session import open_bench
from rig.uncertainty.budget import Part
from tests.conftest import VIRTUAL_NULL
from tests.recorded import recorded


def interval(value: float, u: float | None, k: float = 2.0) -> IntervalResult:
    half = None if u is None else k * u
    low = value - (half if half is not None else 0.1)
    high = value + (half if half is not None else 0.1)
    return IntervalResult(
        low,
        high,
        "",
        "",
        reason="",
        standard_uncertainty=u,
        coverage_factor=k if u is not None else None,
        expanded_uncertainty=half,
    )


def metric(value: float, *parts: Part, better: bool | None = False) -> MetricResult:
    u = math.hypot(*(part.standard_uncertainty for part in parts)) if parts else None
    return MetricResult(
        value=value,
        unit="J",
        higher_is_better=better,
        standard_error_over_samples=None,
        same_samples=interval(value, u),
        other_samples=interval(value, None if u is None else 2 * u),
        budget=parts,
        per_trial=(),
    )


def gain(u: float, name: str = "current gain to 18 mA") -> Part:
    return Part(
        component=name,
        standard_uncertainty=u,
        type="B",
        shape="rectangular",
        counted=True,
    )


def scatter(u: float) -> Part:
    return Part(
        component="scatter of trials",
        standard_uncertainty=u,
        type="A",
        shape="normal",
        counted=True,
    )


def test_with_nothing_in_common_uncertainties_add_in_squares() -> None:
    result = pair("energy", metric(1.0, gain(3e-3)), metric(1.1, gain(4e-3)), ())
    assert result.apart is not None and result.shared is not None
    assert result.apart.standard_uncertainty == pytest.approx(5e-3)
    assert result.shared.standard_uncertainty == pytest.approx(5e-3)
    assert result.shared_parts == ()
    assert result.outcome is ComparisonOutcome.DIFFERS
    assert result.better is False
    assert result.relative == pytest.approx(0.1)


def test_the_gain_of_one_instrument_cancels_but_what_is_left_of_it() -> None:
    result = pair(
        "energy",
        metric(1.0, gain(3e-3), scatter(1e-4)),
        metric(1.1, gain(3.3e-3), scatter(1e-4)),
        ("",),
    )
    assert result.apart is not None and result.shared is not None
    assert result.shared_parts == ("current gain to 18 mA",)
    assert result.shared.standard_uncertainty == pytest.approx(
        math.hypot(3e-4, 1e-4, 1e-4)
    )
    assert result.apart.standard_uncertainty == pytest.approx(
        math.hypot(3e-3, 3.3e-3, 1.4142e-4), rel=1e-4
    )


def test_a_small_difference_is_shown_only_if_the_instrument_stayed_the_same() -> None:
    item = metric(1.0, gain(3e-3), scatter(1e-4))
    other = metric(1.002, gain(3e-3), scatter(1e-4))
    result = pair("energy", item, other, ("",))
    assert result.outcome is ComparisonOutcome.IF_UNCHANGED
    assert result.better is None
    assert pair("energy", item, other, ()).outcome is ComparisonOutcome.NOT_SHOWN


def test_another_range_is_another_error_and_scatter_is_never_shared() -> None:
    result = pair(
        "energy",
        metric(1.0, gain(3e-3), scatter(1e-3)),
        metric(1.1, gain(3e-3, "current gain to 180 mA"), scatter(1e-3)),
        ("",),
    )
    assert result.shared_parts == ()


def test_of_several_rails_only_that_of_the_same_instrument_is_shared() -> None:
    parts = (gain(1e-3, "core: current gain"), gain(1e-3, "io: current gain"))
    result = pair("energy", metric(1.0, *parts), metric(1.1, *parts), ("core",), True)
    assert result.shared_parts == ("core: current gain",)


def test_sessions_of_different_samples_show_the_intervals_for_other_samples() -> None:
    item, other = metric(0.1, scatter(1e-3)), metric(0.11, scatter(1e-3))
    same, others = (
        pair("energy", item, other, (), same_samples=known) for known in (True, False)
    )
    assert (
        same.interval(item) == item.same_samples
        and others.interval(item) == item.other_samples
    )
    assert value_text(same, item) != value_text(others, item)
    lacking = replace(
        item, other_samples=replace(interval(0.1, None), reason="2 cities")
    )
    result = pair("energy", lacking, other, (), same_samples=False)
    assert (
        result.outcome is ComparisonOutcome.UNKNOWN
        and "not known: 2 cities" in result.reason
    )
    shown = value_text(result, lacking)
    assert shown == "100.0 mJ (not known: 2 cities)"


def test_other_samples_make_a_difference_less_sure() -> None:
    item = metric(1.0, scatter(1e-3))
    other = metric(1.0041, scatter(1e-3))
    assert pair("energy", item, other, ()).outcome is ComparisonOutcome.DIFFERS
    result = pair("energy", item, other, (), same_samples=False)
    assert result.apart is not None
    assert result.apart.standard_uncertainty == pytest.approx(math.hypot(2e-3, 2e-3))
    assert result.outcome is ComparisonOutcome.NOT_SHOWN


def test_without_a_standard_uncertainty_intervals_that_do_not_meet_tell() -> None:
    assert (
        pair("share", metric(0.1), metric(0.2), ()).outcome
        is ComparisonOutcome.NOT_SHOWN
    )
    assert (
        pair("share", metric(0.1), metric(0.4), ()).outcome is ComparisonOutcome.DIFFERS
    )
    assert (
        pair("share", metric(0.1), metric(0.1), ()).outcome is ComparisonOutcome.EQUAL
    )
    lacking = replace(
        metric(0.1), same_samples=replace(interval(0.1, None), reason="too few")
    )
    result = pair("share", lacking, metric(0.4), ())
    assert result.outcome is ComparisonOutcome.UNKNOWN and "too few" in result.reason
    alone = pair("share", None, metric(0.4), ())
    assert alone.outcome is ComparisonOutcome.IN_ONE and difference_text(alone) == "-"
    nothing = pair("share", replace(metric(0.1), value=None), metric(0.4), ())
    assert nothing.outcome is ComparisonOutcome.UNKNOWN


def test_numbers_of_one_row_have_one_unit() -> None:
    result = pair(
        "energy", metric(9.5e-4, scatter(1e-6)), metric(1.05e-3, scatter(1e-6)), ()
    )
    assert difference_text(result) == "+0.1000 mJ (+11 %)"
    both = difference_text(result, with_spread=True)
    assert both == "+0.1000 ± 0.0028 mJ (+11 %)"
    assert spread_text(result, result.apart) == "± 0.0028 mJ"
    assert value_text(result, result.first) == "0.9500 ± 0.0020 mJ"
    assert value_text(result, result.second) == "1.0500 ± 0.0020 mJ"
    same = pair("energy", metric(1e-3, scatter(1e-6)), metric(1e-3, scatter(1e-6)), ())
    assert difference_text(same) == "0 mJ"


@pytest.mark.parametrize(
    ("value", "u", "shown"),
    [
        (1.5e-7, 6.5e-12, "150.000 ± 0.013 nJ"),
        (6e-9, 7e-12, "6.000 ± 0.014 nJ"),
        (0.029984, 4.2e-5, "0.029984 ± 0.000084 J"),
        (0.0, 4.2e-5, "0 ± 84 µJ"),
    ],
)
def test_a_value_has_the_digits_of_its_interval(
    value: float, u: float, shown: str
) -> None:
    """Also beside one that is far larger."""
    other = metric(5.01, scatter(1e-3))
    result = pair("energy", other, metric(value, scatter(u)), ())
    assert value_text(result, result.second) == shown
    assert value_text(result, other) == "5.0100 ± 0.0020 J"
    percent = difference_text(result).partition("(")[2]
    assert percent == "-100 %)" if value < 0.02 else percent == "-99 %)"


def test_a_tree_is_flat_by_path() -> None:
    tree = {
        "a": {"b": 1, "": {"c": "x"}},
        "d": [1, 2],
        "e": [{"f": True}],
        "g": {},
        "h": "",
    }
    assert flat(tree) == {
        "a.b": "1",
        "a.rail.c": "x",
        "d": "[1, 2]",
        "e[1].f": "true",
        "g": "{}",
        "h": '""',
    }


@pytest.fixture(scope="session")
def recorded_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def record(root: Path) -> None:
        few = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
        for name, more in (("once", []), ("twice", ["sut.virtual.infer.power_w=0.09"])):
            with open_bench(VIRTUAL_NULL, [*few, *more]) as bench:
                bench.run(5, root).folder.rename(root / name)

    return recorded(tmp_path_factory, "compared", record)


@pytest.fixture
def two(recorded_two: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two sessions, the second of twice the power."""
    root = shutil.copytree(recorded_two, tmp_path / "sessions")
    return root / "once", root / "twice"


def named(pairs: tuple[MetricPair, ...], name: str) -> MetricPair:
    return next(pair for pair in pairs if pair.name == name)


def test_twice_the_power_is_found_with_its_key(two: tuple[Path, Path]) -> None:
    result = compare(*map(rig.open_session, two))
    energy = named(result.metrics, "energy_infer")
    assert energy.outcome is ComparisonOutcome.DIFFERS and energy.better is False
    assert energy.relative == pytest.approx(1.0, rel=0.02)
    assert named(result.metrics, "power_idle").outcome is ComparisonOutcome.NOT_SHOWN
    assert counts(result.metrics)[ComparisonOutcome.DIFFERS] >= 3
    changed = {change.path: (change.before, change.after) for change in result.changes}
    assert changed["bench.sut.virtual.infer.power_w"] == ("0.045", "0.09")
    assert result.changes[-1].ordinary
    # The virtual monitor has no serial number, so it cannot be known to be the same
    # one.
    assert result.shared_rails == ()
    assert any("without a serial number" in note for note in result.notes)


def test_a_session_that_is_none_any_more_is_reported(two: tuple[Path, Path]) -> None:
    (two[1] / "results.json").write_text("{")
    result = compare(rig.Session(two[0]), rig.Session(two[1]))
    assert result.metrics == ()
    assert any("has no results" in note for note in result.notes)
    assert result.changes


def test_on_the_command_line(two: tuple[Path, Path]) -> None:
    done = CliRunner().invoke(command, ["compare", *map(str, two)], terminal_width=200)
    assert done.exit_code == 0, done.output
    assert "SIMULATED" in done.output
    assert "infer.power_w" in done.output
    row = next(line for line in done.output.splitlines() if "energy_infer " in line)
    assert "differs" in row and "mJ" in row
    assert "created_utc" not in done.output
    whole = CliRunner().invoke(command, ["compare", "--all", *map(str, two)])
    assert "created_utc" in whole.output or "bench_sha256" in whole.output


def test_sessions_are_listed_and_tagged_on_the_command_line(
    two: tuple[Path, Path],
) -> None:
    root = ["--sessions", str(two[0].parent)]
    listed = CliRunner().invoke(command, ["sessions", *root]).output
    assert two[0].name in listed and two[1].name in listed
    tagged = CliRunner().invoke(
        command, ["sessions", *root, "--tag", two[1].name, "good"]
    )
    assert tagged.exit_code == 0, tagged.output
    result = CliRunner().invoke(command, ["sessions", *root, "#good"]).output
    assert two[1].name in result and f"{two[0].name} " not in result
    without = CliRunner().invoke(command, ["sessions", *root, "--", "-#good"]).output
    assert f"{two[0].name} " in without and two[1].name not in without
