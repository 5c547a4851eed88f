# SPDX-License-Identifier: Apache-2.0
"""A request to stop, in the middle of each kind of step: within a second the session is
aborted, the supply is off, and the folder is there.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from rig.bench.probe import probe
from rig.errors import Stopped
from rig.host.stop import Stop
from rig.session import session
from rig.session.session import open_bench
from rig.store.events import Event, RailState, SessionFinished, StepBegun
from rig.store.session_folder import SessionFolder
from tests.conftest import ROOT

BENCHES = ROOT / "benches"
#: The kind of wait at the request, and how long it may take after it.
INTO_IT_S = 0.1
LIMIT_S = 1.0


class Stopper:
    """A subscriber that asks for the end a moment after a step of a kind has begun,
    from another thread, and notes what follows and when.
    """

    def __init__(self, kind: str, after_s: float = INTO_IT_S) -> None:
        self.stop = Stop()
        self._kind = kind
        self._after_s = after_s
        self.asked_s = 0.0
        self.ended_s = 0.0
        self.status = ""
        self.on = False
        self.off_s = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case StepBegun() if event.step.kind == self._kind and not self.asked_s:
                self.asked_s = time.monotonic() + self._after_s
                timer = threading.Timer(self._after_s, self.stop.request)
                timer.daemon = True
                timer.start()
            case SessionFinished():
                self.status = event.status
                self.ended_s = time.monotonic()
            case RailState():
                self.on = event.on
                self.off_s = time.monotonic()


def stopped(
    bench: str, kind: str, overrides: list[str], root: Path, after_s: float = INTO_IT_S
) -> Path:
    """Run a bench, stop it in a step of a kind, and return the folder of its
    session."""
    # A load of the firmware as a process is over soon.
    stopper = Stopper(kind, 0.0 if kind == "load" else after_s)
    with (
        pytest.raises(Stopped),
        open_bench(
            BENCHES / f"{bench}.toml", overrides, (stopper,), stopper.stop
        ) as opened,
    ):
        opened.run(1, root)
    assert stopper.status == "abort"
    assert not stopper.on
    assert stopper.ended_s - stopper.asked_s < LIMIT_S
    assert stopper.off_s - stopper.asked_s < LIMIT_S
    (folder,) = root.iterdir()
    assert SessionFolder(folder).journal().status == "abort"
    return folder


#: Each step takes minutes unless it is stopped: of the virtual clock, or of the wall's.
_IDLE = ["task.null.samples=4", "scenario.single_stream.idle_s=600.0"]
_SEARCH = ["task.qubo.nodes=[100]", "task.qubo.densities=[0.05]", "task.qubo.seeds=[0]"]
_FAST = "monitor.virtual.sample_hz=1_000_000"
_STREAM = ["scenario.real_time.duration_s=480.0", "scenario.real_time.idle_s=0.1"]


@pytest.mark.parametrize(
    ("bench", "kind", "overrides"),
    [
        ("virtual-null", "idle", _IDLE),
        ("virtual-null", "load", ["sut.virtual.load_s=600.0"]),
        ("virtual-null", "query", ["sut.virtual.infer.duration_s=18.0", _FAST]),
        (
            "virtual-qubo",
            "solve",
            [
                *_SEARCH,
                "scenario.optimization.timeouts_s=[100.0]",
                "sut.virtual.solve.rate_hz=1e7",
            ],
        ),
        ("virtual-real-time", "stream", [*_STREAM, _FAST]),
    ],
)
def test_in_virtual_time(
    bench: str, kind: str, overrides: list[str], tmp_path: Path
) -> None:
    stopped(bench, kind, overrides, tmp_path)


@pytest.mark.posix
@pytest.mark.paced  # a second, of a processor that is not shared among ten
@pytest.mark.parametrize(
    ("bench", "kind", "overrides"),
    [
        ("posix-null", "idle", _IDLE),
        ("posix-null", "load", ["sut.posix.faults.drop=0.005"]),
        ("posix-null", "query", ["scenario.single_stream.repeat=1_000_000_000"]),
        ("posix-qubo", "solve", [*_SEARCH, "scenario.optimization.timeouts_s=[100.0]"]),
        ("posix-real-time", "stream", _STREAM),
        ("posix-asc-joulescope", "idle", ["scenario.single_stream.idle_s=60.0"]),
        ("posix-asc-n6705", "idle", ["scenario.single_stream.idle_s=60.0"]),
        ("posix-asc-lpm01a", "idle", ["scenario.single_stream.idle_s=60.0"]),
    ],
)
def test_by_the_clock_on_the_wall(
    bench: str, kind: str, overrides: list[str], tmp_path: Path
) -> None:
    stopped(bench, kind, overrides, tmp_path)


@pytest.mark.parametrize(
    ("bench", "kind", "overrides"),
    [
        ("cpu-asc-virtual", "idle", ["scenario.single_stream.idle_s=60.0"]),
        ("cpu-qubo-virtual", "solve", ["scenario.optimization.timeouts_s=[100.0]"]),
        ("cpu-real-time-virtual", "stream", _STREAM),
    ],
)
def test_on_a_cpu(bench: str, kind: str, overrides: list[str], tmp_path: Path) -> None:
    stopped(bench, kind, overrides, tmp_path)


def test_while_a_bench_is_probed(tmp_path: Path) -> None:
    """A device that is silent is asked for seconds at several line rates."""
    stop = Stop()
    states: list[bool] = []

    def watch(event: Event) -> None:
        if isinstance(event, RailState):
            states.append(event.on)
            if event.on:
                threading.Timer(INTO_IT_S, stop.request).start()

    parent, child = os.openpty()
    bench = tmp_path / "silent.toml"
    bench.write_text(
        f'[sut.uart]\nport = "{os.ttyname(child)}"\n[monitor.virtual]\n'
        "[scenario.single_stream]\n[task.null]\n",
        encoding="utf-8",
    )
    try:
        began_s = time.monotonic()
        with pytest.raises(Stopped):
            list(probe(bench, (), (watch,), stop))
        assert time.monotonic() - began_s < 3.0
    finally:
        os.close(parent)
        os.close(child)
    assert states == [True, False]


@pytest.mark.posix
def test_a_posix_session_that_was_stopped_is_finished_by_resume(tmp_path: Path) -> None:
    quick = ["scenario.single_stream.idle_s=1.0", "task.null.samples=3"]
    folder = stopped("posix-null", "idle", quick, tmp_path)
    resumed = session.resume(folder)
    assert SessionFolder(folder).journal().status == "success"
    assert len(resumed.trials[0].measured.samples) == 3


@pytest.mark.posix
def test_while_the_bench_is_opened(tmp_path: Path) -> None:
    """A silent port is waited for; the supply is on by then."""
    stop = Stop()
    reported: list[Event] = []

    def watch(event: Event) -> None:
        reported.append(event)
        if isinstance(event, RailState) and event.on:
            threading.Timer(INTO_IT_S, stop.request).start()

    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    mute.chmod(0o755)
    began_s = time.monotonic()
    with (
        pytest.raises(Stopped),
        open_bench(
            BENCHES / "posix-null.toml", [f'sut.posix.program="{mute}"'], (watch,), stop
        ),
    ):
        pytest.fail("it opened")
    assert time.monotonic() - began_s < 3.0
    assert [event.on for event in reported if isinstance(event, RailState)] == [
        True,
        False,
    ]


def test_a_session_that_was_stopped_in_a_step_is_finished_by_resume(
    tmp_path: Path,
) -> None:
    folder = stopped(
        "virtual-real-time",
        "stream",
        ["scenario.real_time.duration_s=30.0", "scenario.real_time.idle_s=0.1"],
        tmp_path,
        after_s=0.02,
    )
    resumed = session.resume(folder)
    assert resumed.trials[0].problems == ()
    assert SessionFolder(folder).journal().status == "success"
