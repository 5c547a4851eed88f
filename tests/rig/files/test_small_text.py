# SPDX-License-Identifier: Apache-2.0
"""A file's claims and its length cannot take more memory than a file of its kind may."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rig.api.backends import runs
from rig.bench import config, editing, forms
from rig.bench.bench_file import BenchFile
from rig.cli.main import main
from rig.errors import ConfigError, DataError, RigError
from rig.files import small_text
from rig.importers import stamps_file
from rig.importers.open import open_any
from rig.importers.options import Options
from rig.network.array_file import array_of
from rig.results import claim
from rig.settings import fields
from rig.uncertainty import accuracy
from scenarios.tasks.asc import dataset
from scenarios.tasks.mlperf_tiny.labels import read_labels
from scenarios.tasks.network.data import array
from scenarios.tasks.qubo import official, targets
from tests.conftest import ROOT

#: Python refuses to read so many digits as a number.
DIGITS = "9" * 5_000
VIRTUAL_NULL = ROOT / "benches" / "virtual-null.toml"
READERS: dict[str, Callable[[Path], Any]] = {
    "bench": config.load,
    "bench in a window": BenchFile.read,
    "calibration": accuracy.load,
    "labels of MLPerf Tiny": read_labels,
    "labels": lambda path: array(path, "task.network.labels"),
    "targets": targets.read,
}


@pytest.mark.parametrize("kind", READERS)
def test_a_file_larger_than_any_of_its_kind_is_refused(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "large.csv"
    path.touch()
    os.truncate(path, small_text.LARGEST_B + 1)
    with pytest.raises(RigError) as caught:
        READERS[kind](path)
    assert "it has more than 16777216 bytes" in caught.value.evidence


CALIBRATION = (
    (ROOT / "docs/explanation/UNCERTAINTY.md").read_text("utf-8").split("```toml\n")[1]
)


def _listed(path: Path) -> list[str]:
    return dataset.read_list(path, {"tram-µ-1-2-a.wav": path})


#: What reads a text that a user names, and such a text.
TEXTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "bench.toml": (
        lambda path: config.load(path).toml(),
        VIRTUAL_NULL.read_text("utf-8"),
    ),
    "edited.toml": (
        lambda path: BenchFile.read(path).text,
        VIRTUAL_NULL.read_text("utf-8"),
    ),
    "compared.toml": (runs.tables, VIRTUAL_NULL.read_text("utf-8")),
    "claim.toml": (claim.read, "energy_infer = 1e-3\n"),
    "calibration.toml": (accuracy.load, CALIBRATION.partition("```")[0]),
    "tiny.csv": (read_labels, "a.bin, 2, 0\nb.bin, 2, 1\n"),
    "labels.csv": (
        lambda path: array(path, "task.network.labels").tolist(),
        "label\n1\n2\n",
    ),
    "targets.csv": (targets.read, targets.SHIPPED.read_text("utf-8")),
    "stamps.json": (stamps_file.rows_in, "[0.1, 0.2]"),
    "official.csv": (
        lambda path: official.read(path).rows,
        "num_vertices,density,random_seed,c_optimal\n10,0.25,0,-4\n",
    ),
    "list.csv": (_listed, "filename\tscene_label\ntram-µ-1-2-a.wav\ttram\n"),
}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_with_a_mark_at_its_beginning_is_read_as_it_says(
    tmp_path: Path, name: str, encoding: str
) -> None:
    read, text = TEXTS[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    plain = read(path)
    path.write_text(text, encoding=encoding)
    assert read(path) == plain


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_utf_16_without_its_mark_is_no_text(
    tmp_path: Path, name: str
) -> None:
    read, text = TEXTS[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-16-le")
    with pytest.raises(RigError) as caught:
        read(path)
    assert path.name in str(caught.value) and caught.value.try_next


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_in_any_encoding_is_measured(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "trace.csv"
    rows = "".join(f"{at / 1000},{at % 7 / 100}\n" for at in range(3000))
    path.write_text(f"time [s],Strom µ [A]\n{rows}", encoding=encoding)
    opened = open_any(path, tmp_path / "scratch", Options(supply_v=3.0))
    assert opened.trace.sample_hz == 1000.0


def test_a_number_of_thousands_of_digits_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "digits.toml"
    path.write_text(f"[bench]\ntrials = {DIGITS}\n")
    with pytest.raises(ConfigError, match="is not TOML"):
        config.load(path)
    with pytest.raises(ConfigError, match="is not TOML"):
        accuracy.load(path)
    with pytest.raises(ConfigError, match="is no claim"):
        claim.read(path)
    assert not editing.BenchText(path.read_text()).is_toml
    assert forms.from_typed(fields.SettingField("n", "integer", 1), DIGITS) == DIGITS
    with pytest.raises(ConfigError, match=r"bench\.trials"):
        config.load(VIRTUAL_NULL, [f"bench.trials={DIGITS}"])


@pytest.mark.parametrize(
    "shape", ["(1099511627776,)", "(99999999,)", "(0, 99999999999999999999)", "(-5,)"]
)
def test_an_array_that_claims_more_than_its_file_holds_is_refused(
    tmp_path: Path, shape: str
) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    path = tmp_path / "claims.npy"
    path.write_bytes(
        b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + bytes(64)
    )
    with pytest.raises(DataError, match=r"is no \.npy file of numbers"):
        array_of(path)
    with pytest.raises(ConfigError, match=r"is no \.npy file of numbers"):
        array(path, "task.network.inputs")


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04, which is no archive",
        b"\x93NUMPY\x01\0" + struct.pack("<H", 9000) + b"[" * 9000,
        b"\x93NUMPY\x01\0" + struct.pack("<H", 9000) + b"-" * 8999 + b"1",
    ],
)
def test_an_array_with_a_spoilt_head_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "spoilt.npy"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is no \.npy file of numbers"):
        array_of(path)
    with pytest.raises(ConfigError, match=r"is no \.npy file of numbers"):
        array(path, "task.network.inputs")


def test_an_array_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.npy"
    os.mkfifo(path)
    for read in (array_of, lambda each: array(each, "task.network.inputs")):
        with pytest.raises(RigError, match="pipe"):
            read(path)


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "endless.csv"
    rows = b"Timestamp(ms),Current(uA)\n" + b"".join(
        b"%d,1.0\n" % at for at in range(5)
    )
    path.write_bytes(rows + b"1" * (3 << 20))
    with pytest.raises(DataError, match="has a line that does not end") as caught:
        open_any(path, tmp_path, Options(supply_v=3.0))
    assert "1048576 bytes without an end of line" in caught.value.evidence


def test_where_memory_does_not_suffice_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**options: Any) -> None:
        raise MemoryError("Unable to allocate 8.00 TiB")

    command_line = sys.modules[main.__module__]
    monkeypatch.setattr(command_line, "handle_once", lambda: None)
    monkeypatch.setattr(command_line, "rig", SimpleNamespace(main=full))
    with pytest.raises(SystemExit) as caught:
        main()
    output = capsys.readouterr().err
    assert caught.value.code == 3 and "Traceback" not in output
    assert (
        "not enough memory" in output
        and "8.00 TiB" in output
        and "rig check SESSION" in output
    )
