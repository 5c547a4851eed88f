# SPDX-License-Identifier: Apache-2.0
"""Speed of the link to the DUT: one sample of 27 648 bytes, framed and classic side by
side; the line and the DUT are simulated.

Run it: `python -m benchmarks.link [--quick]`; two minutes. It needs a C compiler. The
DUT is the firmware as a process of this machine, which takes next to no time for a
byte. In front of it a line of 115 200, 921 600 and 3 000 000 baud that delays each byte
by 1 ms, each way (benchmarks/paced_line.py), on real pseudo-terminals, so pyserial is
in the path. Wall time of whole loads, with all their round trips and the DUT's check of
the CRC: medians. "Of the line" is the share of the line's capacity in 8N1, baud / 10
bytes a second: of the median, and of the best load. The more processes want the
processors, the lower it is at 3 000 000 baud: a millisecond is a percent there. Exit
code 1 where the median of framed loads, with frames of full size, is below 95 % of the
line at any rate, or a load is slower than the text layer's or the peer's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.paced_line import PacedLine
from benchmarks.peer_download import PeerDownload
from rig.host.serial_port import SerialPort
from sut_backends.hosted.posix import DutProcess
from sut_backends.shim.link import ShimLink
from sut_backends.shim.timeouts import BITS_PER_BYTE, RetransmissionTimeouts
from sut_backends.uart.exchange import FrameExchange
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.text_client import TextClient

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
SAMPLE = bytes((number * 7 + number // 256) & 0xFF for number in range(27_648))
ROUNDS = {115_200: 5, 921_600: 15, 3_000_000: 41}
DELAY_S = 0.001
#: The least share of the line's capacity that framed loads are to use.
AIM = 0.95
SMALL_B = 256  # of payload: the RAM of a small microcontroller


@dataclass(frozen=True, slots=True)
class Loads:
    """How long one way of loading took, in seconds, each time; and how many frames were
    retransmitted.
    """

    durations_s: list[float]
    retransmissions: int = 0

    @property
    def took_s(self) -> float:
        """Return the median."""
        return median(self.durations_s)

    def shares(self, baud: int) -> str:
        """Return the payload's throughput as a share of the line's capacity: the
        median's, and the best.
        """
        limit_s = len(SAMPLE) * BITS_PER_BYTE / baud
        return f"{limit_s / self.took_s:6.1%} {limit_s / min(self.durations_s):6.1%}"


def built(folder: Path, name: str, sizes: str = "") -> Path:
    """Build the firmware with the null workload; return its program."""
    build = folder / name
    command = [
        "make",
        "-s",
        "-C",
        str(FIRMWARE),
        f"BUILD={build}",
        f"{build}/posix/null",
    ]
    subprocess.run(
        [*command, sizes] if sizes else command, check=True, stdout=subprocess.DEVNULL
    )
    return build / "posix" / "null"


@contextmanager
def paced(program: Path, baud: int) -> Iterator[str]:
    """Start a DUT on a paced line; yield the line's path."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    dut = DutProcess(program, [], nowhere)
    try:
        with PacedLine(dut.port, baud, DELAY_S) as line:
            yield line.path
    finally:
        dut.close()
        os.close(nowhere)


def timed(load: Callable[[bytes], None], rounds: int) -> list[float]:
    """Return how long each of so many loads took."""
    durations_s = []
    for number in range(rounds):
        content = bytes([number]) + SAMPLE[1:]
        started_s = time.monotonic()
        load(content)
        durations_s.append(time.monotonic() - started_s)
    return durations_s


def framed(program: Path, baud: int, rounds: int) -> Loads:
    """Load through the framed layer."""
    with paced(program, baud) as path:
        port = SerialPort.open(path, baud)
        text = TextClient(port)
        text.attention(2.0)
        if not text.frame():
            raise RuntimeError("no framed layer")
        link = ShimLink(RetransmissionTimeouts(baud))
        dut = FramedDut(FrameExchange(port, link))
        dut.hello(baud)
        durations_s = timed(lambda content: dut.slots.load(0, content), rounds)
        port.close()
        return Loads(durations_s, link.retransmissions)


def classic(program: Path, baud: int, rounds: int) -> Loads:
    """Load through the rig's own client of the text layer."""
    with paced(program, baud) as path:
        port = SerialPort.open(path, baud)
        text = TextClient(port)
        text.attention(2.0)
        durations_s = timed(text.load, rounds)
        port.close()
        return Loads(durations_s)


def peer(program: Path, baud: int, rounds: int) -> Loads:
    """Load as the peer's runner does."""
    with paced(program, baud) as path, PeerDownload(path, baud) as download:
        return Loads(timed(download.load, rounds))


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="speed of the link to the DUT")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one load of each kind, on the two faster lines",
    )
    quick = parser.parse_args().quick
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(
        f"{len(SAMPLE)} bytes, {DELAY_S * 1e3:g} ms each way, simulated line and DUT;"
        " medians of wall time\n"
    )
    print(
        "|    baud | limit s | framed s | of the line   | 256-byte frames s | of the"
        " line   | text, ours s | text, peer s |"
    )
    print(
        "|--------:|--------:|---------:|--------------:|------------------:|--------------:|"
        "-------------:|-------------:|"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        large = built(Path(folder), "large")
        small = built(Path(folder), "small", f"SIZES=-DNR_MAX_PAYLOAD_B={SMALL_B}")
        for baud, rounds in ROUNDS.items():
            if quick and baud == min(ROUNDS):
                continue
            limit_s = len(SAMPLE) * BITS_PER_BYTE / baud
            fast = 1 if quick else rounds
            slow = 1 if quick else 3
            ours = framed(large, baud, fast)
            little = framed(small, baud, fast)
            texts = classic(large, baud, slow), peer(large, baud, slow)
            print(
                f"| {baud:7} | {limit_s:7.4f} | {ours.took_s:8.4f} |"
                f" {ours.shares(baud)} | {little.took_s:17.4f} | {little.shares(baud)}"
                f" | {texts[0].took_s:12.3f} | {texts[1].took_s:12.3f} |"
            )
            rows.append((baud, ours, little, *texts))
    print()
    for baud, ours, little, text, other in rows:
        again = ours.retransmissions + little.retransmissions
        ratios = (
            f"{other.took_s / ours.took_s:.1f} times as fast as the peer, "
            f"{text.took_s / ours.took_s:.1f} as the text layer"
        )
        print(f"{baud} baud: framed {ratios}; {again} frames retransmitted")
    return concluded([(baud, ours, text, other) for baud, ours, _, text, other in rows])


def concluded(rows: Sequence[tuple[int, Loads, Loads, Loads]]) -> int:
    """Say of each rate whether framed loads met the aim, beside the text layer and the
    peer; return the exit code, 1 where not.
    """
    good = True
    for baud, ours, text, other in rows:
        share = len(SAMPLE) * BITS_PER_BYTE / baud / ours.took_s
        met = share >= AIM and ours.took_s < min(text.took_s, other.took_s)
        good = good and met
        print(
            f"{'met' if met else 'NOT met':<8} {AIM:.0%} of the line at {baud} baud,"
            f" framed: {share:.1%}"
        )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
