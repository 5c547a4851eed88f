# SPDX-License-Identifier: Apache-2.0
"""Time from one query to the next: windows that a GO opens, and windows behind a guard
that passes.

Run it: `.venv/bin/python benchmarks/window_start.py [--quick]`; two minutes. It needs
the POSIX firmware (`make firmware`), here with its null and its ASC workload, behind a
simulated line of 921 600 baud and 1 ms each way (sut_backends/lines/paced_pty.py). The
same firmware and the same line twice in one run: once the host uses GO, once it acts as
one of before, to which the firmware's capability is unknown. 200 null queries, and 50
seconds of audio loaded and run in each of 5 trials. Wall time, as waiting is what is
compared; the device's own times are not those of any device.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rig.host.serial_port import SerialPort
from rig.model.steps import Load, Query
from sut_backends.hosted.posix_process import DutProcess
from sut_backends.lines.paced_pty import PacedLine
from sut_backends.shim.link import ShimLink
from sut_backends.shim.messages import More
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.exchange import FrameExchange
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.text_client import TextClient

PROGRAMS = Path(__file__).resolve().parents[1] / "firmware" / "build" / "posix"
BAUD = 921_600
DELAY_S = 0.001
SECOND_B = 16_000
TRIALS = 5
LIMIT_S = 5.0


@contextmanager
def client(workload: str, *, with_go: bool) -> Iterator[FramedDut]:
    """Start the firmware behind the line, and speak the framed layer with it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    device = DutProcess(PROGRAMS / workload, [], nowhere)
    try:
        with PacedLine(device.port, BAUD, DELAY_S) as line:
            port = SerialPort.open(line.path, BAUD)
            text = TextClient(port)
            text.attention(2.0)
            if not text.frame():
                raise RuntimeError("no framed layer")
            link = ShimLink(RetransmissionTimeouts(BAUD))
            framed = FramedDut(FrameExchange(port, link))
            caps = framed.hello(1)
            if More.GO not in caps.more:
                raise RuntimeError("this firmware knows no GO: make firmware")
            if not with_go:
                framed.caps = replace(caps, more=caps.more & ~More.GO)
            yield framed
            port.close()
    finally:
        device.close()
        os.close(nowhere)


def null_queries_s(count: int, *, with_go: bool) -> float:
    """Return the time of so many null queries."""
    with client("null", with_go=with_go) as framed:
        framed.do(Load(0), [bytes(64)])
        query = Query((0,), limit_s=LIMIT_S)
        started_s = time.monotonic()
        for _ in range(count):
            if framed.do(query).rx_in_window_b:
                raise RuntimeError("the host was heard in a window")
        return time.monotonic() - started_s


def audio_s(count: int, *, with_go: bool) -> float:
    """Return the time of so many seconds of audio, loaded and run once a trial."""
    with client("asc", with_go=with_go) as framed:
        query = Query((0,), limit_s=LIMIT_S)
        started_s = time.monotonic()
        for number in range(TRIALS * count):
            audio = bytes([number % 251, number % 127]) * (SECOND_B // 2)
            framed.do(Load(0), [audio])
            if framed.do(query).rx_in_window_b:
                raise RuntimeError("the host was heard in a window")
        return time.monotonic() - started_s


def main() -> int:
    """Print the table; return the exit code: 1 where a GO saves nothing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    share = 10 if parser.parse_args().quick else 1
    saved = True
    print(f"{BAUD} baud, {DELAY_S * 1e3:g} ms each way (simulated line); wall time")
    for what, work, count in (
        ("null queries", null_queries_s, 200 // share),
        (f"seconds of audio x {TRIALS} trials", audio_s, 50 // share),
    ):
        before_s = work(count, with_go=False)
        after_s = work(count, with_go=True)
        saved = saved and after_s < before_s
        print(
            f"{count} {what}: behind a guard {before_s:.2f} s, by GO {after_s:.2f} s, "
            f"{before_s / after_s:.1f} times as fast"
        )
    return 0 if saved else 1


if __name__ == "__main__":
    sys.exit(main())
