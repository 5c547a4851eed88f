# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own flow with its interface board, against a simulated board that
speaks as its sources say, and against the benchmark's own runner where it is at hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from rig.errors import ConfigError, DataError, RemoteProtocolError
from rig.host.serial_port import SerialPort
from scenarios.tasks.mlperf_tiny.interface_board import (
    InterfaceBoard,
    detections_of,
    edges_of,
)
from tests.scenarios.tasks.mlperf_tiny.simulated_board import SimulatedBoard
from tests.scenarios.tasks.mlperf_tiny.test_command import CLONE, rig_tiny

#: Two false detections, of which the first hides the second, and two of three words,
#: one of them heard in two windows.
WORDS = [[1.0, 1.6], [4.0, 4.8], [7.0, 7.4]]
HEARD = (5, 20, 50, 51, 140)
AUDIO = "short_wav_easy10s.wav"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    entry = {"wav_file": AUDIO, "length_sec": 10.0, "detection_windows": WORDS}
    (folder / "sww_short_test.json").write_text(json.dumps([entry]))
    return folder


def by_board(board: SimulatedBoard, data: Path, *more: Any) -> list[str]:
    """Run the command; return the lines that it keeps."""
    folder = data.parent / "made"
    words = (
        "--from",
        data,
        "--inputs",
        data,
        "--interface",
        board.port,
        "--to",
        folder,
    )
    rig_tiny(*("sww", *words, *more))
    return (folder / "summary.txt").read_text("utf-8").splitlines()


def test_the_runners_steps_are_driven_and_its_lines_said(data: Path) -> None:
    with SimulatedBoard({AUDIO: (312, HEARD)}) as board:
        page = by_board(board, data)
    assert board.commands == [
        "name",
        "dut stop",
        "dut start",
        "record_detections",
        f"play {AUDIO}",
        "dut stop",
        "print_detections",
        "print_dutycycle",
    ]
    # 8.27 of 32 ms.
    assert page[1:5] == [
        "Accuracy: 2 True positives, 1 False negatives, 1 False positives",
        "Average duty cycle: 0.25844",
        "Average period: 0.032 s",
        "Estimated throughput: 120.92 inf./sec.",
    ]
    assert "of the first 100 windows, 3.2 s: the board keeps no more" in page[6]
    assert page[7] == "The device lists 312 windows."
    log = (data.parent / "made" / "interface-board.log").read_text("utf-8")
    assert "> print_dutycycle%" in log


def test_what_is_wrong_is_said_in_a_sentence(data: Path) -> None:
    to = data.parent / "made"
    for board, said in (
        (SimulatedBoard({}), "does not play"),
        (SimulatedBoard({AUDIO: (40, ())}, name="Arduino"), "is no interface board"),
        (SimulatedBoard({AUDIO: (40, ())}, pulses=False), "noted no detection"),
        (SimulatedBoard({AUDIO: (1, ())}), "do not alternate"),
    ):
        with board, pytest.raises(RemoteProtocolError, match=said):
            by_board(board, data)
        assert not (to / "summary.txt").exists()
        (to / "interface-board.log").unlink()
        to.rmdir()
    with SimulatedBoard({AUDIO: (40, ())}) as board:
        with pytest.raises(ConfigError, match="--on has no effect beside --interface"):
            by_board(board, data, "--on", "cpu")
        (data / "sww_short_test.json").write_text("[{}]")
        with pytest.raises(ConfigError, match="does not state the words"):
            by_board(board, data)
        (data / "sww_short_test.json").unlink()
        with pytest.raises(DataError, match="has no list of words"):
            by_board(board, data)
    assert not to.exists()


def test_answers_that_are_none_are_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="no detections"):
        detections_of(["12,"])
    with pytest.raises(RemoteProtocolError, match="no number"):
        detections_of(["Detection Timestamps (ms)", "12a,"])
    with pytest.raises(RemoteProtocolError, match="no duty cycle"):
        edges_of(["Duty cycle start times (s)", "1, 2, "])
    titles = ("Duty cycle start times (s)", "Duty cycle stop times (s)")
    with pytest.raises(RemoteProtocolError, match="do not alternate"):
        edges_of([titles[0], "10, 50, ", titles[1], "60, 70, "])


@pytest.mark.skipif(not CLONE, reason="MLPERF_TINY_CLONE: a clone of mlcommons/tiny")
@pytest.mark.parametrize("windows", [5, 8, 16, 100, 250])
def test_the_benchmarks_runner_reads_the_same_of_the_same_answers(
    windows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(CLONE) / "benchmark" / "runner"))
    # It writes result files, and needs packages for that.
    monkeypatch.setitem(sys.modules, "runner_utils", SimpleNamespace(print_tee=print))
    import streaming_ww_utils as runner

    with SimulatedBoard({AUDIO: (windows, (3,))}) as simulated:
        port = SerialPort.open(simulated.port, 115_200)
        try:
            board = InterfaceBoard(port)
            record = board.listen(AUDIO, 10.0)
        finally:
            port.close()
    sent = board.said[board.said.index("> print_detections%") + 1 :]
    at = sent.index("> print_dutycycle%")
    # Its reader drops empty lines.
    detections = runner.process_timestamps([line for line in sent[:at] if line])
    duty = runner.process_dutycycle([line for line in sent[at + 1 :] if line])
    assert tuple(detections) == record.detections_ms
    assert duty["processing_time"] == pytest.approx(record.took_s, rel=1e-12)
    assert duty["period"] == pytest.approx(record.period_s, rel=1e-12)
    assert len(duty["start_times_s"]) == record.windows_timed == min(windows, 100)
    del sys.modules["streaming_ww_utils"]
