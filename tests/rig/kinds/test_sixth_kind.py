# SPDX-License-Identifier: Apache-2.0
"""A kind of step that the rig does not know: one class and one scenario, and it is
planned, done, stored, read back, measured, described and checked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from rig.bench import plugins
from rig.cli.main import rig
from rig.errors import ConfigError, DataError, LocalProtocolError
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds import registry
from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import END, Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Plan, Step
from rig.model.trial import Measured, Sample
from rig.session.session import open_bench
from rig.store import completion_lines
from scenarios.single_stream import SingleStream
from sut_backends.virtual.backend import VirtualSut
from tests.checking import check
from tests.samples import sample_of

BLINK = 0x01
LIT_S = 0.03
LIT_W = 0.05

BENCH = """
[bench]
name = "blinking"
[sut.blinking]
[monitor.virtual]
sample_hz = 200_000
[scenario.blinks]
idle_s = 0.2
[task.null]
samples = 3
"""


@dataclass(frozen=True, slots=True)
class Blink(Step):
    """Light the device's lamp `times` times."""

    kind: ClassVar[str] = "blink"

    times: int


class BlinkKind(StepKind[Blink]):
    """A mark when the lamp is lit, and one when it goes out for good."""

    step = Blink
    measured = True

    def describe(self, step: Blink) -> str:
        return f"blink {step.times} times"

    def total(self, steps: Sequence[Blink]) -> str:
        return f"{len(steps)} blinks" if steps else ""

    def own_phases(self, step: Blink) -> tuple[str, ...]:
        return ("blink",)

    def lacks(self, info: SutInfo) -> str:
        return "" if info.details.get("lamp") else "has no lamp"

    def payloads(self, task: Task, step: Blink) -> Sequence[bytes]:
        return (b"\1",) * step.times

    def due(
        self, item: StepRecord, step: Blink, phases: Sequence[str]
    ) -> list[int] | None:
        return [BLINK, END]

    def spans(
        self, item: StepRecord, step: Blink, phases: Sequence[str]
    ) -> Iterator[Span]:
        lit, out = item.completion.marks
        yield Span(item, "blink", (lit.tick, out.tick), step.times)

    def iterations_due(self, step: Blink) -> int | None:
        return step.times

    def lengthened_by(self, span: Span, step: Blink) -> str:
        return "times"

    def measure(
        self, item: StepRecord, step: Blink, windows: Windows, timed: Timed
    ) -> Measured:
        return Measured((self._sample(item.number, step, windows),), ())

    def _sample(self, number: int, step: Blink, windows: Windows) -> Sample:
        of_lamp = tuple(window for _, window in windows)
        return sample_of(
            number, of_lamp, indices=(), repeat=step.times, label="lit", answer="lit"
        )


class Blinks(SingleStream):
    """Blink as often as there are samples, between two idle times."""

    name = "blinks"

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle, blinks of a length that the seed decides, and idle."""
        yield Idle(self.settings.idle_s)
        for _ in range(len(task)):
            yield Blink(random.Random(seed).randint(2, 5))
        yield Idle(self.settings.idle_s)


class BlinkingSut(VirtualSut):
    """The virtual device, with a lamp; `lit_s` is how long it is lit."""

    lit_s = LIT_S
    lamp = True

    @property
    def info(self) -> SutInfo:
        """Return the device's description."""
        return replace(super().info, kind="blinking", details={"lamp": self.lamp})

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step, also one that the virtual device does not know."""
        if not isinstance(step, Blink):
            return super().do(step, payloads)
        assert len(payloads) == step.times
        marks = [
            self._mark(BLINK, LIT_W, self.lit_s * step.times),
            self._mark(END, self._settings.idle_w, 0.001),
        ]
        return Completion(tuple(marks), iterations=step.times)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a bench file whose scenario and device a plug-in brings."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    registry.register(BlinkKind())
    find = plugins.find
    own = {("sut", "blinking"): BlinkingSut, ("scenario", "blinks"): Blinks}
    monkeypatch.setattr(
        plugins,
        "find",
        lambda section, kind: own.get((section, kind)) or find(section, kind),
    )
    path = tmp_path / "bench.toml"
    path.write_text(BENCH, encoding="utf-8")
    return path


def test_it_is_planned_and_described(bench: Path) -> None:
    shown = CliRunner().invoke(rig, ["plan", str(bench)])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("blink ") == 3 and "times" in shown.output
    assert "2 idle times (0.4 s), 3 blinks; 5 trials" in shown.output


def test_it_is_done_stored_read_back_measured_and_checked(
    bench: Path, tmp_path: Path
) -> None:
    with open_bench(bench) as opened:
        result = opened.run(2, tmp_path / "sessions")
    assert result.content["problems"] == []
    reported = [item.step for item in completion_lines.read(result.folder / "trial-1")]
    blinks = [step for step in reported if isinstance(step, Blink)]
    assert [type(step).__name__ for step in reported] == [
        *("Sync", "Idle"),
        *["Blink"] * 3,
        *("Idle", "Sync"),
    ]
    assert len(set(blinks)) == 1 and 2 <= blinks[0].times <= 5
    line = json.loads(
        (result.folder / "trial-1" / "completions.jsonl").read_text().split("\n")[2]
    )
    assert (line["kind"], line["times"]) == ("blink", blinks[0].times)
    assert result.metrics["latency_blink"].value == pytest.approx(LIT_S, rel=1e-3)
    assert result.metrics["energy_total"].value == pytest.approx(
        LIT_S * LIT_W, rel=2e-2
    )
    assert [
        finding for finding in check(result.folder).findings if not finding.ok
    ] == []


def test_its_windows_and_counts_are_judged_as_those_of_any_other(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BlinkingSut, "lit_s", 40e-6)
    with open_bench(bench, ["monitor.virtual.sample_hz=50_000"]) as opened:
        problems = opened.run(1, tmp_path / "short").content["problems"]
    assert [problem["code"] for problem in problems] == ["short"]
    assert "raise the scenario's times" in problems[0]["detail"]
    monkeypatch.setattr(BlinkKind, "iterations_due", lambda self, step: step.times + 1)
    monkeypatch.setattr(BlinkingSut, "lit_s", LIT_S)
    with open_bench(bench) as opened:
        problems = opened.run(1, tmp_path / "counted").content["problems"]
    assert [problem["code"] for problem in problems] == ["clock"]


def test_a_device_without_it_and_a_session_without_the_plug_in_say_so(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_bench(bench) as opened:
        folder = opened.run(1, tmp_path / "sessions").folder
    monkeypatch.setattr(BlinkingSut, "lamp", False)
    with (
        pytest.raises(LocalProtocolError, match="virtual device has no lamp"),
        open_bench(bench) as opened,
    ):
        opened.run(1, tmp_path / "dark")
    with (
        open_bench(bench, ["bench.trials=1"]) as opened,
        pytest.raises(LocalProtocolError),
    ):
        VirtualSut.do(opened.sut, Blink(1))  # type: ignore[arg-type]
    monkeypatch.setattr(
        registry,
        "_KINDS",
        {name: kind for name, kind in registry._KINDS.items() if name != "blink"},
    )
    with pytest.raises(DataError, match="'blink' is no kind of step") as caught:
        completion_lines.read(folder / "trial-1")
    assert "load, query" in caught.value.evidence


def test_two_kinds_of_one_name_are_refused(bench: Path) -> None:
    class Other(StepKind[Blink]):
        step = Blink

    registry.register(BlinkKind())
    with pytest.raises(ValueError, match="named 'blink' already"):
        registry.register(Other())


def test_a_claim_that_no_trial_with_it_can_meet_is_refused_before(bench: Path) -> None:
    claimed = bench.read_text(encoding="utf-8") + "[claim]\n{} = 0.03\n"
    bench.write_text(claimed.format("latency_blink"), encoding="utf-8")
    with open_bench(bench):
        pass
    bench.write_text(claimed.format("latency_infer"), encoding="utf-8")
    with pytest.raises(ConfigError, match="latency_infer"), open_bench(bench):
        pass
