# SPDX-License-Identifier: Apache-2.0
"""Small data sets written by hand, a generated one, and the C workload as a shared
library."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from scenarios.tasks.asc.generate import ensure

ROOT = Path(__file__).parents[4]
SOURCE = ROOT / "firmware" / "workloads" / "asc" / "nr_asc.c"
WARNINGS = (
    "all",
    "extra",
    "pedantic",
    "conversion",
    "shadow",
    "strict-prototypes",
    "missing-prototypes",
    "cast-qual",
    "error",
)
STATE_B = 64 * 1024


def wav(
    frames: int,
    *,
    rate_hz: int = 44_100,
    channels: int = 1,
    bits: int = 16,
    tag: int = 1,
    extensible: bool = False,
    level: float = 0.25,
) -> bytes:
    """Write a WAV file byte by byte: a 440 Hz tone in the first channel, silence in the
    second."""
    tone = np.zeros((frames, channels))
    tone[:, 0] = level * np.sin(2 * np.pi * 440 * np.arange(frames) / rate_hz)
    whole = np.rint(tone * (2 ** (bits - 1) - 1)).astype("<i4")
    audio: bytes = (
        whole.view(np.uint8).reshape(frames, channels, 4)[:, :, : bits // 8].tobytes()
    )
    frame_b = channels * bits // 8
    rates = (rate_hz, rate_hz * frame_b)
    form = struct.pack("<HHIIHH", tag, channels, *rates, frame_b, bits)
    if extensible:
        guid_end = bytes.fromhex("000000001000800000aa00389b71")
        form = (
            struct.pack("<H", 0xFFFE)
            + form[2:]
            + struct.pack("<HHIH", 22, bits, 0, tag)
            + guid_end
        )
    note = b"LIST" + (5).to_bytes(4, "little") + b"abcde\0"
    body = (
        b"WAVEfmt "
        + len(form).to_bytes(4, "little")
        + form
        + note
        + b"data"
        + len(audio).to_bytes(4, "little")
        + audio
    )
    return b"RIFF" + len(body).to_bytes(4, "little") + body


@dataclass(slots=True)
class TinySet:
    """A data set written by hand in one of the two layouts."""

    folder: Path
    flat: bool = False

    @property
    def audio(self) -> Path:
        """Return where the wav files lie."""
        return self.folder / ("raw" if self.flat else "audio")

    @property
    def lists(self) -> Path:
        """Return where the fold lists lie."""
        return self.folder if self.flat else self.folder / "evaluation_setup"

    def add(self, name: str, content: bytes | None = None) -> Path:
        """Write one recording, 2 s of a tone by default."""
        path = self.audio / name
        path.write_bytes(wav(88_200) if content is None else content)
        return path

    def list(
        self,
        file: str,
        names: Iterable[str],
        columns: tuple[str, ...] = ("filename", "scene_label"),
    ) -> None:
        """Write one list with the given columns."""
        rows = ["\t".join(columns)]
        for name in names:
            parts = name.removesuffix(".wav").split("-")
            values = {
                "filename": f"audio/{name}",
                "scene_label": parts[0],
                "source_label": parts[4],
            }
            values["identifier"] = "-".join(parts[1:3])
            rows.append("\t".join(values[column] for column in columns))
        path = self.folder / file if file == "meta.csv" else self.lists / file
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")


TRAIN = [
    "airport-oslo-0-0-a.wav",
    "street_traffic-oslo-1-1-a.wav",
    "bus-oslo-2-2-a.wav",
    "park-oslo-3-3-a.wav",
]
EVALUATE = ["airport-oslo-4-4-a.wav", "park-oslo-5-5-a.wav"]
EXTRA = ["bus-oslo-6-6-a.wav"]
UNUSED = [
    "airport-oslo-0-0-b.wav",
    "park-oslo-3-3-s1.wav",
    "tram-oslo-7-7-a.wav",
    "metro-oslo-8-8-s6.wav",
]


@pytest.fixture(params=["original", "flattened"])
def tiny(request: pytest.FixtureRequest, tmp_path: Path) -> TinySet:
    """Four recordings to train, two to evaluate, one in no list, and some of other
    devices and classes.
    """
    made = TinySet(tmp_path, request.param == "flattened")
    made.audio.mkdir()
    made.lists.mkdir(exist_ok=True)
    for name in TRAIN + EVALUATE + EXTRA + UNUSED:
        made.add(name)
    made.list("fold1_train.csv", TRAIN + UNUSED[:1])
    made.list("fold1_evaluate.csv", EVALUATE + UNUSED[2:3])
    made.list("fold1_test.csv", EVALUATE, ("filename",))
    made.list(
        "meta.csv",
        TRAIN + EVALUATE + EXTRA + UNUSED,
        ("filename", "scene_label", "identifier", "source_label"),
    )
    return made


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the generated set of 4 x 6 files with seed 3, which no model
    was trained on; one a run of the suite, that the first process generates.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (
        base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    ) / "asc-cache"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file
        ensure(folder, 6, 3)
    return folder


LOAD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)
INFER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
RESULT = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_char_p)


class Workload(ctypes.Structure):
    """struct nr_workload."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("model", ctypes.c_char_p),
        ("slot_bytes", ctypes.c_uint32),
        ("output_bytes", ctypes.c_uint32),
        ("phases", ctypes.c_uint8),
        ("state", ctypes.c_void_p),
        ("load", LOAD),
        ("preprocess", LOAD),
        ("infer", INFER),
        ("result", RESULT),
        ("optimize", ctypes.c_void_p),
        ("memory_bytes", ctypes.c_uint32),
        ("start", ctypes.c_void_p),
        ("features", ctypes.c_void_p),
    )


class Firmware:
    """The C workload on memory of its own."""

    def __init__(self, library: Path) -> None:
        self.workload = Workload()
        self._state = ctypes.create_string_buffer(STATE_B)
        self._library = ctypes.CDLL(str(library))
        self._library.nr_asc_workload.restype = None
        self._library.nr_asc_workload.argtypes = [
            ctypes.POINTER(Workload),
            ctypes.c_void_p,
        ]
        self._library.nr_asc_workload(
            ctypes.byref(self.workload), ctypes.addressof(self._state)
        )

    def load(self, payload: bytes) -> int:
        """Check a payload."""
        return int(self.workload.load(self.workload.state, payload, len(payload)))

    def preprocess(self, payload: bytes) -> int:
        """Run phase 1."""
        return int(self.workload.preprocess(self.workload.state, payload, len(payload)))

    def infer(self) -> int:
        """Run phase 2."""
        return int(self.workload.infer(self.workload.state))

    def result(self) -> bytes:
        """Return the output of the last infer."""
        out = ctypes.create_string_buffer(64)
        length_b = self.workload.result(self.workload.state, out)
        return out.raw[:length_b]

    def output(self, payload: bytes) -> bytes:
        """Run everything."""
        assert self.load(payload) == 0
        assert self.preprocess(payload) == 0
        assert self.infer() == 0
        return self.result()


Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_asc(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile the workload with every warning an error: compile_asc(*options) -> output
    file."""
    result = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not result:
        pytest.skip("needs a C compiler")

    def compiled(*options: str) -> Path:
        out = tmp_path_factory.mktemp("c") / "out"
        folders = (f"-I{ROOT / 'firmware' / 'core'}", f"-I{SOURCE.parent}")
        command = [
            result,
            "-std=c99",
            *(f"-W{name}" for name in WARNINGS),
            *folders,
            *options,
            str(SOURCE),
            "-o",
            str(out),
        ]
        subprocess.run(command, check=True, capture_output=True)
        return out

    return compiled


@pytest.fixture(scope="session")
def asc_library(compile_asc: Compile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the workload as a shared library; it does not compile where its struct is
    no longer the one above.
    """
    same = tmp_path_factory.mktemp("c") / "same.h"
    size_b = ctypes.sizeof(Workload)
    same.write_text(
        '#include "nr_workload.h"\ntypedef char nr_same[sizeof(struct nr_workload) =='
        f" {size_b} ? 1 : -1];\n"
    )
    return compile_asc("-O2", "-shared", "-fPIC", "-include", str(same))


@pytest.fixture
def firmware(asc_library: Path) -> Firmware:
    """Return the C workload, freshly initialised."""
    return Firmware(asc_library)
