# SPDX-License-Identifier: Apache-2.0
"""`rig tiny sww --interface`: the benchmark's own flow, with audio from its interface
board, and its result lines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError, DataError, RemoteProtocolError
from rig.files import small_text
from rig.host.serial_port import SerialPort, Use
from scenarios.common.event_scoring import limits_line, result_lines, scored
from scenarios.common.word_list import FORM, ListedRecording, single
from scenarios.tasks.mlperf_tiny.interface_board import BoardRecord, InterfaceBoard
from scenarios.tasks.mlperf_tiny.wake_word import word_lists

SUMMARY = "summary.txt"
LOG = "interface-board.log"
_USE = Use(
    section="--interface",
    gone="look at the cable and at the board's supply",
    stuck="reset the board",
)


@dataclass(frozen=True, slots=True)
class InterfaceRun:
    """The board's port, and the folders of the command line."""

    port: str
    baud: int
    clone: Path
    inputs: Path | None
    folder: Path


def measure_by_board(requested: InterfaceRun) -> int:
    """Play the recording of the list of words to the device, print and keep the
    runner's lines; return the exit code.
    """
    path = word_lists(requested.clone, requested.inputs)
    words = _listed(path)
    if requested.folder.exists():
        raise ConfigError(
            f"{requested.folder} is there",
            path="--to",
            try_next="another name; nothing was written",
        )
    say_plain(f"{words.wav_file}, {words.length_sec:g} s, from the board's SD card")
    port = SerialPort.open(requested.port, requested.baud, use=_USE, hears_stop=True)
    board = InterfaceBoard(port)
    try:
        board.require_name()
        record = board.listen(words.wav_file, words.length_sec)
    finally:
        port.close()
        if board.said:
            requested.folder.mkdir(parents=True)
            log = "".join(f"{line}\n" for line in board.said)
            (requested.folder / LOG).write_text(log, encoding="utf-8")
    page = [
        f"MLPerf Tiny sww01, {path.name}, by the interface board at {requested.port}"
    ]
    page += lines(record, words)
    (requested.folder / SUMMARY).write_text("\n".join(page) + "\n", encoding="utf-8")
    for line in page:
        say_plain(line)
    say_plain(f"{requested.folder / SUMMARY}, {LOG}")
    return 0


def lines(record: BoardRecord, words: ListedRecording) -> list[str]:
    """Return the result in the runner's words, and its scope; raises
    RemoteProtocolError where the device gave no pulse.
    """
    if not record.detections_ms:
        raise RemoteProtocolError(
            "the board noted no detection",
            evidence="the first window after `start` always gives one, which is the"
            " time zero of the others",
            try_next="the wire from the device's WW_DETECTED pin to the board",
        )
    zero_ms, *later_ms = record.detections_ms
    times_ms = [time_ms - zero_ms for time_ms in later_ms]
    detected = scored(times_ms, words.detection_windows)
    took_s, period_s = record.took_s, record.period_s
    timed_s = record.windows_timed * period_s
    texts = [*result_lines(detected, took_s / period_s, period_s, took_s)]
    texts.append(
        f"{limits_line(detected)} The file on the SD card is not known to be the"
        " benchmark's."
    )
    texts.append(
        f"Duty cycle, period and throughput are of the first {record.windows_timed}"
        f" windows, {timed_s:.3g} s: the board keeps no more edges."
    )
    if record.activations:
        texts.append(f"The device lists {len(record.activations)} windows.")
    return texts


def _listed(path: Path) -> ListedRecording:
    try:
        recordings = single(json.loads(small_text.read(path)), str(path))
    except (OSError, ValueError, DataError) as error:
        raise ConfigError(
            f"{path} does not state the words of one recording",
            path="--inputs",
            evidence=str(error),
            try_next=FORM,
        ) from error
    if not recordings.length_sec > 0:
        raise ConfigError(
            f"{path} does not state the length of {recordings.wav_file}",
            path="--inputs",
            try_next='"length_sec" in its entry',
        )
    return recordings
