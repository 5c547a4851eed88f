# SPDX-License-Identifier: Apache-2.0
"""The plug-ins of the pages "Write a ..." work as printed, found by their entry
points."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rig.bench import plugins
from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.report.report import write_report
from rig.session.session import SessionResult, open_bench
from tests.docs.scratch_package import blocks, installed
from tests.drivers import test_contract as drivers_contract

PAGES = {
    "WRITE_A_DRIVER.md": ("monitor", "logger"),
    "WRITE_A_BACKEND.md": ("sut", "echo"),
    "WRITE_A_SCENARIO.md": ("scenario", "cold_start"),
    "WRITE_A_TASK.md": ("task", "parity"),
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SessionResult]:
    """Run the bench of a page once, five trials."""

    @cache
    def run(page: str) -> SessionResult:
        folder = tmp_path_factory.mktemp("page")
        with installed(page, folder) as bench_file, open_bench(bench_file) as bench:
            return bench.run(root=folder / "sessions")

    return run


@pytest.mark.parametrize("page", PAGES)
def test_the_plugin_of_a_page_is_listed_and_its_bench_has_a_true_verdict(
    session: Callable[[str], SessionResult], page: str, tmp_path: Path
) -> None:
    section, kind = PAGES[page]
    with installed(page, tmp_path):
        assert kind in plugins.names(section)
    result = session(page)
    assert [trial.problems for trial in result.trials] == [()] * 5
    assert result.ok
    assert result.metrics["accuracy"].value == 1.0
    assert result.metrics["energy_total"].value > 0
    assert kind not in plugins.names(section)


@pytest.mark.parametrize(
    "page",
    [
        "WRITE_A_SCENARIO.md",  # has metrics of its own
        *(
            pytest.param(page, marks=pytest.mark.repeats)
            for page in ("WRITE_A_DRIVER.md", "WRITE_A_BACKEND.md", "WRITE_A_TASK.md")
        ),
    ],
)
def test_a_report_of_the_plugin_of_a_page_shows_every_metric(
    session: Callable[[str], SessionResult], page: str, tmp_path: Path
) -> None:
    result = session(page)
    with installed(page, tmp_path):
        page_made = write_report(result.folder)
    shown = page_made.read_text(encoding="utf-8")
    assert all(name in shown for name in result.metrics)


def test_the_driver_of_the_page_finds_the_energies_and_edges_of_a_known_load(
    tmp_path: Path,
) -> None:
    with installed("WRITE_A_DRIVER.md", tmp_path):
        logger = importlib.import_module("logger").Logger
    for number, contract in enumerate(
        (
            drivers_contract.test_the_energies_of_a_known_load_are_found_within_their_uncertainties,
            drivers_contract.test_many_edges_are_found_in_their_order_where_they_happened,
            drivers_contract.test_an_edge_at_which_the_power_steps_lies_where_it_does,
            drivers_contract.test_the_supply_is_off_until_switched_on_and_off_after_close,
            drivers_contract.test_an_exception_in_a_recording_leaves_a_closed_trace_and_no_supply,
            drivers_contract.test_a_second_recording_sees_nothing_of_the_first,
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        context = BenchContext(folder=folder)
        monitor = logger.open(logger.Settings(), context)
        contract((monitor, context), folder)
        monitor.close()


def test_the_backend_of_the_page_answers_a_null_query_with_the_power_it_states(
    session: Callable[[str], SessionResult],
) -> None:
    result = session("WRITE_A_BACKEND.md")
    # 12 ms at 30 mW and 20 ms at 50 mW.
    assert result.metrics["latency_infer"].value == pytest.approx(0.020, rel=1e-4)
    assert result.metrics["energy_total"].value == pytest.approx(1.36e-3, rel=1e-3)


def test_the_scenario_of_the_page_times_both_inferences_of_a_sample(
    session: Callable[[str], SessionResult],
) -> None:
    result = session("WRITE_A_SCENARIO.md")
    assert result.metrics["latency_first"].value == pytest.approx(0.060, rel=0.01)
    assert result.metrics["latency_second"].value == pytest.approx(0.060, rel=0.01)
    assert len(result.trials[0].measured.samples) == 24


def test_the_task_of_the_page_scores_right_and_wrong_answers(tmp_path: Path) -> None:
    with installed("WRITE_A_TASK.md", tmp_path) as bench_file:
        with open_bench(bench_file, ["sut.virtual.error_rate=0.0"]) as bench:
            task = bench.task
        right = task.reference(task.payload(3))
        assert task.score(3, right).correct
        assert not task.score(3, bytes([right[0] ^ 1])).correct


@pytest.mark.parametrize(
    ("page", "key"),
    [
        ("WRITE_A_DRIVER.md", "monitor.logger.sample_hz"),
        ("WRITE_A_BACKEND.md", "sut.echo.output_b"),
        ("WRITE_A_SCENARIO.md", "scenario.cold_start.idle_s"),
        ("WRITE_A_TASK.md", "task.parity.samples"),
    ],
)
def test_a_setting_outside_the_range_that_a_page_declares_is_refused(
    page: str, key: str, tmp_path: Path
) -> None:
    with (
        installed(page, tmp_path) as bench_file,
        pytest.raises(ConfigError) as refused,
        open_bench(bench_file, [f"{key}=0"]),
    ):
        pass
    assert refused.value.path == key


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_a_file_or_entry_points(page: str) -> None:
    python = blocks(page, "python")
    toml = blocks(page, "toml")
    assert python and all(block.startswith("# ") for block in python)
    assert sum(block.startswith("[project.entry-points") for block in toml) == 1
    assert sum(block.startswith("# bench.toml") for block in toml) == 1
    assert len(toml) == 2
