# SPDX-License-Identifier: Apache-2.0
"""A NIR file that is damaged ends in an error: HDF5 hangs or crashes in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import nir
import numpy as np
import pytest

from rig.errors import DataError, Stopped
from rig.network import graph, nir_file
from rig.stop import Stop
from tests.waiting import eventually

VECTORS = Path(__file__).parents[2] / "vectors"
#: Places in avgpool2d.nir, and the byte that stands there in place of the right one.
LOOPS = {"heap": (2288, 0), "links": (2313, 8)}
CRASHES = (8345, 8)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Return a file on which HDF5 loops for ever."""
    return with_byte(tmp_path, *LOOPS["heap"])


def with_byte(folder: Path, at: int, byte: int) -> Path:
    content = bytearray((VECTORS / "nir" / "avgpool2d.nir").read_bytes())
    content[at] = byte
    path = folder / f"damaged-{os.getpid()}-{at}.nir"
    path.write_bytes(content)
    return path


def test_what_is_read_is_what_nir_itself_reads() -> None:
    for name in ("nir/avgpool2d.nir", "nir/complexity/recurrent.nir"):
        read = graph.read(VECTORS / name)
        itself = nir.read(VECTORS / name, type_check=False)
        assert read.edges == itself.edges and list(read.nodes) == list(itself.nodes)
        np.testing.assert_equal(read.to_dict(), itself.to_dict())
        for mine, its in zip(read.nodes.values(), itself.nodes.values(), strict=True):
            assert {key: type(value) for key, value in vars(mine).items()} == {
                key: type(value) for key, value in vars(its).items()
            }


@pytest.mark.parametrize("where", ["heap", pytest.param("links", marks=pytest.mark.repeats)])
def test_a_file_on_which_hdf5_loops_is_refused_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(nir_file, "_LIMIT_S", 1.0)
    path = with_byte(tmp_path, *LOOPS[where])
    began_s = time.monotonic()
    with pytest.raises(DataError, match=r"is not a NIR file") as caught:
        graph.read(path)
    assert "did not come to an end of it within 1 s" in caught.value.evidence
    assert time.monotonic() - began_s < 5.0


def test_a_file_on_which_hdf5_crashes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not a NIR file") as caught:
        graph.read(with_byte(tmp_path, *CRASHES))
    assert "crashed on it, with signal" in caught.value.evidence


def test_a_stop_ends_the_reading_and_its_process(damaged: Path) -> None:
    stop = Stop()
    stop.request()
    began_s = time.monotonic()
    with stop.heard(), pytest.raises(Stopped):
        graph.read(damaged)
    assert time.monotonic() - began_s < 5.0
    assert not readers(damaged)


@pytest.mark.posix
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_rig_ends_nothing_of_it_goes_on(damaged: Path, end: signal.Signals) -> None:
    command = [sys.executable, "-m", "rig", "model", "check", str(damaged)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as rig:
        eventually(lambda: len(readers(damaged)) == 2, process=rig)
        rig.send_signal(end)
        said, _ = rig.communicate(timeout=10.0)
    assert rig.returncode != 0 and b"Traceback" not in said
    eventually(lambda: not readers(damaged), limit_s=2.0)


def readers(path: Path) -> list[int]:
    """Return the processes that were started with a path."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if os.fsencode(path) in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_a_claim_beyond_what_the_file_holds_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "huge.nir"
    with h5py.File(path, "w") as file:
        file.create_dataset("node/weight", shape=(1 << 40,), dtype="f4", chunks=(1 << 20,))
    with pytest.raises(DataError) as caught:
        graph.read(path)
    assert "Claimed: /node/weight claims 4398046511104 bytes" in caught.value.evidence
    monkeypatch.setattr(nir_file, "ARRAYS_B", 100)
    with h5py.File(path, "w") as file:
        file["node/weight"] = np.zeros(26, dtype=np.float32)
    with pytest.raises(DataError) as caught:
        graph.read(path)
    assert "claim more than 100 bytes in all" in caught.value.evidence


def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.nir"
    asked = []
    ask = nir_file._ask

    def counted(path: Path, limit_s: float) -> bytes:
        asked.append(path)
        return ask(path, limit_s)

    monkeypatch.setattr(nir_file, "_ask", counted)
    for times, (name, kind) in enumerate(
        {"avgpool2d": nir.AvgPool2d, "conv1d": nir.Conv1d}.items(), 1
    ):
        path.write_bytes((VECTORS / "nir" / f"{name}.nir").read_bytes())
        first = graph.read(path)
        again = graph.read(path)
        assert len(asked) == times and first is not again
        assert any(isinstance(node, kind) for node in again.nodes.values())
