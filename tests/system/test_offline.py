# SPDX-License-Identifier: Apache-2.0
"""Offline in whole sessions: against the truth of the virtual bench, and in
conversation with the firmware.
"""

from __future__ import annotations

import json
from itertools import chain, pairwise
from pathlib import Path

import pytest

from rig.errors import ConfigError
from rig.model.completion import BATCH, END
from rig.model.steps import Query
from rig.report.report import write_report
from rig.session.session import SessionResult, open_bench
from rig.store import completion_lines
from tests.checking import check
from tests.conftest import ROOT

VIRTUAL = """
[bench]
name = "offline"
seed = 3
[sut.virtual]
clock_ppm = 60.0
slots = 4
[sut.virtual.preprocess]
duration_s = 0.02
power_w = 0.05
[sut.virtual.infer]
duration_s = 0.04
power_w = 0.08
[monitor.virtual]
sample_hz = 50_000
clock_ppm = -40.0
[scenario.offline]
min_duration_s = 1.5
idle_s = 0.1
[task.null]
samples = 10
"""
POSIX = """
[bench]
name = "offline"
[sut.posix]
program = "null"
[monitor.virtual]
sample_hz = 200_000
[scenario.offline]
min_duration_s = 0.2
idle_s = 0.1
[task.null]
samples = 10
payload_b = 20_000
"""


def run(folder: Path, text: str, *overrides: str, trials: int = 1) -> SessionResult:
    path = folder / "bench.toml"
    path.write_text(text)
    with open_bench(path, overrides) as bench:
        return bench.run(trials, folder / "sessions")


def batches(result: SessionResult, number: int = 1) -> list[dict[str, object]]:
    lines = (
        (result.folder / f"trial-{number}" / "samples.jsonl").read_text().splitlines()
    )
    return [line for line in map(json.loads, lines) if "step" in line]


def test_throughput_power_and_energy_are_those_of_the_device_that_was_put_on_the_table(
    tmp_path: Path,
) -> None:
    result = run(
        tmp_path,
        VIRTUAL,
        "sut.virtual.preprocess.variation=0.0",
        "sut.virtual.infer.variation=0.0",
    )
    assert not result.content["problems"]
    energy_j = 0.02 * 0.05 + 0.04 * 0.08
    # The pulse at the beginning of a batch, 0.1 ms at idle power, is in its window of
    # 0.7 s and more.
    expected = {
        "accuracy": 1.0,
        "throughput": 1 / 0.06,
        "power_idle": 0.012,
        "power_active": energy_j / 0.06,
        "power_dynamic": energy_j / 0.06 - 0.012,
        "energy_total": energy_j,
        "energy_idle": 0.012 * 0.06,
        "energy_dynamic": energy_j - 0.012 * 0.06,
    }
    assert {
        name: metric.value for name, metric in result.metrics.items()
    } == pytest.approx(expected, rel=1e-3)


def test_the_energy_of_each_batch_is_the_true_one_while_the_power_changes_in_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(VIRTUAL)
    with open_bench(path) as bench:
        result = bench.run(1, tmp_path / "sessions")
        world = bench.context.world
    falls_ns = [
        new.time_ns
        for old, new in pairwise(world.states())
        if old.level and not new.level
    ]
    at = 0
    results = {line["step"]: line for line in batches(result)}
    for done in completion_lines.read(result.folder / "trial-1"):
        if done.number in results:
            (window,) = results.pop(done.number)["windows"]  # type: ignore[misc,attr-defined]
            repeat = done.step.repeat  # type: ignore[attr-defined]
            true_j = world.true_energy_j(falls_ns[at], falls_ns[at + 1])
            assert window["energy_j"] * repeat == pytest.approx(true_j, rel=1e-3)
            assert window["latency_s"] * repeat == pytest.approx(
                (falls_ns[at + 1] - falls_ns[at]) / 1e9, rel=1e-4
            )
        at += len(done.completion.marks)
    assert not results


def test_a_set_larger_than_the_slots_is_measured_in_chunks(tmp_path: Path) -> None:
    result = run(tmp_path, VIRTUAL)
    indices = [line["indices"] for line in batches(result)]
    assert [len(chunk) for chunk in indices] == [4, 4, 2]  # type: ignore[arg-type]
    assert sorted(chain.from_iterable(indices)) == list(range(10))
    assert result.content["provenance"]["task"]["phases"] == ["batch"]
    assert (
        "10 samples in 3 chunks of 4 or less"
        in (result.folder / "trial-1" / "results.txt").read_text()
    )


def test_each_sample_of_a_batch_is_scored_kept_and_counted(tmp_path: Path) -> None:
    result = run(tmp_path, VIRTUAL, "sut.virtual.error_rate=0.4")
    each = list(chain.from_iterable(line["each"] for line in batches(result)))
    wrong = sum(score["label"] != score["answer"] for score in each)
    assert len(each) == 10 and 0 < wrong < 10
    assert result.metrics["accuracy"].value == (10 - wrong) / 10
    outputs = [
        (done.step, done.completion.output)
        for done in completion_lines.read(result.folder / "trial-1")
        if done.each
    ]
    assert all(len(output) == 64 * len(step.indices) for step, output in outputs)
    assert check(result.folder).ok


def test_the_report_shows_throughput_over_the_trials(tmp_path: Path) -> None:
    result = run(tmp_path, VIRTUAL, trials=5)
    assert result.ok
    assert result.content["replication"]["per_metric"]["throughput"]["ok"]
    page = write_report(result.folder).read_text()
    assert (
        ">throughput<" in page
        and page.count("SIMULATED") > 1
        and "latency_infer" not in page
    )


@pytest.mark.posix
def test_the_firmware_processes_a_set_larger_than_its_slots(
    firmware: Path, tmp_path: Path
) -> None:
    result = run(
        tmp_path,
        POSIX,
        f"sut.posix.program={firmware / 'null'}",
        "task.null.samples=20",
    )
    assert not result.content["problems"]
    slots = result.content["provenance"]["sut"]["slots"]
    sizes = [len(line["indices"]) for line in batches(result)]  # type: ignore[arg-type]
    assert (
        1 < slots < 20
        and max(sizes) == slots
        and sum(sizes) == 20
        and len(sizes) == -(-20 // slots)
    )
    assert result.metrics["accuracy"].value == 1.0
    for done in completion_lines.read(result.folder / "trial-1"):
        if done.each:
            assert [mark.phase for mark in done.completion.marks] == [BATCH, END]
    assert check(result.folder).ok


@pytest.mark.posix
def test_a_power_cut_in_a_batch_loads_the_whole_chunk_again(
    firmware: Path, tmp_path: Path
) -> None:
    program = (f"sut.posix.program={firmware / 'null'}", "scenario.offline.chunk=4")
    undisturbed = run(tmp_path, POSIX, *program)
    queries = sum(
        isinstance(done.step, Query)
        for done in completion_lines.read(undisturbed.folder / "trial-1")
    )
    # In the second chunk of three.
    result = run(
        tmp_path, POSIX, *program, f"sut.posix.restart_after_queries={queries - 2}"
    )
    assert "restart" in {problem["code"] for problem in result.content["problems"]}
    done = [
        item
        for item in completion_lines.read(result.folder / "trial-1")
        if isinstance(item.step, Query) and not item.step.warmup
    ]
    assert [item.completion.restarts for item in done] == [0, 1, 0]
    scores = list(chain.from_iterable(item.each for item in done))
    assert len(scores) == 10 and all(score.label == score.answer for score in scores)


@pytest.mark.posix
def test_the_text_layer_is_refused_before_anything_runs(
    firmware: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="cannot process several samples") as refused:
        run(
            tmp_path,
            POSIX,
            f"sut.posix.program={firmware / 'null'}",
            'sut.posix.layer="text"',
        )
    assert "single_stream" in refused.value.try_next
    assert not (tmp_path / "sessions").exists()


@pytest.mark.posix
def test_the_models_answers_in_batches_are_those_one_by_one(
    firmware: Path, tmp_path: Path
) -> None:
    some = [
        "task.asc.samples=6",
        f"sut.posix.program={firmware / 'asc'}",
        "bench.trials=1",
    ]
    answers = {}
    for name in ("posix-asc", "posix-offline"):
        with open_bench(ROOT / "benches" / f"{name}.toml", some) as bench:
            result = bench.run(1, tmp_path)
        assert not result.content["problems"]
        results = {}
        for done in completion_lines.read(result.folder / "trial-1"):
            for position, index in enumerate(getattr(done.step, "indices", ())):
                results[index] = done.completion.output[
                    16 * position : 16 * (position + 1)
                ]
        answers[name] = results
    assert (
        len(answers["posix-asc"]) == 6
        and answers["posix-asc"] == answers["posix-offline"]
    )
