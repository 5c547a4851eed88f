# SPDX-License-Identifier: Apache-2.0
"""A NIR file that is damaged ends in an error: HDF5 hangs or crashes in a process of
its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import nir
import numpy as np
import pytest

from rig.errors import DataError, Stopped
from rig.host import processor_limit
from rig.host.stop import Stop
from rig.network import graph, hdf5_tree, nir_file
from tests.uncounted import uncounted
from tests.waiting import eventually

VECTORS = Path(__file__).parents[2] / "vectors"
#: Places in avgpool2d.nir, and the byte that stands there in place of the right one.
LOOPS = {"heap": (2288, 0), "links": (2313, 8)}
CRASHES = (8345, 8)

POPEN = subprocess.Popen


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


def external_link(file: h5py.File, other: Path) -> str:
    del file["node/nodes"]
    file["node/nodes"] = h5py.ExternalLink(str(other), "/node/nodes")
    return "/node/nodes is a link into another file"


def external_node(file: h5py.File, other: Path) -> str:
    del file["node"]
    file["node"] = h5py.ExternalLink(str(other), "/node")
    return "/node is a link into another file"


def soft_link_that_leaves(file: h5py.File, other: Path) -> str:
    file["out"] = h5py.ExternalLink(str(other), "/")
    del file["node/nodes"]
    file["node/nodes"] = h5py.SoftLink("/out/node/nodes")
    return "/node/nodes is a link, which may lead elsewhere"


def external_storage(file: h5py.File, other: Path) -> str:
    file["node"].create_dataset(
        "secret", (16,), np.uint8, external=[(str(other), 0, h5py.h5f.UNLIMITED)]
    )
    return "/node/secret has its values in another file"


def virtual(file: h5py.File, other: Path) -> str:
    layout = h5py.VirtualLayout((1,), np.float32)
    layout[:] = h5py.VirtualSource(str(other), "secret", (1,), np.float32)
    file["node"].create_virtual_dataset("secret", layout)
    return "/node/secret is a virtual dataset"


@pytest.mark.parametrize(
    "lead",
    [external_link, external_node, soft_link_that_leaves, external_storage, virtual],
    ids=lambda lead: lead.__name__,
)
def test_a_file_that_leads_into_another_one_is_refused(
    tmp_path: Path, lead: Callable[[h5py.File, Path], str]
) -> None:
    other = tmp_path / "other.nir"
    path = tmp_path / "leads.nir"
    for each in (other, path):
        each.write_bytes((VECTORS / "nir" / "avgpool2d.nir").read_bytes())
    with h5py.File(other, "r+") as file:
        file["secret"] = np.ones(1, np.float32)
    with h5py.File(path, "r+") as file:
        output = lead(file, other)
    with pytest.raises(DataError, match="is not a NIR file") as caught:
        graph.read(path)
    assert output in caught.value.evidence
    # The program that reads it says so itself, and opens no other file.
    with pytest.raises(hdf5_tree.Elsewhere, match=re.escape(output)):
        hdf5_tree.answer(str(path), 1 << 20)


def test_a_file_that_claims_more_than_is_allowed_is_refused_before_it_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "large.nir"
    path.write_bytes((VECTORS / "nir" / "avgpool2d.nir").read_bytes())
    assert b"tree.npy" in hdf5_tree.answer(str(path), 1 << 20)
    with pytest.raises(hdf5_tree.Claimed, match="claim more than 8 bytes in all"):
        hdf5_tree.answer(str(path), 8)


@pytest.mark.parametrize(
    "where", ["heap", pytest.param("links", marks=pytest.mark.repeats)]
)
def test_a_file_on_which_hdf5_loops_is_refused_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(nir_file, "_LIMIT_S", 1.0)
    # others want the processor, too
    monkeypatch.setattr(processor_limit, "_WALLS", 30.0)
    path = with_byte(tmp_path, *LOOPS[where])
    with pytest.raises(DataError, match=r"cannot be read") as caught:
        graph.read(path)
    assert "was not done after 1 s of processor time" in caught.value.evidence


@pytest.mark.posix
def test_a_reader_that_the_computer_does_not_let_run_makes_no_statement_about_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The limits are 20 s of processor time and 60 s; here 1 s and 3 s.
    monkeypatch.setattr(nir_file, "_LIMIT_S", 1.0)
    path = tmp_path / f"held-{os.getpid()}.nir"
    path.write_bytes((VECTORS / "nir" / "avgpool2d.nir").read_bytes())
    # Held before it can read: the process is stopped as it begins.
    monkeypatch.setattr(subprocess, "Popen", stopped_at_once)
    with pytest.raises(DataError, match="was not read in time") as caught:
        graph.read(path)
    assert "not used the 1 s of processor time" in caught.value.evidence
    assert "damaged" not in str(caught.value) and "not a NIR file" not in str(
        caught.value
    )


def stopped_at_once(*words: Any, **how: Any) -> Any:
    child = POPEN(*words, **how)
    child.send_signal(signal.SIGSTOP)
    return child


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
def test_however_the_rig_ends_nothing_of_it_goes_on(
    damaged: Path, end: signal.Signals
) -> None:
    command = [sys.executable, "-m", "rig", "model", "check", str(damaged)]
    with subprocess.Popen(
        command, env=uncounted(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as rig:
        eventually(lambda: len(readers(damaged)) == 2, process=rig)
        rig.send_signal(end)
        output, _ = rig.communicate(timeout=10.0)
    assert rig.returncode != 0 and b"Traceback" not in output
    # A reader that goes on would loop until its 20 s of processor time are used up.
    eventually(lambda: not readers(damaged), limit_s=10.0)


def readers(path: Path) -> list[int]:
    """Return the processes that were started with a path."""
    result = []
    for folder in Path("/proc").iterdir():
        try:
            if os.fsencode(path) in (folder / "cmdline").read_bytes().split(b"\0"):
                result.append(int(folder.name))
        except OSError:
            continue
    return result


def test_a_claim_beyond_what_the_file_holds_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "huge.nir"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "node/weight", shape=(1 << 40,), dtype="f4", chunks=(1 << 20,)
        )
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


def test_a_tflite_file_is_refused_with_what_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(bytes(4) + b"TFL3" + bytes(100))
    with pytest.raises(DataError, match="is not a NIR file") as caught:
        nir_file.read(path)
    assert "[task.tflite]" in caught.value.try_next
