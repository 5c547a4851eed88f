# SPDX-License-Identifier: Apache-2.0
"""A session on the virtual bench: its measurements, its files, and its end after a
failure.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import rig
from rig.bench.compatibility import refuse_mismatch
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    LocalProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion, Mark
from rig.model.steps import Load, Query, Step
from rig.model.trial import Measured, Window
from rig.session.session import Bench, SessionResult, open_bench
from rig.store.events import Event, SessionFinished, StepDone, TrialFinished
from rig.trace.trace import Gap
from scenarios.single_stream import SingleStream
from scenarios.tasks.null import NullTask
from tests.conftest import VIRTUAL_NULL
from tests.samples import sample_of

Run = Callable[..., SessionResult]


def test_the_metrics_are_those_of_the_device_that_was_put_on_the_table(
    run_virtual: Run,
) -> None:
    settings = (
        "preprocess.duration_s=0.02",
        "preprocess.power_w=0.05",
        "infer.duration_s=0.04",
        "infer.power_w=0.08",
        "idle_w=0.01",
        "preprocess.variation=0.0",
        "infer.variation=0.0",
    )
    result = run_virtual(*(f"sut.virtual.{setting}" for setting in settings))
    expected = {
        "accuracy": 1.0,
        "latency_preprocess": 0.02,
        "latency_infer": 0.04,
        "latency_infer_p50": 0.04,
        "latency_infer_p99": 0.04,
        "latency_total": 0.06,
        "power_idle": 0.01,
        "power_active": (0.02 * 0.05 + 0.04 * 0.08) / 0.06,
        "power_dynamic": (0.02 * 0.05 + 0.04 * 0.08) / 0.06 - 0.01,
        "power_preprocess": 0.05,
        "power_infer": 0.08,
        "energy_preprocess": 0.02 * 0.05,
        "energy_infer": 0.04 * 0.08,
        "energy_preprocess_dynamic": 0.02 * 0.04,
        "energy_infer_dynamic": 0.04 * 0.07,
        "energy_total": 0.02 * 0.05 + 0.04 * 0.08,
        "energy_dynamic": 0.02 * 0.04 + 0.04 * 0.07,
        "energy_idle": 0.06 * 0.01,
    }
    assert {name: result.metrics[name].value for name in expected} == pytest.approx(
        expected, rel=1e-3
    )


def test_repeating_a_phase_divides_its_window(run_virtual: Run) -> None:
    once = run_virtual("scenario.single_stream.repeat=1").metrics
    often = run_virtual("scenario.single_stream.repeat=7").metrics
    for name in ("latency_infer", "energy_infer", "energy_dynamic", "power_active"):
        assert often[name].value == pytest.approx(once[name].value, rel=0.02)


def test_wrong_answers_cost_accuracy(run_virtual: Run) -> None:
    assert run_virtual("sut.virtual.error_rate=1.0").metrics["accuracy"].value == 0.0


def test_the_same_seed_gives_the_same_samples_and_another_seed_others(
    run_virtual: Run,
) -> None:
    jitter = "monitor.virtual.edge_jitter_s=2e-6"
    first, again, other = (
        run_virtual(jitter, f"bench.seed={seed}") for seed in (5, 5, 6)
    )
    texts = [
        (result.folder / "trial-1" / "samples.jsonl").read_text()
        for result in (first, again, other)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_five_equal_trials_give_a_true_verdict_and_a_drifting_one_a_false(
    run_virtual: Run,
) -> None:
    assert run_virtual(trials=5).ok
    assert not run_virtual("sut.virtual.infer.variation=0.5", trials=5).ok


def test_a_claim_is_compared_by_both_rules(run_virtual: Run) -> None:
    content = run_virtual(
        "claim.energy_infer=1.6e-3", "claim.accuracy=0.9", trials=5
    ).content
    assert content["replication"]["rule"] == "replication-5-percent"
    # 1.89 mJ against 1.6 mJ: off by 18 % for both rules; accuracy 1.0 against 0.9 is
    # off by 11 % for one rule only.
    assert {
        name: row["ok"] for name, row in content["replication"]["per_metric"].items()
    } == {
        "energy_infer": False,
        "accuracy": False,
    }
    assert {
        name: row["ok"] for name, row in content["audit"]["per_metric"].items()
    } == {
        "energy_infer": False,
        "accuracy": True,
    }


def test_results_say_that_they_are_simulated_and_where_they_come_from(
    run_virtual: Run,
) -> None:
    content = run_virtual().content
    assert content["simulated"] is True
    for key in (
        "neurorig",
        "revision",
        "python",
        "packages",
        "host",
        "bench_sha256",
        "sut",
        "monitors",
        "task",
    ):
        assert key in content["provenance"]
    assert {
        "schema",
        "task",
        "scenario",
        "sut",
        "monitor",
        "samples",
        "trials",
        "metrics",
        "replication",
        "problems",
    } <= set(content)


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        (["monitor.virtual.edge_jitter_s=2e-5"], "sync"),
        (["monitor.virtual.clock_ppm=900"], "clock"),
        (["sut.virtual.infer.duration_s=80e-6"], "short"),
        (
            [
                "monitor.virtual.sample_hz=1_000_000",
                "sut.virtual.infer.duration_s=20e-6",
            ],
            "short",
        ),
        (["sut.virtual.idle_w=0.0", "monitor.virtual.noise_a=0.0"], "power"),
    ],
)
def test_each_fault_gives_its_problem_and_makes_the_trial_invalid(
    run_virtual: Run, overrides: list[str], code: str
) -> None:
    result = run_virtual(*overrides)
    assert {problem["code"] for problem in result.content["problems"]} == {code}
    assert not result.trials[0].valid
    assert not result.ok
    assert "invalid" in result.content["replication"]["reason"]


def test_edges_without_a_mark_are_an_edges_problem(tmp_path: Path) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:

        def bounce(completion: Completion) -> Completion:
            world = bench.context.world
            world.put(world.now_ns(), False, 0.012)
            world.advance(20_000)
            world.put(world.now_ns(), True, 0.012)
            world.advance(1_000_000)
            return completion

        result = patched(bench, Load, bounce).run(1, tmp_path)
    assert [problem["code"] for problem in result.content["problems"]] == ["edges"]
    counts = result.content["trials"][0]["counts"]
    assert counts["pairs"] == counts["marks"], "all marks still found their edges"


def test_a_device_with_another_workload_or_model_than_the_bench_says_is_refused():
    class Modelled(NullTask):
        def provenance(self) -> dict[str, object]:
            return super().provenance() | {"model": "null-12345678"}

    task = Modelled(NullTask.Settings())
    info = SutInfo("d", "uart", False, 1000, "null", model="null-12345678")
    refuse_mismatch(info, task)
    refuse_mismatch(dataclasses.replace(info, task="", model="somebody else's"), task)
    with pytest.raises(LocalProtocolError, match="runs 'asc'"):
        refuse_mismatch(dataclasses.replace(info, task="asc"), task)
    with pytest.raises(LocalProtocolError, match="runs model 'null-87654321'"):
        refuse_mismatch(dataclasses.replace(info, model="null-87654321"), task)


def test_a_pulse_that_the_monitor_may_not_see_is_refused_before_anything_runs(
    run_virtual: Run, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="can be missed") as caught:
        run_virtual("monitor.virtual.sample_hz=20000", "sut.virtual.sync_hold_us=20")
    assert (
        caught.value.path == "sut.virtual.sync_hold_us"
        and "100 or more" in caught.value.try_next
    )
    assert not list(tmp_path.iterdir())


def patched(
    bench: Bench, kind: type[Step], wrong: Callable[[Completion], Completion]
) -> Bench:
    """Let the device misbehave in steps of one kind: `wrong` makes its answer of the
    right one."""
    do = bench.sut.do

    def misbehaving(step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        completion = do(step, payloads)
        return wrong(completion) if isinstance(step, kind) else completion

    bench.sut.do = misbehaving  # type: ignore[method-assign]
    return bench


def test_lost_monitor_samples_inside_a_window_are_a_gap_and_a_line_in_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]

    def budget(name: str) -> tuple[list[str], set[str], float]:
        with open_bench(VIRTUAL_NULL, settings) as bench:
            result = bench.run(1, tmp_path / name)
        metric = result.content["metrics"]["energy_infer"]
        results = [problem["code"] for problem in result.content["problems"]]
        return (
            results,
            {part["component"] for part in metric["budget"]},
            metric["value"],
        )

    codes, components, whole_j = budget("whole")
    assert (codes, "lost samples" in components) == ([], False)
    line = json.loads(
        (next((tmp_path / "whole").glob("*/trial-1/samples.jsonl")))
        .read_text()
        .splitlines()[2]
    )
    window = line["windows"][-1]
    with open_bench(VIRTUAL_NULL, settings) as bench:
        middle = round(
            (window["start_s"] + window["latency_s"] / 2)
            * bench.monitors[""].info.sample_hz
        )
    noted: list[Gap] = [Gap(middle, middle + 5, "test")]
    monkeypatch.setattr(
        "drivers.virtual.Sampler.late_gaps", lambda self: [noted.pop()] if noted else []
    )
    codes, components, energy_j = budget("gap")
    assert (codes, "lost samples" in components) == (["gap"], True)
    assert energy_j == pytest.approx(whole_j, rel=0.01), (
        "what was lost is taken for the mean of the rest"
    )


def test_a_device_that_runs_less_often_than_asked_is_a_clock_problem(
    tmp_path: Path,
) -> None:
    with open_bench(
        VIRTUAL_NULL, ["task.null.samples=6", "scenario.single_stream.repeat=4"]
    ) as bench:

        def lazy(completion: Completion) -> Completion:
            return dataclasses.replace(completion, iterations=3)

        result = patched(bench, Query, lazy).run(1, tmp_path)
    problems = result.content["problems"]
    assert [problem["code"] for problem in problems] == ["clock"]
    assert "ran 3 times where 4 were asked for" in problems[0]["detail"]


def test_a_device_that_does_not_count_its_runs_is_taken_at_its_word(
    tmp_path: Path,
) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:

        def silent(completion: Completion) -> Completion:
            return dataclasses.replace(completion, iterations=None)

        assert patched(bench, Query, silent).run(1, tmp_path).content["problems"] == []


def test_bytes_heard_inside_a_window_are_a_link_problem(tmp_path: Path) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:

        def disturbed(completion: Completion) -> Completion:
            return Completion(completion.marks, completion.output, rx_in_window_b=3)

        result = patched(bench, Query, disturbed).run(1, tmp_path)
    assert [problem["code"] for problem in result.content["problems"]] == ["link"]


def test_a_device_that_reports_too_few_marks_is_a_clock_problem_as_edges_show(
    tmp_path: Path,
) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:

        def forgetful(completion: Completion) -> Completion:
            return Completion(completion.marks[:-1], completion.output)

        result = patched(bench, Query, forgetful).run(1, tmp_path)
    assert {problem["code"] for problem in result.content["problems"]} == {
        "edges",
        "clock",
    }


def test_marks_that_run_backwards_are_a_clock_problem_not_an_end(
    tmp_path: Path,
) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:

        def confused(completion: Completion) -> Completion:
            first, second, *rest = completion.marks
            return Completion(
                (first, Mark(second.phase, first.tick - 500), *rest), bytes(64)
            )

        result = patched(bench, Query, confused).run(1, tmp_path)
    assert "clock" in {problem["code"] for problem in result.content["problems"]}


def test_without_edges_there_is_accuracy_and_the_devices_own_latency_but_no_energy(
    tmp_path: Path,
) -> None:
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:
        bench.context.world.put = lambda time_ns, level, power_w: None
        result = bench.run(1, tmp_path)
    assert [problem["code"] for problem in result.content["problems"]] == ["edges"]
    assert result.metrics["accuracy"].value == 1.0
    assert result.metrics["latency_infer"].value == pytest.approx(0.042, rel=0.02)
    assert math.isnan(result.metrics["energy_infer"].value)


def test_the_spread_of_idle_power_is_part_of_the_spread_of_dynamic_energy() -> None:
    idles = tuple(
        Window("idle", 0.0, 1.0, 1.0, energy_j) for energy_j in (0.010, 0.012)
    )
    busy = Window("infer", 0.0, 0.1, 0.1, 0.005)
    measured = Measured(
        tuple(sample_of(n, [busy], label="a", answer="a") for n in range(100)),
        idles,
    )
    metrics = SingleStream(SingleStream.Settings()).summarise(measured, ["infer"])
    # Two idle times of 10 and 12 mW: a standard error of 1 mW, over 0.1 s.
    assert metrics["energy_dynamic"].standard_error == pytest.approx(1e-4)
    assert metrics["energy_idle"].standard_error == pytest.approx(1e-4)
    assert metrics["energy_dynamic"].value == pytest.approx(0.005 - 0.0011)


def test_a_fault_of_our_own_ends_the_session_as_failed(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench,
    ):
        fails_after(bench, 3, ZeroDivisionError("bug")).run(1, tmp_path)
    last = json.loads(
        (next(tmp_path.iterdir()) / "events.jsonl").read_text().splitlines()[-1]
    )
    assert last["status"] == "fail" and "bug" in last["reason"]


def fails_after(bench: Bench, queries: int, error: BaseException) -> Bench:
    left = iter(range(queries))

    def failing(completion: Completion) -> Completion:
        if next(left, None) is None:
            raise error
        return completion

    return patched(bench, Query, failing)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeviceLost("the cable is out"), "fail"),
        (DeadlineError("DONE", 5.0), "fail"),
        (KeyboardInterrupt(), "abort"),
    ],
)
def test_after_any_end_of_a_run_the_supply_is_off_and_what_was_measured_is_readable(
    tmp_path: Path, error: BaseException, status: str
) -> None:
    from tests.checking import check

    with (
        pytest.raises(type(error)),
        open_bench(
            VIRTUAL_NULL, ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
        ) as bench,
    ):
        world = bench.context.world
        assert world.supply_on
        fails_after(bench, 14, error).run(5, tmp_path)
    assert not world.supply_on
    folder = next(tmp_path.iterdir())
    checked = check(folder)
    assert (checked.status, checked.ok) == (status, False)
    assert len(checked.trials) == 1, "the first trial was complete"
    cut_off = next(finding for finding in checked.findings if not finding.ok)
    assert cut_off.name == "trial-2" and "4 samples measured" in cut_off.detail
    assert not list(folder.rglob("*.partial")), "the files were closed properly"


def test_a_subscriber_hears_every_step_in_order(tmp_path: Path) -> None:
    heard: list[Event] = []
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"]) as bench:
        bench.run(2, tmp_path, [heard.append])
    numbers = [
        event.done.number
        for event in heard
        if isinstance(event, StepDone) and event.trial == 2
    ]
    assert numbers == sorted(numbers) and len(numbers) == len(set(numbers))
    assert [
        event.trial.number for event in heard if isinstance(event, TrialFinished)
    ] == [1, 2]
    assert (
        heard[-1] == SessionFinished("success", files=heard[-1].files)
        and heard[-1].files
    )


def test_events_are_kept_line_by_line_with_the_schema_first(run_virtual: Run) -> None:
    lines = [
        json.loads(line)
        for line in (run_virtual().folder / "events.jsonl").read_text().splitlines()
    ]
    assert lines[0]["schema"] == "neurorig-events-2"
    assert [line["event"] for line in lines] == [
        "session_started",
        "trial_started",
        "trial_finished",
        "session_finished",
    ]
    assert lines[-1]["status"] == "success"


def test_the_program_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with rig.open_bench(VIRTUAL_NULL) as bench:
        result = bench.run()
    assert result.metrics["energy_infer"].unit == "J"


def test_a_bench_that_fails_to_open_leaves_the_supply_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worlds = []

    def refuse(settings: object, context: BenchContext) -> None:
        worlds.append(context.world)
        assert context.world.supply_on
        raise BenchError("no answer")

    monkeypatch.setattr(
        "sut_backends.virtual.backend.VirtualSut.open", staticmethod(refuse)
    )
    with pytest.raises(RigError, match="no answer"), open_bench(VIRTUAL_NULL):
        pass
    assert not worlds[0].supply_on
