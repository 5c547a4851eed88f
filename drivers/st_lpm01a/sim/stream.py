# SPDX-License-Identifier: Apache-2.0
"""The two data streams of a simulated X-NUCLEO-LPM01A, byte for byte: ST UM2269 Rev 6
section 4.4; NUL after a time stamp and events: what public clients assert of real
boards.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.st_lpm01a.sim.shell import Lpm01aSimulatorSettings, SimulatedShell, decimal
from drivers.terminal_device import SimulatedStream
from rig.simulation.world import NS_PER_S, World

Floats = NDArray[np.float64]

STAMP_SAMPLES = 1000
#: UM2243: the board protects itself from 59 mA on. A choice: at once, by its error
#: alone.
_OVERCURRENT_A = 0.059


def hexadecimal(values_a: Floats) -> bytes:
    """Write currents as 4 bits of negative power of 16 and 12 bits of mantissa, the
    high byte first.
    """
    words = np.zeros(len(values_a), dtype=np.uint16)
    for power in range(15):
        # The last power that keeps the mantissa within 12 bits is the most precise one.
        mantissas = np.rint(np.maximum(values_a, 0.0) * 16.0**power)
        fits = mantissas <= 0xFFF
        words[fits] = (power << 12) | mantissas[fits].astype(np.uint16)
    return words.astype(">u2").tobytes()


class Lpm01aAcquisition(SimulatedStream):
    """One acquisition: samples of the front end become bytes of the stream, with
    metadata between them."""

    def __init__(
        self,
        settings: Lpm01aSimulatorSettings,
        shell: SimulatedShell,
        world: World,
        random: np.random.Generator,
    ) -> None:
        self._settings = settings
        self._shell = shell
        self._random = random
        self._binary = shell.set["format"] == "bin_hexa"
        share = 0.0 if settings.fed_v else settings.share
        self._start_ns = world.now_ns() + round(shell.trigger_delay_s * NS_PER_S)
        front_end = FrontEnd(
            world,
            shell.sample_hz,
            clock_ppm=settings.clock_ppm,
            start_ns=self._start_ns,
            edge_delay_s=settings.edge_delay_s,
            share=share,
            random=random,
        )
        super().__init__(world, front_end)
        #: From when on (ns) the supply is on (1) or off (0).
        self._supplied: list[tuple[float, int]] = [(-np.inf, world.supply_on)]
        if (drops_s := settings.faults.drops_supply_at_s) >= 0:
            self._supplied.append((self._start_ns + drops_s * NS_PER_S, 0))
        self._limit = (
            round(shell.acquisition_s * shell.sample_hz)
            if shell.acquisition_s
            else None
        )
        self._events = 0
        self._sent_b = 0
        self._told: set[str] = set()
        self._overcurrent = False
        self._least = np.inf
        self._most = 0.0
        self.over = False

    @property
    def elapsed_s(self) -> float:
        """The time of the next sample, in the board's time."""
        return self._front_end.at / self._shell.sample_hz

    def switched(self, time_ns: float, on: bool) -> None:
        """Note that the supply is on or off from that time, in place of all later
        changes."""
        self._supplied = [each for each in self._supplied if each[0] < time_ns]
        self._supplied.append((time_ns, on))

    def begin(self) -> bytes:
        """Return the bytes before the first sample."""
        return self._spoil(self._stamp())

    def interject(self, command: str, supply_on: bool) -> bytes:
        """Return the binary answer to a command during the acquisition; empty where it
        is text."""
        if not self._binary:
            return b""
        supply_v = self._shell.supply_v * (1 + self._settings.supply_v_error)
        payloads = {
            "targrst": b"\xf6",
            "volt get": b"\xf7" + round(supply_v * 1000).to_bytes(2),
            "temp": b"\xf8" + (28).to_bytes(2),
            "pwr get": b"\xf9" + bytes([supply_on]),
        }
        inserted = next(
            (payload for name, payload in payloads.items() if command.startswith(name)),
            b"",
        )
        return self._spoil(b"\xf0" + inserted + b"\xff\xff") if inserted else b""

    def advance(self) -> bytes:
        """Return the bytes that are due, up to the next time stamp at most."""
        count = min(
            self._front_end.due(self.horizon_ns),
            STAMP_SAMPLES - self._front_end.at % STAMP_SAMPLES,
        )
        if self._limit is not None:
            count = min(count, self._limit - self._front_end.at)
        faults = self._settings.faults
        for at_s in (faults.ends_at_s, faults.unplugged_at_s, faults.mute_at_s):
            if at_s >= 0:
                count = min(
                    count,
                    max(round(at_s * self._shell.sample_hz) - self._front_end.at, 0),
                )
        stream = b"".join(self._samples(count)) if count else b""
        stream += b"".join(self._mishaps())
        ended = (
            0 <= self._settings.faults.ends_at_s <= self.elapsed_s
            or self._front_end.at == self._limit
        )
        self.over = self.over or ended or (not count and self.stopped)
        return self._spoil(stream)

    def end(self) -> bytes:
        """Return what ends the stream: from here on it is text again."""
        rows = decimal(
            np.array([self._least if np.isfinite(self._least) else 0.0, self._most])
        )
        beginning = b"\xf0\xf4\xff\xff" if self._binary else b"\r\nend\r\n"
        summary = b"\r\nsummary beg\r\n" + rows.tobytes() + b"summary end\r\n"
        completed = (
            f"\r\n{self._settings.faults.prompt}Acquisition completed\r\n".encode()
        )
        return (
            self._spoil(beginning)
            + summary
            + (b"" if self._settings.faults.no_completion else completed)
        )

    def _samples(self, count: int) -> Iterator[bytes]:
        block = self._front_end.take(count)
        values = self._converted(block.power_w, block.first)
        self._least = min(self._least, float(values.min()))
        self._most = max(self._most, float(values.max()))
        at = 0
        falls: list[int] = []
        if self._shell.events and not self._binary:
            falls = (np.floor(block.falls).astype(np.int64) - block.first).tolist()
        for place in falls:
            yield self._encoded(values[at:place], block.first + at)
            at = place
            if self._events != self._settings.faults.event_skipped:
                number = self._events % 100
                line = f"event {number:02d} {self._settings.event}\r\n"
                yield line.encode()
            self._events += 1
        yield self._encoded(values[at:], block.first + at)
        for first, stop in self._front_end.late():
            yield self._error(
                f"simulated: the device told of samples {first} to {stop} too late"
            )
        if self._front_end.at % STAMP_SAMPLES == 0:
            yield self._stamp()

    def _supply_on(self, first: int, count: int) -> Floats:
        """Return for each sample 1 where the supply is on in its middle, else 0."""
        times_s = (first + 0.5 + np.arange(count)) * self._front_end.period_s
        since_ns, on = zip(*self._supplied, strict=True)
        places = np.searchsorted(
            since_ns, self._start_ns + times_s * NS_PER_S, side="right"
        )
        return np.array(on, dtype=np.float64)[places - 1]

    def _converted(self, power_w: Floats, first: int) -> Floats:
        settings = self._settings
        shell = self._shell
        true_v = shell.supply_v * (1 + settings.supply_v_error)
        on = self._supply_on(first, len(power_w))
        true_a = power_w * on / true_v
        self._overcurrent = self._overcurrent or bool((true_a >= _OVERCURRENT_A).any())
        seen_a = true_a * (1 + settings.gain) + settings.offset_a
        if settings.noise_a:
            seen_a = seen_a + settings.noise_a * self._random.standard_normal(
                len(seen_a)
            )
        seen_a = seen_a * on
        # The board knows its voltage only as it was set.
        return (
            seen_a * shell.supply_v / shell.sample_hz
            if shell.set["output"] == "energy"
            else seen_a
        )

    def _encoded(self, values: Floats, first: int) -> bytes:
        if not len(values):
            return b""
        if self._binary:
            return hexadecimal(values)
        return (b"\0" if first % STAMP_SAMPLES == 0 else b"") + decimal(
            values
        ).tobytes()

    def _stamp(self) -> bytes:
        time_ms = round(self._front_end.at * 1000 / self._shell.sample_hz)
        faults = self._settings.faults
        load = 0
        if 0 <= faults.load_rises_at_s <= self.elapsed_s:
            load = min(
                round(100 * (self.elapsed_s - faults.load_rises_at_s) / 0.5), 100
            )
        if self._binary:
            return b"\xf0\xf3" + time_ms.to_bytes(4) + bytes([load]) + b"\xff\xff"
        seconds, rest_ms = divmod(time_ms, 1000)
        stamp = (
            f"{self._settings.stamp}{seconds:03d}s {rest_ms:03d}ms, buff {load:02d}%"
        )
        return f"\r\n{stamp}\r\n".encode()

    def _error(self, text: str) -> bytes:
        self._shell.error = text
        return (
            b"\xf0\xf1" + text.encode() + b"\r\n\xff\xff"
            if self._binary
            else f"\r\nerror {text}\r\n".encode()
        )

    def _mishaps(self) -> Iterator[bytes]:
        faults = self._settings.faults
        mishaps = {
            "overcurrent": (faults.overcurrent_at_s, b"\xf0\xf5\xff\xff"),
            "voltage drop": (faults.voltage_drop_at_s, b""),
            "target power-down": (faults.power_down_at_s, b"\xf0\xf6\xff\xff"),
            "pwr off": (faults.power_off_at_s, b"\xf0\xf9\x00\xff\xff"),
        }
        for text, (at_s, binary) in mishaps.items():
            due = 0 <= at_s <= self.elapsed_s or (
                text == "overcurrent" and self._overcurrent
            )
            if due and text not in self._told:
                self._told.add(text)
                if self._binary and binary:
                    yield binary
                else:
                    yield b"\r\npwr off\r\n" if text == "pwr off" else self._error(text)

    def _spoil(self, stream: bytes) -> bytes:
        """Apply the faults of the line."""
        faults = self._settings.faults
        first = self._sent_b
        self._sent_b += len(stream)
        out = bytearray(stream)
        if (
            0 <= (at := faults.flip_byte_at - first) < len(stream)
            and faults.flip_byte_at >= 0
        ):
            out[at] ^= faults.flip_mask
        if (
            0 <= (at := faults.insert_byte_at - first) < len(stream)
            and faults.insert_byte_at >= 0
        ):
            out.insert(at, faults.inserted)
        if faults.lose_byte_at >= 0:
            del out[
                max(faults.lose_byte_at - first, 0) : max(
                    faults.lose_byte_at + faults.lose_bytes - first, 0
                )
            ]
        return bytes(out)
