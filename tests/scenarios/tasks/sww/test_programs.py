# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word on this computer's processor: the bytes that the firmware
gives (tests/firmware/test_sww.py), from the beginning of each stream.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from rig.errors import BenchError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query, Scene, Stream
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.wake.features import HOP
from scenarios.tasks.sww.task import SwwTask
from sut_backends.cpu.backend import CpuSut

HOPS = 24


def opened(task: SwwTask) -> CpuSut:
    return CpuSut.open(CpuSut.Settings(), BenchContext(programs=task.programs))


def test_each_stream_begins_anew_and_single_windows_are_refused() -> None:
    task = SwwTask.open(SwwTask.Settings(length_s=4.0), BenchContext())
    first = task.events()[0][0] // HOP
    windows = [task.payload(first + index) for index in range(HOPS)]
    due = b"".join(task.listening()(windows))
    scene = Scene("none", tuple(range(HOPS)), HOPS * HOP)
    # All windows have a slot of their own: a busy computer misses none.
    step = Stream((scene,), HOP, HOP, SAMPLE_HZ, limit_s=60.0)
    with closing(opened(task)) as sut:
        assert sut.info.task == "sww"
        assert sut.info.model == task.provenance()["model"]
        assert sut.info.details["stateful"] is True
        for _ in range(2):
            done = sut.do(step, windows)
            assert done.faults == ()
            assert done.output == due
        assert len(set(due[::3])) > 1
        sut.do(Load(0), [windows[0]])
        with pytest.raises(SutError, match="refuses") as refused:
            sut.do(Query((0,), limit_s=5.0))
        assert "windows of streams alone" in str(refused.value.evidence)
        with pytest.raises(SutError, match="refuses"):
            sut.do(Load(0), [windows[0][:-2]])


def test_a_model_that_changed_after_the_bench_was_opened_is_refused(
    tmp_path: Path,
) -> None:
    example = SwwTask.open(SwwTask.Settings(length_s=4.0), BenchContext())
    copy = tmp_path / "model.tflite"
    entry = example.programs["integer"].arguments["path"]
    copy.write_bytes(Path(entry).read_bytes())
    task = SwwTask.open(
        SwwTask.Settings(length_s=2.0, model=copy.name), BenchContext(folder=tmp_path)
    )
    copy.write_bytes(copy.read_bytes() + bytes(4))
    with pytest.raises(BenchError, match="another file") as refused:
        opened(task)
    assert "another file" in str(refused.value)
