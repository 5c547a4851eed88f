# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word of `rig tiny`: its model, a recording with its words or a
generated signal, and the bench files.

The benchmark's runner takes performance, accuracy and energy from one stream, "in one
run" (benchmark/runner/README.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError, DataError
from rig.files.toml_text import of_value
from rig.firmware.model_options import ModelOptions
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.tflite.form import IntegerNetwork
from rig.network.wake import c_header
from rig.units import plural
from scenarios.tasks.mlperf_tiny import benches
from scenarios.tasks.mlperf_tiny.references import CLONE, WAKE_WORD, ReferenceModel
from scenarios.tasks.sww import data

#: Recordings of the benchmark's runner with the lists of their words, its own first;
#: the others are for trying.
_RECORDINGS = (
    ("sww_long_test.json", "long_wav.wav"),
    ("sww_med_test.json", "med_wav_2m_8p.wav"),
    ("sww_short_test.json", "short_wav_easy10s.wav"),
)
_OF_CLONE = "benchmark/runner/sww_data_dir"
#: A folder of --inputs: a clone, the runner's folder of data sets, or one of them.
_OF_INPUTS = (_OF_CLONE, "sww01", "")
#: An emulated UART is too slow to feed a stream, and this long a one is loaded before:
#: 80 windows on the image stm32f405.
_LOADED_S = 2.5
#: A simulated processor's time: repeatable, and no statement about any device.
_TIMED = "block_ns = 200\nppm = 60.0\n"
#: The text layer, whose windows go one by one.
_TEXT = 'layer = "text"\n'
_VIRTUAL = """[sut.virtual]
slots = 4
load_s = 0.01
{hold}[sut.virtual.preprocess]
duration_s = 0.003
[sut.virtual.infer]
duration_s = 0.004
"""
_CPU = """[sut.cpu]
program = "integer"
power_w = {{ idle = 2.0, preprocess = 8.0, infer = 8.0 }}
{hold}"""
#: 32 kB/s: 115,200 baud are too few.
_BAUD = "baud = 921_600\n"
#: Twenty minutes at 100 kHz are a gigabyte: from here on a simulated monitor is slower,
#: and the pulses that it must see are longer.
_LONG_S = 180.0
_GENERATED = (
    "generated tones and noise, as there is no recording; the reference model knows"
    " other words: of these numbers only times, power and energy mean anything"
)


@dataclass(frozen=True, slots=True)
class WordRecording:
    """A recording and the list of its words; `about` says which."""

    audio: Path
    truth: Path
    length_s: float
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeWordBenchmark:
    """The reference model and a recording, None for a generated signal, on a device;
    `length_s` of it are played, all for 0.
    """

    reference: ReferenceModel
    path: Path
    network: IntegerNetwork
    recording: WordRecording | None
    on: str
    length_s: float
    workload: str = c_header.WORKLOAD

    @classmethod
    def of(
        cls, clone: Path, inputs: Path | None, *, on: str, minutes: float | None
    ) -> WakeWordBenchmark:
        """Open the model of a clone, and look for recordings in the folder that the
        user names or in the clone.
        """
        path = WAKE_WORD.model_in(clone)
        network = c_header.read(path)
        recording = _recording(clone, (_OF_CLONE,))
        if inputs is not None:
            recording = _recording(inputs, _OF_INPUTS)
            if recording is None:
                raise DataError(
                    f"{inputs} has no recording of {WAKE_WORD.benchmark}",
                    evidence=f"no {' with '.join(_RECORDINGS[0])}, nor a shorter one",
                    try_next=f"a clone: {CLONE}; or its folder {_OF_CLONE}",
                )
        length_s = _length_s(recording, minutes)
        if on == "qemu":
            length_s = min(length_s or _LOADED_S, _LOADED_S)
        return cls(
            reference=WAKE_WORD,
            path=path,
            network=network,
            recording=recording,
            on=on,
            length_s=length_s,
        )

    @property
    def benchmark(self) -> str:
        """Return its name in reports."""
        return self.reference.benchmark

    @property
    def identity(self) -> str:
        """Return the model's name in a device's report."""
        return self.network.identity

    def options(self, kept: Path) -> ModelOptions:
        """Return how the model is built into an image."""
        return ModelOptions(path=kept, streams=True)

    def sut(self, image: str, machine: str, mode: str) -> str:
        """Return the lines of the device in a mode."""
        one_by_one = _TEXT if self._is_one_by_one(mode) else ""
        hold = f"sync_hold_us = {100 if self._is_long else 50}\n"
        match self.on:
            case "posix":
                return benches.process(image, one_by_one or _TIMED + hold)
            case "qemu":
                return benches.emulator(image, machine, hold)
            case "virtual":
                return _VIRTUAL.format(hold=hold)
            case "cpu":
                return _CPU.format(hold=hold)
        return benches.board(self.on, f"{_BAUD}{one_by_one}")

    def monitor(self, given: Path | None, mode: str) -> str:
        """Return the lines of the monitor; windows that go one by one have neither
        times nor energy.
        """
        if given is not None or self.on not in benches.BACKENDS:
            return benches.monitor(self.on, given)
        if self._is_one_by_one(mode):
            return benches.NO_MONITOR
        clock = "clock_ppm = 0.0\n" if self.on == "cpu" else ""
        rate = "20_000" if self._is_long else "100_000"
        return f"[monitor.virtual]\nsample_hz = {rate}\n{clock}"

    def tables(self, folder: Path, kept: str) -> tuple[str, Callable[[str], str]]:
        """Return a sentence about the signal, and what gives scenario and task of a
        mode.
        """
        task = f"[task.sww]\nmodel = {of_value(kept)}\n"
        if self.recording is not None:
            audio, truth = self.recording.audio, self.recording.truth
            task += f"audio = {of_value(str(audio.resolve()))}\n"
            task += f"truth = {of_value(str(truth.resolve()))}\n"
        if self.length_s:
            task += f"length_s = {self.length_s:g}\n"

        def text(mode: str) -> str:
            scenario = "[scenario.events]\n"
            if self._is_one_by_one(mode):
                scenario += 'mode = "accuracy"\n'
            if self.on == "qemu":
                scenario += "preloaded = true\n"
            return f"{scenario}\n{task}"

        return f"signal: {self._about()}", text

    @property
    def _is_long(self) -> bool:
        whole_s = 0.0 if self.recording is None else self.recording.length_s
        return (self.length_s or whole_s) > _LONG_S

    def _is_one_by_one(self, mode: str) -> bool:
        """Check whether windows go one by one over the text layer, which the other
        devices do not speak.
        """
        return mode == "accuracy" and self.on not in ("qemu", "virtual", "cpu")

    def _about(self) -> str:
        about = _GENERATED if self.recording is None else self.recording.about
        if self.on == "qemu":
            why = "as many windows as the emulated board has memory for"
            return f"{about}; its first {self.length_s:g} s, {why}"
        return f"{about}; its first {self.length_s:g} s" if self.length_s else about


def _recording(folder: Path, places: Sequence[str]) -> WordRecording | None:
    """Return the first recording that is there with its words, the benchmark's own
    before the others.
    """
    for truth, audio in _RECORDINGS:
        for place in (folder / name for name in places):
            if (place / truth).is_file() and (place / audio).is_file():
                signal = data.recording(place / audio, place / truth)
                length_s = len(signal.samples) / SAMPLE_HZ
                words = plural(len(signal.words), "word")
                about = f"{place / audio}, {length_s:g} s, {words}"
                if signal.ids != data.OFFICIAL:
                    about += f"; the benchmark's own is another, {_RECORDINGS[0][1]}"
                return WordRecording(place / audio, place / truth, length_s, about)
    return None


def word_lists(clone: Path, inputs: Path | None) -> Path:
    """Return the first list of words in the user's folder, or in the clone; raises
    DataError where there is none.
    """
    folder, places = (clone, (_OF_CLONE,)) if inputs is None else (inputs, _OF_INPUTS)
    for truth, _ in _RECORDINGS:
        for place in places:
            if (folder / place / truth).is_file():
                return folder / place / truth
    raise DataError(
        f"{folder} has no list of words of {WAKE_WORD.benchmark}",
        evidence=f"no {', '.join(truth for truth, _ in _RECORDINGS)}",
        try_next=f"a clone: {CLONE}; or its folder {_OF_CLONE}",
    )


def _length_s(recording: WordRecording | None, minutes: float | None) -> float:
    """Return how much is played, 0 for all; raises ConfigError where there is less."""
    if minutes is None:
        return 0.0
    length_s = 60 * minutes
    if recording is not None and length_s > recording.length_s:
        raise ConfigError(
            f"{minutes:g} minutes, {recording.audio} has {recording.length_s / 60:.4g}",
            path="--minutes",
            try_next="fewer; or without --minutes, for all of it",
        )
    return length_s
