# SPDX-License-Identifier: Apache-2.0
"""Optimization in whole sessions: against the truth of the virtual bench, with devices
that lie, and with the firmware.
"""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rig.cli.coverage import coverage
from rig.cli.printed.result_tables import print_results
from rig.cli.printed.terminal import Terminal
from rig.errors import ConfigError, DeadlineError
from rig.model.completion import REACHED
from rig.model.steps import Load, Solve
from rig.report.report import write_report
from rig.results.results import Context, reduce_trial
from rig.session.session import SessionResult, open_bench, resume
from rig.store import completion_lines, session_folder
from rig.store.events import Event, StepDone
from rig.store.session_folder import SessionFolder
from scenarios.tasks.qubo.graph import Workload, generate
from tests.checking import check

VIRTUAL = """
[bench]
name = "optimization"
seed = 3
[sut.virtual]
clock_ppm = 60.0
[sut.virtual.solve]
rate_hz = 1e5
variation = 0.05
[monitor.virtual]
sample_hz = 50_000
clock_ppm = -40.0
[scenario.optimization]
timeouts_s = [0.003, 0.1]
curve = [0.3]
target_limit_s = 1.0
idle_s = 0.1
[task.qubo]
nodes = [50, 100]
densities = [0.25]
seeds = [0, 1]
"""
POSIX = """
[bench]
name = "optimization"
[sut.posix]
program = "qubo"
sync_hold_us = 10
[monitor.virtual]
sample_hz = 500_000
[scenario.optimization]
timeouts_s = [0.001, 0.01]
target_limit_s = 0.1
idle_s = 0.1
[task.qubo]
nodes = [100]
densities = [0.05, 0.25]
seeds = [0]
"""


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    """The search is compiled for this host on first use."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")


def run(
    folder: Path,
    text: str,
    *overrides: str,
    trials: int = 1,
    subscribers: tuple[Any, ...] = (),
) -> SessionResult:
    folder.mkdir(exist_ok=True)
    path = folder / "bench.toml"
    path.write_text(text)
    with open_bench(path, overrides) as bench:
        return bench.run(trials, folder / "sessions", subscribers)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    """Run a trial of the bench as it is; its session must not be changed."""
    return run(tmp_path_factory.mktemp("plain"), VIRTUAL)


def searches(result: SessionResult, number: int = 1) -> list[dict[str, Any]]:
    lines = (
        (result.folder / f"trial-{number}" / "samples.jsonl").read_text().splitlines()
    )
    return [line for line in map(json.loads, lines) if "solve" in line]


def own_cost(nodes: int, seed: int, output: bytes) -> int:
    """Evaluate a vector edge by edge, as QUBO.md has it: -1 a chosen node, +8 an edge
    between two.
    """
    lesser, greater = generate(Workload(nodes, 0.25, seed)).ends
    bits = np.unpackbits(
        np.frombuffer(output[9:], np.uint8), bitorder="little"
    ).tolist()
    between = sum(
        bits[u] and bits[v]
        for u, v in zip(lesser.tolist(), greater.tolist(), strict=True)
    )
    return -sum(bits) + 8 * between


def test_latencies_and_energies_to_each_threshold_are_the_true_ones_while_the_power_changes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(VIRTUAL)
    with open_bench(path) as bench:
        result = bench.run(1, tmp_path / "sessions")
        world = bench.context.world
    assert not result.content["problems"]
    falls_ns = [
        new.time_ns
        for old, new in pairwise(world.states())
        if old.level and not new.level
    ]
    at = 0
    results = {line["step"]: line for line in searches(result)}
    crossed = 0
    early = 0
    for done in completion_lines.read(result.folder / "trial-1"):
        own_ns = falls_ns[at : at + len(done.completion.marks)]
        at += len(own_ns)
        if not isinstance(done.step, Solve):
            continue
        line = results.pop(done.number)
        (whole,) = line["windows"]
        assert whole["latency_s"] == pytest.approx(
            (own_ns[-1] - own_ns[0]) / 1e9, rel=2e-4
        )
        assert whole["energy_j"] == pytest.approx(
            world.true_energy_j(own_ns[0], own_ns[-1]), rel=5e-3
        )
        if done.step.target is None:
            assert not line["crossings"]
            # By the device's own clock, which is 60 ppm fast.
            assert (own_ns[-1] - own_ns[0]) / 1e9 == pytest.approx(
                done.step.timeout_s / 1.00006, rel=1e-6
            )
        assert done.completion.known is not None or done.step.target is None
        begin = done.completion.marks[0].tick
        for number, crossing in enumerate(line["crossings"]):
            mark_ns = next(
                ns
                for ns, mark in zip(own_ns, done.completion.marks, strict=True)
                if mark.phase >= REACHED + number
            )
            # By the device's own clock, 60 ppm fast, in ticks of a microsecond: it knew
            # before its mark, which waited for SYNC.
            known_ns = own_ns[0] + round(
                1000 * ((done.completion.known or ())[number] - begin) / 1.00006
            )
            assert known_ns <= mark_ns + 1000
            window = crossing["window"]
            true_j = world.true_energy_j(own_ns[0], known_ns)
            assert crossing["by_device"]
            assert window["latency_s"] == pytest.approx(
                (known_ns - own_ns[0]) / 1e9, rel=2e-3, abs=2e-6
            )
            if crossing["resolved"]:
                assert window["energy_j"] == pytest.approx(true_j, rel=2e-2)
                crossed += 1
            else:
                low_j, high_j = crossing["bounds_j"]
                assert (
                    low_j == 0.0 <= true_j <= high_j
                    and low_j <= window["energy_j"] <= high_j
                )
                early += 1
    assert not results and crossed > 4 and early > 0


SLOW = ("sut.virtual.sync_hold_us=200", "sut.virtual.sync_period_us=4003")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    """Run two trials with long pulses; their session must not be changed."""
    return run(tmp_path_factory.mktemp("slow"), VIRTUAL, *SLOW, trials=2)


def test_a_search_too_early_for_the_monitor_takes_nothing_from_its_cell(
    slow: SessionResult,
) -> None:
    crossings = chain.from_iterable(line["crossings"] for line in searches(slow))
    early = [
        crossing
        for crossing in crossings
        if crossing["window"] and not crossing["resolved"]
    ]
    assert early, "some are reached within a pulse"
    names = [
        f"{metric}_to_{gap}_50n_25pct"
        for metric, gap in product(("latency", "energy"), ("10pct", "5pct"))
    ]
    assert set(names) <= set(slow.metrics) and not set(names) & set(
        slow.content["absent"]
    )
    interval = slow.content["metrics"]["energy_to_10pct_50n_25pct"]["same_samples"]
    # Two searches of one workload are too few for an interval: the design decides, not
    # the values.
    assert interval["reason"].startswith("not known: ") and interval["low"] is None
    assert (
        "too early for the monitor"
        in (slow.folder / "trial-1" / "results.txt").read_text()
    )
    assert check(slow.folder).ok
    write_report(slow.folder)


def test_the_device_knows_a_threshold_at_the_same_time_however_long_its_pulses_are(
    plain: SessionResult, slow: SessionResult
) -> None:
    def latencies_s(result: Any) -> dict[tuple[int, int], float]:
        results = {}
        for line in searches(result):
            for crossing in line["crossings"]:
                if crossing["window"]:
                    key = (line["indices"][0], crossing["threshold"])
                    results[key] = crossing["window"]["latency_s"]
        return results

    short, long = latencies_s(plain), latencies_s(slow)
    assert short.keys() == long.keys()
    assert all(
        long[key] == pytest.approx(short[key], abs=3e-6, rel=1e-4) for key in short
    )


def test_marks_of_firmware_that_tells_no_ticks_are_bounds_where_a_pulse_may_have_held_them_up(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, VIRTUAL, *SLOW, "sut.virtual.solve.tells_ticks=false")
    assert not result.content["problems"]
    assert all(
        done.completion.known is None
        for done in completion_lines.read(result.folder / "trial-1")
    )
    resolved = []
    for line in searches(result):
        before_s = 0.0
        for crossing in line["crossings"]:
            length_s = crossing["window"]["latency_s"]
            waited = before_s < length_s < before_s + 0.000408
            if length_s > before_s:
                assert crossing["resolved"] == (
                    length_s > 0.000408 and not (waited and 0.05 * length_s < 0.000408)
                )
                assert crossing.get("least_s") == (
                    pytest.approx(before_s) if waited else None
                )
                resolved.append(crossing["resolved"])
            before_s = length_s
    assert True in resolved and False in resolved
    assert "latency_to_10pct_50n_25pct" in result.metrics
    assert check(result.folder).ok


def test_a_device_whose_own_ticks_contradict_its_marks_is_a_problem(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, VIRTUAL, "task.qubo.seeds=[0]", "task.qubo.nodes=[100]")
    path = result.folder / "trial-1" / "completions.jsonl"
    done = [
        item
        for item in completion_lines.read(result.folder / "trial-1")
        if item.completion.known
    ]
    output = done[0].completion
    # It claims to have known all when it began.
    lying = dataclasses.replace(
        done[0],
        completion=dataclasses.replace(
            output, known=(output.marks[0].tick,) * len(output.known or ())
        ),
    )
    lines = [
        json.dumps(
            completion_lines.to_json(
                lying if item.number == lying.number and item.step else item
            )
        )
        for item in completion_lines.read(path.parent)
    ]
    path.write_text("".join(line + "\n" for line in lines))
    context = Context.of(SessionFolder(result.folder))
    trial = reduce_trial(context, path.parent, 1, 1)
    assert {problem.code for problem in trial.problems} == {"clock"}
    assert "later than it says that it knew it" in trial.problems[0].detail


def test_the_gap_is_that_of_the_vector_as_the_host_evaluates_it_and_every_number_is_found_again(
    plain: SessionResult,
) -> None:
    outputs = {
        done.number: done.completion.output
        for done in completion_lines.read(plain.folder / "trial-1")
    }
    for line in searches(plain):
        (index,), costs = line["indices"], line["costs"]
        nodes = (50, 100)[index // 2]
        seed = index % 2
        assert line["case"] == f"{nodes}n_25pct"
        assert (
            costs["cost"]
            == costs["claimed"]
            == own_cost(nodes, seed, outputs[line["step"]])
        )
    costs = [line["costs"] for line in searches(plain) if not line["crossings"]]
    gaps = [(c["cost"] - c["official"]) / -c["official"] for c in costs]
    assert plain.metrics["gap_3ms"].value + plain.metrics[
        "gap_100ms"
    ].value == pytest.approx(sum(gaps) / 4)
    assert plain.content["coverage"] | {"cells": 0} == {
        "done": 12,
        "failed": 0,
        "missing": 0,
        "cells": 0,
    }
    assert check(plain.folder).ok
    assert "gap_3ms" in write_report(plain.folder).read_text()


def test_official_best_known_and_measured_costs_are_in_results_report_and_terminal(
    tmp_path: Path,
) -> None:
    result = run(
        tmp_path,
        VIRTUAL,
        "task.qubo.nodes=[250]",
        "task.qubo.densities=[0.05]",
        trials=2,
    )
    rows = {
        (row["workload"], row["search"]): row
        for row in session_folder.read_json(result.folder / session_folder.RESULTS)[
            "targets"
        ]
    }
    groups = ("", "250n_5pct_s0", "250n_5pct_s1")
    assert list(rows) == list(product(groups, ("3ms", "100ms", "target")))
    lines = [*searches(result, 1), *searches(result, 2)]
    for (workload, how), row in rows.items():
        costs = [
            line["costs"]["cost"]
            for line in lines
            if line["label"] in (workload or line["label"])
            and (line["solve"]["target"] is not None) == (how == "target")
            and (how == "target" or f"{1e3 * line['solve']['timeout_s']:g}ms" == how)
        ]
        assert row["searches"] == len(costs) == (2 if workload else 4)
        assert row["measured"] == pytest.approx(sum(costs) / len(costs))
    item = rows["250n_5pct_s0", "100ms"]
    assert item["official"] == -67 > item["best_known"], (
        "the published cost is the target of the result"
    )
    assert item["gap"] == pytest.approx((item["measured"] + 67) / 67)
    assert item["gap_best_known"] == pytest.approx(
        (item["measured"] - item["best_known"]) / -item["best_known"]
    )
    assert result.metrics["gap_100ms"].value == pytest.approx(rows["", "100ms"]["gap"])
    assert result.metrics["gap_best_known_100ms"].value == pytest.approx(
        rows["", "100ms"]["gap_best_known"]
    )
    same = result.content["metrics"]["gap_best_known_3ms"]["same_samples"]
    assert same["reason"].startswith("not known: ") and "2" in same["reason"], same
    page = write_report(result.folder).read_text()
    assert "Official, best known, measured" in page and "<td>250n_5pct_s0</td>" in page
    assert (
        "not verified"
        in page[page.index("Official, best known, measured") :].partition("</section>")[
            0
        ]
    )
    shown = io.StringIO()
    print_results(Terminal(file=shown, width=60), result.results)
    assert "gap to best known" in shown.getvalue() and "250n_5pct" in shown.getvalue()
    assert check(result.folder).ok


def test_a_session_against_an_announced_file_has_its_results_and_no_best_known_ones(
    tmp_path: Path,
) -> None:
    path = tmp_path / "announced.csv"
    path.write_text("num_vertices,density,random_seed,c_optimal\r\n60,0.25,91,-10\r\n")
    options = (
        "task.qubo.nodes=[60]",
        "task.qubo.seeds=[91]",
        f"task.qubo.official={path}",
    )
    result = run(tmp_path, VIRTUAL, *options)
    assert {"gap_100ms", "success_to_10pct"} <= set(result.metrics)
    assert not [name for name in result.metrics if "best_known" in name]
    assert result.content["absent"]["gap_best_known_100ms"].endswith(
        "without a best known target"
    )
    assert check(result.folder).ok


FIVE = ("task.qubo.seeds=[0]", "sut.virtual.solve.variation=0.005")


def test_five_trials_have_other_searches_and_both_intervals_and_are_compared_by_what_they_repeat(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, VIRTUAL, *FIVE, trials=5)
    assert result.ok
    judged = result.content["replication"]["per_metric"]
    assert {"power_3ms", "power_idle"} <= set(judged) and all(
        name.startswith("power") for name in judged
    )
    seeds = []
    for number in range(1, 6):
        lines = searches(result, number)
        seeds.append([(line["indices"][0], line["solve"]["seed"]) for line in lines])
    assert len(set(chain.from_iterable(seeds))) == 5 * 2
    rows = result.content["metrics"]
    latency = rows["latency_to_10pct_100n_25pct"]
    assert latency["same_samples"]["units"] == "5 solver seeds of each of 1 workload"
    assert (
        latency["same_samples"]["low"]
        < latency["value"]
        < latency["same_samples"]["high"]
    )
    assert latency["other_samples"]["reason"].startswith("not known: 1 workload a cell")
    assert rows["success_to_10pct"]["same_samples"]["units"] == "10 searches"
    tts99 = rows["tts99_to_10pct"]
    # All of ten got there: TTS99 is the limit of 1 s, a setting, and only its upper end
    # is known.
    assert tts99["value"] is None and tts99["same_samples"]["low"] is None
    assert 1.0 < tts99["same_samples"]["high"] < 10.0
    assert check(result.folder).ok


def test_five_trials_of_the_same_searches_say_so_and_are_compared(
    tmp_path: Path,
) -> None:
    result = run(
        tmp_path, VIRTUAL, *FIVE, "scenario.optimization.reseed=false", trials=5
    )
    assert result.ok
    judged = result.content["replication"]["per_metric"]
    assert {"gap_3ms", "power_3ms", "wade_of_1"} <= set(judged) and not any(
        name.startswith("success") for name in judged
    )
    interval = result.content["metrics"]["latency_to_10pct_100n_25pct"]["same_samples"]
    assert interval["low"] is None and "reseed = false" in interval["reason"]
    assert (
        "every trial repeats the same searches"
        in (result.folder / "trial-1" / "results.txt").read_text()
    )


def test_a_cost_that_is_not_the_vectors_is_a_problem_and_the_vectors_own_counts(
    plain: SessionResult, tmp_path: Path
) -> None:
    lying = run(tmp_path, VIRTUAL, "sut.virtual.solve.wrong_cost=3")
    assert {problem["code"] for problem in lying.content["problems"]} == {"cost"}
    assert len(lying.content["problems"]) == 12
    assert all(
        line["costs"]["claimed"] == line["costs"]["cost"] - 3
        for line in searches(lying)
    )
    assert lying.metrics["gap_100ms"].value == plain.metrics["gap_100ms"].value
    assert check(lying.folder).ok


def test_a_vector_of_another_length_is_a_problem_and_loses_no_data(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, VIRTUAL, "sut.virtual.solve.short_vector=true")
    assert {problem["code"] for problem in result.content["problems"]} == {"cost"}
    lines = searches(result)
    assert len(lines) == 12 and all(line["costs"] is None for line in lines)
    assert "power_100ms" in result.metrics and "gap_100ms" in result.content["absent"]
    assert result.content["coverage"]["failed"] == 12
    assert check(result.folder).ok


def test_a_time_out_that_the_device_overruns_leaves_no_result_of_its_cells_and_those_of_others(
    tmp_path: Path,
) -> None:
    # 0.63 ms are 21 % of 3 ms, and 0.6 % of 100 ms.
    result = run(tmp_path, VIRTUAL, "sut.virtual.solve.overrun_s=0.00063", trials=2)
    assert not result.content["problems"] and all(
        trial.valid for trial in result.trials
    )
    absent = result.content["absent"]
    assert (
        "not valid: 2 of 2 searches went on beyond their time-out"
        in absent["gap_50n_25pct_3ms"]
    )
    assert "(+21.0%)" in absent["power_3ms"] and "gap_3ms" not in result.metrics
    assert {
        "gap_100ms",
        "power_100ms",
        "gap_50n_25pct_100ms",
        "success_to_1pct",
    } <= set(result.metrics)
    assert "3ms not valid" in (result.folder / "trial-1" / "results.txt").read_text()
    assert check(result.folder).ok
    kept = run(tmp_path, VIRTUAL, "sut.virtual.solve.overrun_s=0.0001")
    assert "gap_3ms" in kept.metrics and not kept.content["absent"]


def test_a_device_that_does_not_come_back_ends_the_session(tmp_path: Path) -> None:
    with pytest.raises(DeadlineError, match="end of the search"):
        run(
            tmp_path,
            VIRTUAL,
            "sut.virtual.solve.overrun_s=2.0",
            "scenario.optimization.limit_s=1.0",
        )


def test_a_graph_too_large_for_the_device_is_a_failed_cell_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, VIRTUAL, "sut.virtual.slot_b=800")
    assert not result.content["problems"]
    refused = [
        done
        for done in completion_lines.read(result.folder / "trial-1")
        if isinstance(done.step, Load)
    ]
    assert len(refused) == 2 and all(
        "the device takes 800" in done.completion.refusal for done in refused
    )
    assert {line["case"] for line in searches(result)} == {"50n_25pct"} and len(
        searches(result)
    ) == 6
    results = result.content["coverage"]
    assert (results["done"], results["failed"], results["missing"]) == (6, 6, 0)
    failed = [cell for cell in results["cells"] if cell["state"] == "failed"]
    assert {cell["workload"] for cell in failed} == {"100n_25pct_s0", "100n_25pct_s1"}
    assert all("not loaded" in cell["failures"][0] for cell in failed)
    assert check(result.folder).ok
    write_report(result.folder)


def test_the_coverage_of_a_cut_off_session_names_what_is_missing_and_can_be_filled(
    plain: SessionResult, tmp_path: Path
) -> None:
    begun = []

    def stop(event: Event) -> None:
        if isinstance(event, StepDone) and isinstance(event.done.step, Solve):
            begun.append(event)
            if len(begun) == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, VIRTUAL, subscribers=(stop,))
    (folder,) = (tmp_path / "sessions").iterdir()
    reported = CliRunner().invoke(coverage, [str(folder)], standalone_mode=False)
    assert (
        reported.return_value == 1
        and "4 cells done, 0 failed, 8 missing" in reported.output
    )
    reported = CliRunner().invoke(
        coverage, [str(folder), str(plain.folder)], standalone_mode=False
    )
    assert (
        reported.return_value == 0
        and "12 cells done, 0 failed, 0 missing" in reported.output
    )
    # Or it goes on itself.
    resumed = resume(folder)
    assert resumed.content["coverage"]["done"] == 12 and not resumed.content["problems"]
    assert resumed.metrics["gap_3ms"].value == plain.metrics["gap_3ms"].value
    assert check(folder).ok


def test_a_task_that_is_no_search_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="null has no workloads to search"):
        run(tmp_path, VIRTUAL[: VIRTUAL.index("[task.qubo]")] + "[task.null]\n")
    assert not (tmp_path / "sessions").exists()


@pytest.mark.posix
def test_the_firmware_searches_and_marks_what_it_knows(
    firmware: Path, tmp_path: Path
) -> None:
    result = run(tmp_path, POSIX, f"sut.posix.program={firmware / 'qubo'}")
    assert not result.content["problems"]
    lines = searches(result)
    assert len(lines) == 6 and all(
        line["costs"]["claimed"] == line["costs"]["cost"] for line in lines
    )
    for line in lines:
        if line["solve"]["target"] is None:
            assert line["windows"][0]["latency_s"] == pytest.approx(
                line["solve"]["timeout_s"], rel=0.01
            )
        else:
            reached = [crossing for crossing in line["crossings"] if crossing["window"]]
            assert (
                reached
                and reached[-1]["window"]["latency_s"]
                <= line["windows"][0]["latency_s"]
            )
            assert line["costs"]["cost"] <= reached[-1]["threshold"]
    assert check(result.folder).ok


@pytest.mark.posix
@pytest.mark.parametrize(
    ("fault", "code"), [("wrong_cost=true", "cost"), ("short_vector=true", "cost")]
)
def test_firmware_that_lies_makes_the_trial_a_problem(
    firmware: Path, tmp_path: Path, fault: str, code: str
) -> None:
    result = run(
        tmp_path,
        POSIX,
        f"sut.posix.program={firmware / 'qubo'}",
        f"sut.posix.{fault}",
        "task.qubo.densities=[0.05]",
    )
    assert {problem["code"] for problem in result.content["problems"]} == {code}
    assert check(result.folder).ok


@pytest.mark.posix
def test_firmware_that_searches_on_leaves_its_cells_without_a_result(
    firmware: Path, tmp_path: Path
) -> None:
    overrun = (
        f"sut.posix.program={firmware / 'qubo'}",
        "sut.posix.overrun_timeout_us=140",
        "task.qubo.densities=[0.05]",
    )
    result = run(tmp_path, POSIX, *overrun)
    assert result.content["problems"] == []
    assert (
        "not valid" in result.content["absent"]["gap_1ms"]
        and "gap_10ms" in result.metrics
    )
    assert check(result.folder).ok
