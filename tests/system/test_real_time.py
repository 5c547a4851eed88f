# SPDX-License-Identifier: Apache-2.0
"""Real-time in whole sessions: against the truth of the virtual bench, with devices
that are too slow, and on the firmware.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rig.errors import ConfigError
from rig.model.completion import DECIDED, END, STREAM
from rig.model.steps import Stream
from rig.report.report import write_report
from rig.session.session import SessionResult, open_bench
from rig.simulation.world import World
from rig.store import completion_lines
from scenarios.tasks.asc.task import AscTask
from tests.checking import check
from tests.conftest import ROOT

DEVICE_PPM = 60.0
MONITOR_PPM = -40.0
#: Windows of 1 s every 0.4 s: scenes of 1 s and more, in 9 s.
BENCH = f"""
[bench]
name = "real-time"
seed = 3
[sut.virtual]
clock_ppm = {DEVICE_PPM}
slots = 3
[monitor.virtual]
sample_hz = 50_000
clock_ppm = {MONITOR_PPM}
[scenario.real_time]
duration_s = 9.0
scene_s = [1.3, 3.0]
hop_s = 0.4
idle_s = 0.2
[task.asc]
"""
#: Eight windows.
SHORT = ("scenario.real_time.duration_s=4.0", "scenario.real_time.scene_s=[1.3, 2.7]")


@dataclass
class Session:
    """A session of one trial, the world it took place in, and its lines of
    samples.jsonl."""

    result: SessionResult
    world: World

    @property
    def lines(self) -> list[dict[str, Any]]:
        text = (self.result.folder / "trial-1" / "samples.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    @property
    def hops(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if "response" in line]

    @property
    def stream(self) -> dict[str, Any]:
        (result,) = [line["stream"] for line in self.lines if "stream" in line]
        return dict(result)

    @property
    def problems(self) -> dict[str, str]:
        return {
            problem["code"]: problem["detail"]
            for problem in self.result.content["problems"]
        }


def run(folder: Path, *overrides: str, trials: int = 1) -> Session:
    path = folder / "bench.toml"
    path.write_text(BENCH)
    with open_bench(path, overrides) as bench:
        return Session(bench.run(trials, folder / "sessions"), bench.context.world)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return run(tmp_path_factory.mktemp("real-time"))


def test_latencies_and_energies_are_those_of_the_world_on_the_table(
    session: Session,
) -> None:
    assert not session.problems
    falls_ns = [
        new.time_ns
        for old, new in pairwise(session.world.states())
        if old.level and not new.level
    ]
    at = 0
    for done in completion_lines.read(session.result.folder / "trial-1"):
        if isinstance(done.step, Stream):
            break
        at += len(done.completion.marks)
    step = done.step
    count = len(done.completion.marks)
    assert isinstance(step, Stream)
    truth_s = [fall_ns / 1e9 for fall_ns in falls_ns[at : at + count]]
    # The device's own crystal plays the signal: a second of it is shorter by its error.
    sample_s = 1 / step.sample_hz / (1 + DEVICE_PPM * 1e-6)
    hops = session.hops
    assert len(hops) == step.windows == 21 and count == 3 * 21 + 2
    ends = []
    total = 0
    for scene in step.scenes:
        total += scene.samples
        ends.append(total)
    for number, hop in enumerate(hops):
        began_s = truth_s[1 + 3 * number]
        decided_s = truth_s[3 + 3 * number]
        ready_s = truth_s[0] + (number * step.hop + step.window) * sample_s
        heard = number * step.hop + step.window - step.hop // 2
        scene = next(position for position, end in enumerate(ends) if heard < end)
        onset_s = truth_s[0] + ((ends[scene - 1] if scene else 0) + 1) * sample_s
        assert (
            hop["window"] == number
            and hop["scene"] == scene
            and hop["label"] == step.scenes[scene].label
        )
        # Two ticks of a microsecond, and the seconds of a monitor whose crystal is
        # wrong by 40 ppm.
        assert hop["response"]["latency_s"] == pytest.approx(
            decided_s - ready_s, abs=5e-6
        )
        assert hop["since_onset"]["latency_s"] == pytest.approx(
            decided_s - onset_s, rel=5e-5, abs=5e-6
        )
        busy_j = sum(window["energy_j"] for window in hop["windows"])
        true_j = session.world.true_energy_j(
            round(began_s * 1e9), round(decided_s * 1e9)
        )
        assert busy_j == pytest.approx(true_j, rel=2e-3)
    whole = session.stream["whole"]
    true_j = session.world.true_energy_j(
        round(truth_s[0] * 1e9), round(truth_s[-1] * 1e9)
    )
    assert whole["energy_j"] == pytest.approx(true_j, rel=2e-4)
    assert session.result.metrics["power_stream"].value == pytest.approx(
        true_j / (truth_s[-1] - truth_s[0]), rel=2e-4
    )


def test_the_device_marks_and_answers_each_window(session: Session) -> None:
    (done,) = [
        item
        for item in completion_lines.read(session.result.folder / "trial-1")
        if isinstance(item.step, Stream)
    ]
    assert [mark.phase for mark in done.completion.marks] == [
        STREAM,
        *[1, 2, DECIDED] * 21,
        END,
    ]
    assert len(done.each) == 21 and done.completion.iterations == 21
    assert (
        session.result.metrics["accuracy"].value
        == sum(score.correct for score in done.each) / 21
    )


def test_onset_latency_is_that_of_the_first_stable_right_decision(
    session: Session,
) -> None:
    hops = session.hops
    new = range(1, len(session.stream["scenes"]))
    latencies_s = []
    for scene in new:
        own = [hop for hop in hops if hop["scene"] == scene]
        right = [
            (item, other)
            for item, other in pairwise(own)
            if item["correct"] and other["correct"]
        ]
        latencies_s += [right[0][0]["since_onset"]["latency_s"]] if right else []
    metrics = session.result.metrics
    assert latencies_s and metrics["recognised"].value == pytest.approx(
        len(latencies_s) / len(new)
    )
    assert metrics["latency_onset"].value == pytest.approx(
        sum(latencies_s) / len(latencies_s), rel=1e-12
    )
    assert metrics["within_deadline"].value == 1.0
    assert metrics["duty_cycle"].value == pytest.approx(21 * 0.06 / 9.0, rel=0.02)


def test_every_number_is_found_again_and_the_report_has_them(session: Session) -> None:
    assert check(session.result.folder).ok
    page = write_report(session.result.folder).read_text()
    assert "latency_onset" in page and "within_deadline" in page
    lines = (session.result.folder / "trial-1" / "results.txt").read_text()
    assert (
        "streamed from the host: what the slots could not hold came while it played"
        in lines
        and "simulated" in lines
    )


def test_noise_and_edges_count_for_the_stream_as_for_one_window_and_not_for_many(
    session: Session,
) -> None:
    (trial,) = session.result.trials
    whole = trial.measured.streams[0].whole
    for component in ("noise", "edges"):
        effect = whole.effects.of[component]
        influence = trial.influences["power_stream"][component]
        assert influence.value == pytest.approx(
            abs(effect.energy_j) / whole.latency_s, rel=1e-6
        )
    for name in ("latency_onset", "latency_response", "duty_cycle", "energy_stream"):
        assert (
            session.result.content["metrics"][name]["same_samples"][
                "expanded_uncertainty"
            ]
            > 0
        )


def test_five_trials_of_one_stream_agree(tmp_path: Path) -> None:
    session = run(tmp_path, *SHORT, "scenario.real_time.stream_seed=2", trials=5)
    assert session.result.ok, session.result.content["replication"]["reason"]
    plays = []
    for trial in range(1, 6):
        plays += [
            item.step
            for item in completion_lines.read(session.result.folder / f"trial-{trial}")
            if isinstance(item.step, Stream)
        ]
    assert len(plays) == 5 and len(set(plays)) == 1


def test_preloaded_windows_are_named_in_the_results(tmp_path: Path) -> None:
    overrides = [*SHORT, "scenario.real_time.preloaded=true", "sut.virtual.slots=8"]
    session = run(tmp_path, *overrides)
    assert not session.problems and session.stream["preloaded"]
    assert (
        "preloaded: the link was silent"
        in (session.result.folder / "trial-1" / "results.txt").read_text()
    )
    with pytest.raises(ConfigError, match="8 windows, the device holds 7"):
        run(tmp_path, *overrides, "sut.virtual.slots=7")


def test_a_link_that_cannot_keep_pace_starves_the_stream_and_what_was_measured_is_kept(
    tmp_path: Path,
) -> None:
    # A window each 0.4 s, and a link that takes 0.55 s for one: the second slot after
    # the first three is late, soon one is missing.
    session = run(tmp_path, "sut.virtual.load_s=0.55")
    assert "stream" in session.problems and not session.result.ok
    details = [
        problem["detail"]
        for problem in session.result.content["problems"]
        if problem["code"] == "stream"
    ]
    answered = len(session.hops)
    assert 3 <= answered < 21
    assert any(
        f"window {answered} was not there when it was ready" in detail
        for detail in details
    )
    assert any("came after their newest hop had begun" in detail for detail in details)
    assert any(
        f"{answered} of 21 windows were answered" in detail for detail in details
    )
    # Missing windows are late: the share counts all expected windows.
    assert session.result.metrics["within_deadline"].value == pytest.approx(
        answered / 21
    )
    assert session.result.trials[0].metrics["within_deadline"].n == 21
    assert session.stream["whole"]["energy_j"] > 0 and check(session.result.folder).ok


def test_a_device_slower_than_a_hop_is_overrun_and_its_trial_is_kept(
    tmp_path: Path,
) -> None:
    session = run(tmp_path, "sut.virtual.infer={duration_s = 0.7, power_w = 0.045}")
    details = [
        problem["detail"]
        for problem in session.result.content["problems"]
        if problem["code"] == "stream"
    ]
    answered = len(session.hops)
    assert any(
        f"window {answered} was begun when window {answered + 3} was ready already"
        in detail
        for detail in details
    )
    assert "rule" in session.problems and not session.result.ok
    # It lags by 0.7 + 0.018 - 0.4 s a window; its next one waits.
    late_s = [hop["response"]["latency_s"] for hop in session.hops]
    assert late_s == pytest.approx(
        [0.718 + 0.318 * number for number in range(answered)], rel=0.03
    )
    assert check(session.result.folder).ok


def test_too_many_late_decisions_make_the_trial_invalid_although_the_stream_held(
    tmp_path: Path,
) -> None:
    session = run(
        tmp_path,
        *SHORT,
        "scenario.real_time.deadline_s=0.0601",
        "sut.virtual.infer.variation=0.05",
    )
    assert set(session.problems) == {"rule"}
    in_time = session.result.metrics["within_deadline"].value
    assert 0.0 < in_time < 0.9
    assert (
        f"{round(in_time * 8)} of 8 windows were decided within 60.1 ms: 90% must be"
        in session.problems["rule"]
    )
    assert (
        "no result" in (session.result.folder / "trial-1" / "results.txt").read_text()
    )


@pytest.mark.posix
@pytest.mark.paced  # each window is to be decided within 100 ms
@pytest.mark.parametrize("preloaded", [False, True])
def test_the_firmware_answers_each_window_of_a_stream_as_the_integer_model_does(
    firmware: Path, tmp_path: Path, preloaded: bool
) -> None:
    # More windows than slots while the link is busy; fewer, and silence, where all are
    # there before.
    length_s = 2.0 if preloaded else 3.2
    overrides = [
        f"sut.posix.program={firmware / 'asc'}",
        f"scenario.real_time.duration_s={length_s}",
    ]
    overrides += [
        "scenario.real_time.scene_s=[0.9, 1.8]",
        "scenario.real_time.hop_s=0.1",
        f"scenario.real_time.preloaded={str(preloaded).lower()}",
    ]
    with open_bench(ROOT / "benches" / "posix-real-time.toml", overrides) as bench:
        result = bench.run(1, tmp_path)
        task = bench.task
    assert isinstance(task, AscTask)
    assert not result.content["problems"]
    (done,) = [
        item
        for item in completion_lines.read(result.folder / "trial-1")
        if isinstance(item.step, Stream)
    ]
    step = done.step
    assert isinstance(step, Stream) and len(done.each) == step.windows == (
        11 if preloaded else 23
    )
    assert (step.windows > bench.sut.info.slots) != preloaded
    signal = b"".join(
        b"".join(map(task.payload, scene.indices))[: 2 * scene.samples]
        for scene in step.scenes
    )
    windows = [signal[2 * 800 * number :][:16_000] for number in range(step.windows)]
    assert done.completion.output == b"".join(map(task.reference, windows))
    assert done.completion.rx_in_window_b == 0 or not preloaded
    assert (
        result.metrics["latency_response"].value
        > result.metrics["latency_infer"].value
        > 0
    )
    assert check(result.folder).ok
