# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of several traces, by readers side by side."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from rig.errors import Stopped
from rig.host.stop import Stop
from rig.trace import fingerprint
from tests.traces import trace_writer

HZ = 10_000


@pytest.fixture(autouse=True)
def _side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_PARALLEL_B", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def recorded(folder: Path, seed: int) -> Path:
    folder.mkdir()
    noise = np.random.default_rng(seed).normal(1.0, 0.1, HZ)
    with trace_writer(folder, HZ, sync_kind="none") as writer:
        writer.analog(noise, np.ones(HZ))
    return folder / "trace.jls"


def test_each_trace_has_its_own_whichever_reader_it_meets(tmp_path: Path) -> None:
    paths = [recorded(tmp_path / str(seed), seed) for seed in range(3)]
    broken = tmp_path / "broken.jls"
    broken.write_bytes(b"no trace")
    result = fingerprint.read([paths[0], broken, *paths[1:]])
    assert result[broken].fault
    for path in paths:
        assert result[path] == fingerprint.of_trace(path)
        assert result[path].windows
    assert not result[paths[0]].copies(result[paths[1]])


@pytest.mark.posix
def test_a_stop_ends_all_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "hanging"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(hanging))
    paths = [tmp_path / name for name in ("a.jls", "b.jls")]
    for path in paths:
        path.write_bytes(b"x")
    stop = Stop()
    timer = Timer(0.5, stop.request)
    timer.start()
    began_s = time.monotonic()
    with pytest.raises(Stopped), stop.heard():
        fingerprint.read(paths)
    timer.join()
    assert time.monotonic() - began_s < 60
