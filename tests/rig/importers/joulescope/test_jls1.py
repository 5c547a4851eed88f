# SPDX-License-Identifier: Apache-2.0
"""JLS version 1: files written here after the format's description; their content is
found exactly, and damage is never read.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers.joulescope.jls1_container import ContainerBlock, TaggedFile
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.trace.trace import Trace, reading
from tests.length import length

MAGIC = bytes(
    [
        0xD3,
        0x74,
        0x61,
        0x67,
        0x66,
        0x6D,
        0x74,
        0x20,
        0x0D,
        0x0A,
        0x20,
        0x0A,
        0x20,
        0x20,
        0x1A,
        0x1C,
    ]
)
OFFSETS = (-8000.0, -8010.0, -8020.0, -8030.0, -8040.0, -8050.0, -8060.0)
GAINS = (1e-3, 1e-4, 1e-5, 2e-6, 5e-7, 1e-7, 1e-8)
VOLTS = ((-100.0, -200.0), (1e-3, 5e-4))
LOST = (0xFFFF, 0xFFFF)


def block(tag: bytes, value: bytes = b"", flags: int = 0) -> bytes:
    body = tag + bytes([flags]) + struct.pack("<I", len(value)) + value
    body += bytes(-(len(body) + 4) % 8)
    return body + struct.pack("<I", zlib.crc32(body))


def file(*blocks: bytes, closed: bool = True, version: int = 1) -> bytes:
    body = b"".join(blocks) + (block(b"END") if closed else b"")
    size_b = 32 + len(body) if closed else 0
    head = MAGIC + struct.pack("<Q3xB", size_b, version)
    return head + struct.pack("<I", zlib.crc32(head)) + body


def mjs(**content: Any) -> bytes:
    return block(b"MJS", json.dumps(content).encode())


def config(hz: float = 1000.0, form: str = "raw", **more: Any) -> bytes:
    return mjs(
        type="config",
        data_recorder_format_version="2",
        sampling_frequency=hz,
        data_format=form,
        **more,
    )


def start(number: int, **content: Any) -> bytes:
    return block(
        b"CLS",
        struct.pack("<QHBB", 0, number, 0, 0)
        + (json.dumps(content).encode() if content else b""),
    )


def calibration(
    gains: Sequence[float] = GAINS, tag: bytes = b"AJS", **more: Any
) -> bytes:
    output = {
        "serial_number": "00cafe",
        "current": {
            "offset": [*OFFSETS, 0.0, math.nan],
            "gain": [*gains, 0.0, math.nan],
        },
        "voltage": {"offset": VOLTS[0], "gain": VOLTS[1]},
    } | more
    inner = file(block(b"HDR", bytes(40)), block(tag, json.dumps(output).encode()))
    return block(b"SUB", b"calibration".ljust(128, b"\0") + inner)


@dataclass
class Raw:
    """Raw samples: codes of 14 bits, ranges, and a toggle that alternates."""

    i: NDArray[np.int64]
    v: NDArray[np.int64]
    ranges: NDArray[np.int64]
    toggle_from: int = 0

    def rows(self) -> NDArray[np.uint16]:
        toggle = (np.arange(len(self.i)) + self.toggle_from) & 1
        rows = np.stack(
            [
                self.i << 2 | self.ranges & 3,
                self.v << 2 | toggle << 1 | self.ranges >> 2,
            ],
            axis=1,
        )
        return rows.astype("<u2")

    def watts(self, voltage_range: int = 0) -> list[float]:
        amps = [
            (i + OFFSETS[r]) * GAINS[r]
            for i, r in zip(self.i.tolist(), self.ranges.tolist(), strict=True)
        ]
        volts = [
            (v + VOLTS[0][voltage_range]) * VOLTS[1][voltage_range]
            for v in self.v.tolist()
        ]
        return [a * u for a, u in zip(amps, volts, strict=True)]


def steady(count: int, current_range: int = 3) -> Raw:
    ramp = np.arange(count)
    return Raw(9000 + ramp % 997, 3000 + ramp % 13, np.full(count, current_range))


def recording(
    rows: NDArray[np.uint16],
    per_block: int = 40,
    closed: bool = True,
    v_range: int = 0,
    known: bytes | None = None,
) -> bytes:
    """A file of raw samples: three blocks in a collection."""
    blocks = [
        block(b"UJS", b'{"by": "hand"}'),
        known or calibration(),
        config(),
        start(0),
    ]
    for number, at in enumerate(range(0, len(rows), per_block)):
        blocks += (
            [start(1, v_range=v_range, sample_id=5000 + at)] if number % 3 == 0 else []
        )
        blocks.append(block(b"ABN", rows[at : at + per_block].tobytes()))
        blocks += [block(b"CLE", b"ARRY" + bytes(12))] if number % 3 == 2 else []
    blocks += (
        [block(b"CLE"), block(b"CLE"), mjs(type="footer", size=len(rows))]
        if closed
        else []
    )
    return file(*blocks, closed=closed)


def arrays(columns: dict[int, NDArray[Any]]) -> bytes:
    codes = {"float32": 2, "uint8": 8}
    head = b""
    body = b""
    for number, values in columns.items():
        head += struct.pack(
            "<II", number << 8 | codes[values.dtype.name], values.nbytes
        )
        body += values.tobytes() + bytes(-values.nbytes % 8)
    at = 16 + len(head)
    return (
        struct.pack("<4sIII", b"ARRY", at + len(body), at, len(columns) << 24 | 7)
        + head
        + body
    )


def reduced(
    current: NDArray[np.float32],
    voltage: NDArray[np.float32],
    power: NDArray[np.float32],
    line: NDArray[Any],
) -> bytes:
    level = line.astype(np.uint8)
    columns: dict[int, NDArray[Any]] = {0x01: current, 0x11: voltage, 0x21: power}
    columns |= {0x31: np.zeros_like(level), 0x41: level, 0x51: np.zeros_like(level)}
    return block(b"ABN", arrays(columns))


def opened(
    tmp_path: Path, content: bytes, name: str = "a.jls", **options: Any
) -> Opened:
    path = tmp_path / name
    path.write_bytes(content)
    try:
        return open_any(path, tmp_path / "scratch", Options(**options))
    finally:
        assert path.read_bytes() == content, "the original was changed"


def samples(trace: Trace) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with reading(trace.path) as reader:
        return reader.fsr(1, 0, trace.length), reader.fsr(2, 0, trace.length)


def whole_j(trace: Trace) -> float:
    return trace.energy_j(0.0, trace.duration_s)


# Content of a file


@pytest.mark.parametrize("current_range", range(7))
@pytest.mark.parametrize("v_range", [0, 1])
def test_raw_samples_become_amperes_and_volts_by_their_range(
    tmp_path: Path, current_range: int, v_range: int
) -> None:
    raw = steady(500, current_range)
    result = opened(tmp_path, recording(raw.rows(), v_range=v_range))
    assert (
        result.origin == "jls1"
        and result.trace.sample_hz == 1000.0
        and result.trace.length == 500
        and not result.trace.gaps
    )
    assert whole_j(result.trace) == pytest.approx(
        math.fsum(raw.watts(v_range)) / 1000, rel=1e-6
    )


def test_without_a_supply_there_is_no_current(tmp_path: Path) -> None:
    raw = steady(100, 7)
    current, voltage = samples(opened(tmp_path, recording(raw.rows())).trace)
    assert not current.any() and voltage[5] == pytest.approx(3005 * 1e-3 - 0.1)


def test_a_file_of_the_first_releases_is_read(tmp_path: Path) -> None:
    # Collections within collections, no form of the data, a calibration under its old
    # tag, the voltage's range absent.
    raw = steady(160)
    rows = raw.rows()
    parts = [block(b"ABN", rows[at : at + 40].tobytes()) for at in range(0, 160, 40)]
    begin = mjs(
        type="config",
        sampling_frequency=2_000_000,
        samples_per_block=40,
        reductions=[20],
        sample_id_offset=0,
    )
    closing = [block(b"CLE", bytes(16)), block(b"CLE", bytes(8)), block(b"CLE")]
    content = file(
        begin,
        calibration(tag=b"CJS"),
        start(0),
        start(1),
        start(2),
        *parts,
        *closing,
        mjs(type="footer", size=160),
    )
    result = opened(tmp_path, content)
    assert result.trace.sample_hz == 2e6
    assert whole_j(result.trace) == pytest.approx(
        math.fsum(raw.watts()) / 2e6, rel=1e-6
    )


@given(
    changes=st.lists(
        st.tuples(st.integers(1, 90), st.integers(0, 6)), min_size=1, max_size=4
    ),
    per_block=st.integers(1, 90),
    slope=st.integers(-3, 3),
)
@settings(max_examples=length(20, 8), deadline=None)
def test_what_a_change_of_range_spoils_is_a_line_between_the_samples_beside_it(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[int, int]],
    per_block: int,
    slope: int,
) -> None:
    # The true current is a line, and all ranges can show it; for three samples after
    # each change the converter shows nonsense.
    folder = tmp_path_factory.mktemp("jls1")
    at = np.arange(120)
    gains = [1e-6] * 7
    ranges = np.full(120, 3)
    spoiled = np.zeros(120, dtype=bool)
    for change, to in sorted(changes):
        ranges[change:] = to
    for began in (np.flatnonzero(np.diff(ranges)) + 1).tolist():
        spoiled[began : began + 3] = True
    line = 1000 + slope * at
    codes = np.where(spoiled, 16_000, line - np.array(OFFSETS, dtype=int)[ranges])
    content = recording(
        Raw(codes, np.full(120, 2000), ranges).rows(),
        per_block,
        known=calibration(gains),
    )
    current, _ = samples(open_any(_put(folder, content), folder / "scratch").trace)
    assert current == pytest.approx(line * 1e-6, rel=1e-5)


def _put(folder: Path, content: bytes) -> Path:
    (folder / "a.jls").write_bytes(content)
    return folder / "a.jls"


@given(
    seed=st.integers(0, 2**32),
    sizes=st.tuples(st.integers(1, 130), st.integers(1, 130)),
)
@settings(max_examples=length(10, 4), deadline=None)
def test_where_blocks_begin_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, seed: int, sizes: tuple[int, int]
) -> None:
    folder = tmp_path_factory.mktemp("jls1")
    random = np.random.default_rng(seed)
    ranges = np.repeat(random.integers(0, 8, 40), random.integers(1, 12, 40))
    rows = Raw(
        random.integers(0, 1 << 14, len(ranges)),
        random.integers(0, 1 << 14, len(ranges)),
        ranges,
    ).rows()
    for at in random.integers(0, len(rows), 3):
        rows[at] = LOST
    traces = []
    for number, size in enumerate(sizes):
        (folder / f"{number}.jls").write_bytes(recording(rows, size))
        traces.append(
            open_any(
                folder / f"{number}.jls",
                folder / f"scratch-{number}",
                Options(sync="current_lsb"),
            ).trace
        )
    for item, other in zip(samples(traces[0]), samples(traces[1]), strict=True):
        assert item.tobytes() == other.tobytes()
    assert traces[0].falls_s.tolist() == traces[1].falls_s.tolist()


def test_interpolated_samples_are_counted(tmp_path: Path) -> None:
    ranges = np.where(np.arange(100) < 50, 3, 4)
    result = opened(
        tmp_path, recording(Raw(np.full(100, 9000), np.full(100, 3000), ranges).rows())
    )
    assert (
        "5 samples after 1 changes of the current's range are interpolated, as the"
        " Joulescope software does" in result.notes
    )


def test_a_change_of_range_that_the_recording_ends_in_is_left_out(
    tmp_path: Path,
) -> None:
    ranges = np.where(np.arange(100) < 97, 3, 4)
    result = opened(
        tmp_path, recording(Raw(np.full(100, 9000), np.full(100, 3000), ranges).rows())
    )
    assert result.trace.length == 97 and not result.trace.gaps
    assert (
        "the last 3 samples, within a change of the current's range, are left out"
        in result.notes
    )


def test_ranges_that_change_for_longer_than_the_instrument_knows_are_a_gap(
    tmp_path: Path,
) -> None:
    ranges = np.concatenate([np.full(50, 3), np.tile([4, 3], 40), np.full(50, 3)])
    result = opened(
        tmp_path, recording(Raw(np.full(180, 9000), np.full(180, 3000), ranges).rows())
    )
    (gap,) = result.trace.gaps
    assert gap.start == 50 and gap.stop == pytest.approx(134, abs=3)


def test_lost_samples_are_gaps_and_make_no_edges(tmp_path: Path) -> None:
    rows = steady(400).rows()
    rows[:, 0] = rows[:, 0] & ~np.uint16(4) | (
        np.where(np.arange(400) % 100 < 50, 4, 0)
    ).astype(np.uint16)
    rows[340:360] = LOST
    result = opened(tmp_path, recording(rows), sync="current_lsb")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(340, 360)]
    assert result.trace.falls_s.tolist() == pytest.approx([0.0495, 0.1495, 0.2495]), (
        "the fourth lies in the gap"
    )
    assert result.trace.rises_s.tolist() == pytest.approx([0.0995, 0.1995, 0.2995])


def test_a_toggle_that_stands_still_is_a_loss_of_unknown_length(tmp_path: Path) -> None:
    item = steady(100)
    other = steady(100)
    rows = np.concatenate(
        [item.rows(), Raw(other.i, other.v, other.ranges, toggle_from=1).rows()]
    )
    result = opened(tmp_path, recording(rows), sync="voltage_lsb")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(99, 101)]
    assert (
        "1 times samples were lost that left no trace but a toggle out of step: they"
        " are gaps" in result.notes
    )
    assert all(
        abs(at - 0.1) > 0.0006 for at in [*result.trace.falls_s, *result.trace.rises_s]
    ), "no edge is known there"


def test_a_line_in_the_voltages_lowest_bit_gives_edges(tmp_path: Path) -> None:
    rows = steady(200).rows()
    high = ((np.arange(200) // 30) % 2).astype(np.uint16)
    rows[:, 1] = rows[:, 1] & ~np.uint16(4) | high << 2
    result = opened(tmp_path, recording(rows), sync="voltage_lsb")
    assert result.trace.rises_s.tolist() == pytest.approx([0.0295, 0.0895, 0.1495])
    assert result.trace.falls_s.tolist() == pytest.approx([0.0595, 0.1195, 0.1795])
    assert "current_lsb or voltage_lsb" in " ".join(
        opened(tmp_path, recording(rows)).notes
    ), "they may carry it: nobody knows"


def test_samples_at_a_lower_rate_are_read_with_their_power(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    current = random.uniform(0, 1, 300).astype(np.float32)
    voltage = random.uniform(1, 5, 300).astype(np.float32)
    power = (current * voltage * np.float32(1.1)).astype(np.float32)
    line = np.where(np.arange(300) % 100 < 60, 15, 0)
    line[[60, 100]] = 7
    spans = [slice(at, min(at + 128, 300)) for at in range(0, 300, 128)]
    blocks = [reduced(current[s], voltage[s], power[s], line[s]) for s in spans]
    content = file(
        config(20_000.0, "float32_v2"),
        start(0),
        start(1, v_range=0, sample_id=3),
        *blocks,
        mjs(type="footer", size=300),
    )
    result = opened(tmp_path, content, sync="current_lsb")
    assert whole_j(result.trace) == pytest.approx(
        float(np.sum(current.astype(float) * voltage)) / 20_000, rel=1e-6
    )
    assert result.trace.falls_s.tolist() == pytest.approx(
        [60.5 / 20_000, 159.5 / 20_000, 259.5 / 20_000]
    )
    assert result.trace.rises_s.tolist() == pytest.approx(
        [100.5 / 20_000, 199.5 / 20_000]
    )
    alone = opened(tmp_path, content, power="power")
    assert not alone.has_current and whole_j(alone.trace) == pytest.approx(
        float(np.sum(power, dtype=float)) / 20_000, rel=1e-6
    )


def test_a_line_whose_share_was_cut_to_a_byte_is_brought_back(tmp_path: Path) -> None:
    # The program multiplies 255ths by 15 within a byte: all of a sample is 241, half of
    # it 128.
    share = np.array([255] * 10 + [128] + [0] * 10 + [255] * 9)
    ones = np.ones(30, np.float32)
    line = (share * 15) & 0xFF
    content = file(
        config(1000.0, "float32_v2"),
        start(0),
        reduced(ones, ones, ones, line),
        mjs(type="footer", size=30),
    )
    result = opened(tmp_path, content, sync="current_lsb")
    assert result.trace.falls_s.tolist() == pytest.approx(
        [0.0105]
    ) and result.trace.rises_s.tolist() == pytest.approx([0.0205])


def test_a_line_is_not_known_where_a_reduced_file_has_no_number(tmp_path: Path) -> None:
    current = np.ones(30, np.float32)
    ones = np.ones(30, np.float32)
    line = np.zeros(30)
    current[10:15], line[10:15] = np.nan, 15
    content = file(
        config(1000.0, "float32_v2"),
        start(0),
        reduced(current, ones, ones, line),
        mjs(type="footer", size=30),
    )
    result = opened(tmp_path, content, sync="current_lsb")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(10, 15)]
    assert not len(result.trace.falls_s) and not len(result.trace.rises_s)


def test_options_take_the_place_of_what_is_in_the_file(tmp_path: Path) -> None:
    raw = steady(100)
    amps = [(i + OFFSETS[3]) * GAINS[3] for i in raw.i.tolist()]
    result = opened(tmp_path, recording(raw.rows()), supply_v=2.5, rate_hz=1005.0)
    assert whole_j(result.trace) == pytest.approx(
        2.5 * math.fsum(amps) / 1005, rel=1e-6
    )


def test_blocks_may_be_compressed_and_others_are_skipped(tmp_path: Path) -> None:
    raw = steady(80)
    packed = block(b"ABN", zlib.compress(raw.rows().tobytes()), flags=0x80)
    head = (calibration(), config(), block(b"UBN", b"\1\2"))
    samples = (start(0), packed)
    tail = (block(b"IDX", b"x"), mjs(type="footer", size=80))
    content = file(*head, *samples, *tail)
    assert whole_j(opened(tmp_path, content).trace) == pytest.approx(
        math.fsum(raw.watts()) / 1000, rel=1e-6
    )


# Damage

SMALL = recording(steady(36).rows(), per_block=12)
UNCLOSED = recording(steady(36).rows(), per_block=12, closed=False)


def blocks_of(content: bytes) -> list[ContainerBlock]:
    """Return all blocks; raises DataError."""
    return list(TaggedFile(BytesIO(content), "file"))


@pytest.mark.parametrize("content", [SMALL, UNCLOSED], ids=["closed", "unclosed"])
def test_of_a_file_cut_anywhere_only_whole_blocks_are_given(content: bytes) -> None:
    sound = blocks_of(content)
    counts = set()
    for cut in range(len(content)):
        try:
            result = blocks_of(content[:cut])
        except DataError:
            assert cut < 32, "without its header it is nothing"
            continue
        assert (
            result == sound[: len(result)]
            and not TaggedFile(BytesIO(content[:cut]), "file").is_closed
        )
        counts.add(len(result))
    assert counts == set(range(len(sound) + (content is SMALL)))


def test_a_byte_that_changed_anywhere_is_found() -> None:
    for at in range(len(SMALL)):
        damaged = bytearray(SMALL)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(DataError):
            blocks_of(bytes(damaged))


@given(cut=st.integers(0, len(SMALL) - 1), content=st.sampled_from([SMALL, UNCLOSED]))
@settings(max_examples=length(25, 12), deadline=None)
def test_a_file_cut_anywhere_is_refused_or_read_up_to_there(
    tmp_path_factory: pytest.TempPathFactory, cut: int, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("jls1")
    whole = np.array(steady(36).watts())
    try:
        result = open_any(_put(folder, content[:cut]), folder / "scratch")
    except DataError as error:
        assert error.evidence
        return
    assert result.trace.length in (
        12,
        24,
        36,
    ) and "was not closed properly" in " ".join(result.notes)
    assert whole_j(result.trace) == pytest.approx(
        math.fsum(whole[: result.trace.length]) / 1000, rel=1e-6
    )


@given(data=st.data())
@settings(max_examples=length(30, 12), deadline=None)
def test_blocks_of_any_content_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("jls1")
    tags = st.sampled_from([b"MJS", b"CLS", b"ABN", b"SUB", b"CLE", b"XYZ"])
    values = st.one_of(
        st.binary(max_size=80),
        st.sampled_from(
            [
                b"{}",
                b"[1]",
                b'{"type": "config"}',
                b'{"type": "footer", "size": "x"}',
                b"[" * 3000,
            ]
        ),
        st.builds(lambda rest: b"ARRY" + rest, st.binary(min_size=12, max_size=60)),
        st.builds(
            lambda rest: b"calibration".ljust(128, b"\0") + rest, st.binary(max_size=60)
        ),
    )
    odd = [
        block(tag, value, flags)
        for tag, value, flags in data.draw(
            st.lists(
                st.tuples(tags, values, st.sampled_from([0, 0, 0x80, 0x40])), max_size=5
            )
        )
    ]
    form = data.draw(st.sampled_from(["raw", "float32_v2"]))
    content = file(
        calibration(), config(1000.0, form), start(0), *odd, mjs(type="footer", size=3)
    )
    (folder / "a.jls").write_bytes(content)
    try:
        open_any(folder / "a.jls", folder / "scratch", Options(sync="current_lsb"))
    except DataError as error:
        assert error.cause


@pytest.mark.parametrize(
    ("blocks", "message", "evidence"),
    [
        ([], "does not say how it was recorded", ""),
        (
            [calibration(), config(), start(0), mjs(type="footer", size=0)],
            "has no samples",
            "0 were read",
        ),
        (
            [config(form="none"), mjs(type="footer", size=0)],
            "has no samples",
            "ended before the first",
        ),
        ([config(), start(0)], "raw samples and no calibration", "no amperes"),
        (
            [calibration(gains=[1.0] * 7, voltage={"offset": [0, 0], "gain": [1, 1]})],
            "without the calibration",
            "all gains are 1",
        ),
        (
            [calibration(gains=[1.0, math.nan, 1, 1, 1, 1, 1])],
            "calibration of the recording cannot be read",
            "not 7 numbers",
        ),
        (
            [calibration(voltage={})],
            "calibration of the recording cannot be read",
            "offset",
        ),
        ([config(hz=0.0)], "has no sampling rate", "0.0"),
        ([config(form="float64")], "unknown form", "float64"),
        (
            [calibration(), config(), start(0), start(1, v_range=2)],
            "has another form",
            "range 2",
        ),
        (
            [calibration(), config(), start(0), block(b"ABN", bytes(7))],
            "has another form",
            "no whole samples",
        ),
        ([block(b"ABN", b"x", flags=0x40)], "is encrypted", "byte 32"),
        ([block(b"ABN", b"x", flags=0x80)], "is damaged", "decompressed"),
        ([block(b"MJS", b"[]")], "has another form", "no JSON object"),
    ],
)
def test_each_thing_that_a_file_lacks_is_named(
    tmp_path: Path, blocks: list[bytes], message: str, evidence: str
) -> None:
    with pytest.raises(DataError, match=message) as error:
        opened(tmp_path, file(*blocks))
    assert evidence in error.value.evidence


def test_blocks_that_do_not_follow_one_another_are_refused(tmp_path: Path) -> None:
    part = block(b"ABN", steady(40).rows().tobytes())
    pieces = [
        start(1, v_range=0, sample_id=100),
        part,
        start(1, v_range=0, sample_id=150),
        part,
    ]
    with pytest.raises(DataError, match="has another form") as error:
        opened(
            tmp_path,
            file(
                calibration(), config(), start(0), *pieces, mjs(type="footer", size=80)
            ),
        )
    assert "sample 150 follows sample 139" in error.value.evidence


def test_samples_that_the_footer_counts_and_the_file_lacks_are_missed(
    tmp_path: Path,
) -> None:
    part = block(b"ABN", steady(40).rows().tobytes())
    with pytest.raises(DataError, match="is damaged") as error:
        opened(
            tmp_path,
            file(calibration(), config(), start(0), part, mjs(type="footer", size=80)),
        )
    assert "it says to have 80 samples, and has 40" in error.value.evidence


def test_a_file_of_a_later_version_or_with_trailing_bytes_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match="version 3"):
        opened(tmp_path, file(version=3))
    with pytest.raises(DataError, match="is damaged") as error:
        opened(tmp_path, SMALL + b"x")
    assert "says to be" in error.value.evidence


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"sync": "gpi[0]"}, DataError, r"no digital signal is called gpi\[0\]"),
        ({"current": "i"}, DataError, "no signal is called i"),
        ({"power": "p"}, DataError, "no signal is called p"),
        ({"source": "JS110"}, ConfigError, "one source"),
        ({"time": "t"}, ConfigError, "no column of times"),
    ],
)
def test_options_that_the_format_has_no_use_for_are_refused(
    tmp_path: Path, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        opened(tmp_path, SMALL, **options)


def test_a_line_of_noise_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.importers.digital_levels._CHANGES", 20)
    with pytest.raises(DataError, match="current_lsb changes more than 20 times"):
        opened(tmp_path, recording(steady(100).rows()), sync="current_lsb")
