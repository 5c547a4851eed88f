# SPDX-License-Identifier: Apache-2.0
"""Samples of a simulated Joulescope, cut into blocks as the maker's driver delivers
them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.joulescope.sim.ranges import Span
from drivers.joulescope.sim.settings import JoulescopeSimulatorSettings
from rig.simulation.world import NS_PER_S, World

COUNTER_HZ = 2_000_000
#: Of a JS320 in one of those, and by how much its blocks begin after such a count: ids
#: are those of its samples before any decimation.
_JS320_COUNTS = 8
_JS320_PHASE = 5
#: UTC at time 0 of the world, in the driver's 2**-30 s from 2018: a round date, as the
#: world's clock has none.
_UTC_ORIGIN = (7 * 365 + 2) * 86_400 << 30
#: Beside a busy thread each step of numpy may wait its turn of 5 ms: few large pieces
#: keep up where many small ones do not.
_CHUNK = 480_000
_FILTER_SAMPLES = 64  # of a JS110: it has no numbers until its filter is filled
_STAGGER_TICKS = 64
ANALOG = {"s/i": 1, "s/v": 2, "s/p": 3}  # each with its field_id
_PACKET_TICKS = 126  # that a JS110 sends at once, or loses
#: PKT_INDEX_SKIP_FILL_MAX of joulescope_driver 2.5.4 (js110_usb.c), which 2.2.12 has
#: not.
_FILLED_PACKETS = 512


class Unplugged(Exception):
    """The simulated instrument has been removed."""


class SignalStream:
    """One signal on its way into blocks: elements of `element_ticks` each, `size` to a
    block."""

    def __init__(
        self,
        element_ticks: int,
        decimate: int,
        size: int,
        start_tick: int,
        header: dict[str, int],
    ) -> None:
        self.element_ticks = element_ticks
        self._decimate = decimate
        self._size = size
        self._header = header
        self.start_tick = start_tick
        self._pieces: list[NDArray[Any]] = []
        self._count = 0
        self._first_tick = 0

    def add(
        self,
        tick: int,
        elements: NDArray[Any],
        send: Callable[[int, dict[str, Any]], None],
    ) -> None:
        """Append elements that begin at `tick`; send what fills a block."""
        if (skip := (self.start_tick - tick) // self.element_ticks) > 0:
            elements = elements[skip:]
            tick += skip * self.element_ticks
        while len(elements):
            if not self._count:
                self._first_tick = tick
            room = self._size - self._count
            self._pieces.append(elements[:room])
            self._count += len(self._pieces[-1])
            tick += len(self._pieces[-1]) * self.element_ticks
            elements = elements[room:]
            if self._count == self._size:
                self.flush(send)

    def flush(self, send: Callable[[int, dict[str, Any]], None]) -> None:
        """Send the block as far as it is filled."""
        if self._count:
            data = np.concatenate(self._pieces)
            self._pieces = []
            self._count = 0
            send(
                self._first_tick,
                {**self._header, "decimate_factor": self._decimate, "data": data},
            )


class JoulescopeAcquisition:
    """Samples the world from the moment it is made, and sends blocks of the streams
    that are on.

    `send` is given a topic and a block. A JS110's ids begin at 0, those of the others
    anywhere. `input_counts`: counts of a JS320 in a sample of its inputs. One thread
    calls it.
    """

    def __init__(
        self,
        settings: JoulescopeSimulatorSettings,
        world: World,
        send: Callable[[str, dict[str, Any]], None],
        warn: Callable[[str], None],
        line: Callable[[int], bool | None],
        spans: Callable[[], tuple[Span, Span]],
        random: np.random.Generator,
        input_counts: int = 1,
    ) -> None:
        self._settings = settings
        js320 = settings.model == "js320"
        self._counts = _JS320_COUNTS if js320 else 1
        self._phase = _JS320_PHASE if js320 else 0
        self._input_counts = input_counts
        self._world = world
        self._send = send
        self._warn = warn
        self._line = line
        self._spans = spans
        self._js110 = settings.model == "js110"
        self._per = 1 if self._js110 else 2
        self._random = random
        self._start_ns = world.now_ns()
        self._front_end = FrontEnd(
            world,
            COUNTER_HZ // self._per,
            clock_ppm=settings.clock_ppm,
            start_ns=self._start_ns,
            per_sample=self._per,
            edge_delay_s=settings.edge_delay_s,
            share=0.0 if settings.fed_v else settings.share,
            random=random,
        )
        self._first_id = 0 if self._js110 else 2 * int(random.integers(2**32, 2**40))
        self._lost_ticks = 0
        self._filled = (0, 0)  # first and last tick that the host driver fills
        self._streams: dict[str, SignalStream] = {}
        faults = settings.faults
        planned = (
            (faults.drop_at_tick, "drop"),
            (faults.time_map_at_tick, "time_map"),
            (faults.remove_at_tick, "remove"),
        )
        self._pending = sorted(fault for fault in planned if fault[0])
        self._duplicate_at = faults.duplicate_at_tick or None
        rate_hz = COUNTER_HZ * self._counts * (1 + settings.clock_ppm * 1e-6)
        offset_time = _UTC_ORIGIN + (self._start_ns << 30) // NS_PER_S
        self._time_map = {
            "offset_time": offset_time,
            "offset_counter": self._first_id * self._counts,
            "counter_rate": rate_hz,
        }

    @property
    def streaming(self) -> bool:
        """Whether any stream is on."""
        return bool(self._streams)

    def due(self, horizon_ns: int) -> int:
        """Return how many samples could be taken up to a true time."""
        return self._front_end.due(horizon_ns)

    def start(self, topic: str) -> None:
        """Switch a stream on, from now."""
        due = self._front_end.due(self._world.now_ns()) + self._front_end.at
        now_tick = due * self._per - self._lost_ticks
        start_tick = -(-now_tick // 8) * 8 + _STAGGER_TICKS * len(self._streams)
        self._streams[topic] = self._new_stream(topic, start_tick)

    def _new_stream(self, topic: str, start_tick: int) -> SignalStream:
        if topic in ANALOG:
            size = 65_394 if self._js110 else 50_022
            header = {"field_id": ANALOG[topic], "index": 0}
            counts = self._per * self._counts
            return SignalStream(self._per, counts, size, start_tick, header)
        start_tick += self._settings.faults.gpi_late_ticks // 8 * 8
        size = 12_500 if self._js110 else 12_600
        header = {"field_id": 5, "index": int(topic.rpartition("/")[2])}
        byte_ticks = 8 * self._input_counts // self._counts
        return SignalStream(byte_ticks, self._input_counts, size, start_tick, header)

    def stop(self, topic: str) -> None:
        """Switch a stream off; its samples are sent, unless it discards them."""
        stream = self._streams.pop(topic, None)
        if stream is not None and not self._settings.discards:
            stream.flush(partial(self._publish, topic))

    def follow(self, horizon_ns: int) -> bool:
        """Take and send one piece of the samples due before `horizon_ns`; return
        whether there were any. Raises Unplugged."""
        at_tick = self._front_end.at * self._per
        while self._pending and self._fault_tick() <= at_tick:
            getattr(self, f"_fault_{self._pending.pop(0)[1]}")(at_tick)
            at_tick = self._front_end.at * self._per
        count = min(self.due(horizon_ns), _CHUNK) // 8 * 8
        if self._pending:
            count = min(count, (self._fault_tick() - at_tick) // self._per)
        if count <= 0:
            return False
        self._sample(count)
        return True

    def _fault_tick(self) -> int:
        # Pieces are whole bytes of SYNC, by the ids: these do not count samples that a
        # JS110 has lost.
        return self._pending[0][0] // 16 * 16 + self._lost_ticks % 8

    def _sample(self, count: int) -> None:
        block = self._front_end.take(count)
        # A JS110 that lost samples continues its count without them.
        tick = block.first * self._per - self._lost_ticks
        current_a, voltage_v = self._analog(block.power_w, tick)
        for topic, stream in list(self._streams.items()):
            if topic.rpartition("/")[0] == "s/gpi":
                elements: NDArray[Any] = self._line_bytes(
                    int(topic.rpartition("/")[2]), block.levels, tick
                )
            else:
                elements = self._readings(topic, current_a, voltage_v)
            stream.add(tick, elements, partial(self._publish, topic))
        # A state that came after its time was sampled cannot be sent on this wire; the
        # simulated DUT counts it.
        list(self._front_end.late())

    def _readings(
        self,
        topic: str,
        current_a: NDArray[np.float32],
        voltage_v: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Return the elements of a stream of readings."""
        return current_a if topic == "s/i" else voltage_v

    def _analog(
        self, power_w: NDArray[np.float64], tick: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        settings = self._settings
        faults = self._settings.faults
        on = self._world.supply_on
        scale = (1 + settings.gain) / settings.supply_v if on else 0.0
        current_a = (power_w * scale + settings.offset_a).astype(np.float32)
        if settings.noise_a:
            current_a += np.float32(settings.noise_a) * self._random.standard_normal(
                len(current_a), dtype=np.float32
            )
        # Its voltage is that at the DUT's side of its switch.
        supply_v = (settings.supply_v if on else settings.fed_v) * (
            1 + settings.voltage_gain
        )
        voltage_v = np.full(len(current_a), supply_v, dtype=np.float32)
        # Beyond its range a converter saturates without a message.
        for samples, span in zip((current_a, voltage_v), self._spans(), strict=True):
            np.clip(samples, *span, out=samples)
        first = tick // self._per
        if self._js110 and first < _FILTER_SAMPLES:
            current_a[: _FILTER_SAMPLES - first] = voltage_v[
                : _FILTER_SAMPLES - first
            ] = np.nan
        if faults.nan_samples:
            bad = faults.nan_at_tick // self._per - first
            hit = current_a if faults.nan_signal == "i" else voltage_v
            hit[max(bad, 0) : max(bad + faults.nan_samples, 0)] = np.nan
        lost = self._part_filled(tick)
        current_a[lost] = voltage_v[lost] = np.nan
        return current_a, voltage_v

    def _part_filled(self, tick: int) -> slice:
        """Return which ticks of a piece that begins at `tick` the host driver has
        filled."""
        return slice(*(max(bound - tick, 0) for bound in self._filled))

    def _line_bytes(
        self, gpi: int, levels: NDArray[np.uint8], tick: int
    ) -> NDArray[np.uint8]:
        """Return the bits of an input, the first in the lowest bit of each byte."""
        high = self._line(gpi)
        if high is None:  # the lowest bit of the converter instead of the input
            return self._random.integers(0, 256, len(levels) // 8, dtype=np.uint8)
        if not high:
            return np.zeros(len(levels) // 8, dtype=np.uint8)
        if self._js110:
            # SAMPLE_MISSING of js110_sample_processor.c
            levels[self._part_filled(tick)] = 0
        levels = levels[:: self._input_counts // self._counts]
        packed = np.packbits(levels, bitorder="little")
        if self._js110 and tick < _FILTER_SAMPLES:
            packed[: (_FILTER_SAMPLES - tick) // 8] = 0
        return packed

    def _publish(self, topic: str, tick: int, block: dict[str, Any]) -> None:
        name = "gpi" if topic.startswith("s/gpi") else topic.rpartition("/")[2]
        if name == self._settings.faults.mute:
            return
        sample_id = (self._first_id + tick) * self._counts + self._phase
        time_map = self._time_map
        elapsed_s = (sample_id - time_map["offset_counter"]) / time_map["counter_rate"]
        utc = int(time_map["offset_time"] + round(elapsed_s * 2**30))
        head = {
            "sample_id": sample_id,
            "utc": utc,
            "sample_rate": COUNTER_HZ * self._counts,
        }
        whole = {**head, **block, "time_map": dict(time_map)}
        self._send(f"{topic}/!data", whole)
        if self._duplicate_at is not None and tick >= self._duplicate_at:
            self._duplicate_at = None
            self._send(f"{topic}/!data", whole)

    def _fault_drop(self, at_tick: int) -> None:
        faults = self._settings.faults
        lost = self._settings.faults.drop_ticks // 16 * 16
        if self._js110:
            self._lose_packets(at_tick, faults.drop_ticks // _PACKET_TICKS)
            return
        for topic, stream in self._streams.items():
            name = "gpi" if topic.startswith("s/gpi") else topic.rpartition("/")[2]
            if faults.drop_signal in ("all", name):
                stream.flush(partial(self._publish, topic))
                stream.start_tick = at_tick + lost

    def _lose_packets(self, at_tick: int, packets: int) -> None:
        """Lose packets as a JS110 and its host driver do, and log what that logs."""
        faults = self._settings.faults
        first = at_tick // _PACKET_TICKS & 0xFFFF
        warning = (
            f"pkt_index skip: expected {first}, received {first + packets & 0xFFFF}"
        )
        if faults.drop_filled:
            warning += f" ({packets} frames)"
        if not faults.drop_unlogged:
            self._warn(warning)
        lost = packets * _PACKET_TICKS
        if faults.drop_filled and packets <= _FILLED_PACKETS:
            at = at_tick - self._lost_ticks
            self._filled = (at, at + lost)
            return
        self._front_end.skip(lost)
        self._lost_ticks += lost

    def _fault_time_map(self, at_tick: int) -> None:
        old = self._time_map
        count = at_tick * self._counts
        elapsed = round(count / old["counter_rate"] * 2**30) + (1 << 30) // 1000
        offset_counter = self._first_id * self._counts + count
        counter_rate = old["counter_rate"] * (1 + 5e-6)
        self._time_map = {
            "offset_time": old["offset_time"] + elapsed,
            "offset_counter": offset_counter,
            "counter_rate": counter_rate,
        }

    def _fault_remove(self, at_tick: int) -> None:
        raise Unplugged
