# SPDX-License-Identifier: Apache-2.0
"""Generate a stand-in for the data set: the same layout and names, four scenes mixed
from layered events.

What separates the scenes is how the events move in time and frequency. Level, tilt,
background and foreign events are drawn from the same distributions for all four, so no
single number of a recording distinguishes them.

Sounds that the generator mixes into scenes: noises, voices, engines, birds, cars.

Every function takes a numpy Generator and returns float64 of SAMPLES_PER_FILE samples
at RATE_HZ, with an RMS of 1.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.files import table_file
from scenarios.tasks.asc.dataset import (
    CLASSES,
    DEVICE,
    META_LIST,
    TEST_LIST,
    TRAIN_LIST,
)

Signal = NDArray[np.float64]
Rng = np.random.Generator

RATE_HZ = 44_100
FILE_S = 10
SAMPLES_PER_FILE = RATE_HZ * FILE_S
CONTROL_HZ = 200

# Range of the centre in Hz, and width in octaves, of the formants of a voice.
FORMANTS = ((350.0, 750.0, 0.35), (1000.0, 1900.0, 0.25), (2300.0, 3000.0, 0.2))

TIME_S: Signal = np.arange(SAMPLES_PER_FILE, dtype=np.float64) / RATE_HZ
FREQUENCY_HZ: Signal = np.fft.rfftfreq(SAMPLES_PER_FILE, 1 / RATE_HZ).astype(np.float64)
CONTROL_S: Signal = np.arange(CONTROL_HZ * FILE_S + 1) / CONTROL_HZ


def unit(signal: Signal) -> Signal:
    """Scale a signal to an RMS of 1; silence stays silence."""
    rms = float(np.sqrt(np.mean(signal**2)))
    return signal / rms if rms > 0 else signal


def coloured(signal: Signal, gain: Callable[[Signal], Signal]) -> Signal:
    """Filter a signal by the magnitude response gain(frequency in Hz)."""
    return np.fft.irfft(np.fft.rfft(signal) * gain(FREQUENCY_HZ), SAMPLES_PER_FILE)


def slope(db_per_octave: float) -> Callable[[Signal], Signal]:
    """Return a magnitude response that falls or rises by `db_per_octave` around 1 kHz,
    flat below 40 Hz.
    """
    return lambda hz: (np.maximum(hz, 40.0) / 1000.0) ** (db_per_octave / 6.02)


def band(centre_hz: float, octaves: float) -> Callable[[Signal], Signal]:
    """Return a bell over the logarithm of frequency, `octaves` wide at one standard
    deviation."""
    return lambda hz: np.exp(
        -0.5 * (np.log2(np.maximum(hz, 1.0) / centre_hz) / octaves) ** 2
    )


def noise(rng: Rng, gain: Callable[[Signal], Signal]) -> Signal:
    """Make Gaussian noise with the magnitude response `gain`."""
    size = FREQUENCY_HZ.size
    spectrum = rng.standard_normal(size) + 1j * rng.standard_normal(size)
    spectrum[0] = 0
    return unit(np.fft.irfft(spectrum * gain(FREQUENCY_HZ), SAMPLES_PER_FILE))


def stretched(control: Signal) -> Signal:
    """Interpolate an envelope from CONTROL_HZ to RATE_HZ."""
    return np.interp(TIME_S, CONTROL_S, control)


def wander(rng: Rng, hz: float) -> Signal:
    """Make a control curve of mean 0 and deviation about 1 that wanders at up to
    `hz`."""
    knots = rng.standard_normal(int(FILE_S * hz) + 3)
    return np.interp(CONTROL_S * hz, np.arange(knots.size), knots)


def bumps(rng: Rng, rate_hz: float, width_s: float, spread: float = 0.3) -> Signal:
    """Make an envelope of rounded bumps that come `rate_hz` times a second,
    irregularly, `width_s` wide each.
    """
    control = np.zeros_like(CONTROL_S)
    at_s = rng.exponential(0.5 / rate_hz)
    while at_s < FILE_S:
        width = width_s * np.exp(spread * rng.standard_normal())
        height = np.exp(spread * rng.standard_normal())
        control = np.maximum(
            control, height * np.exp(-0.5 * ((CONTROL_S - at_s) / width) ** 2)
        )
        at_s += max(0.02, (1 + spread * rng.standard_normal()) / rate_hz)
    return control


def pulses(pitch_hz: Signal, sharpness: float) -> Signal:
    """Make a train of rounded pulses whose pitch follows the control curve `pitch_hz`:
    a harmonic series.
    """
    phase = 2 * np.pi * np.cumsum(stretched(pitch_hz)) / RATE_HZ
    wave: Signal = np.exp(sharpness * (np.cos(phase) - 1))
    wave -= wave.mean()
    return wave


def reverberant(rng: Rng, signal: Signal, decay_s: float) -> Signal:
    """Let a signal ring for `decay_s`; what rings past the end comes back at the
    start."""
    room = rng.standard_normal(SAMPLES_PER_FILE) * np.exp(-6.9 * TIME_S / decay_s)
    return unit(np.fft.irfft(np.fft.rfft(signal) * np.fft.rfft(room), SAMPLES_PER_FILE))


def voice(rng: Rng) -> Signal:
    """Make one talker: voiced pulses and breath, in syllables, with pauses between
    phrases."""
    pitch = float(rng.uniform(95, 230)) * np.exp2(0.15 * wander(rng, 3))
    first, second, third = (
        band(float(rng.uniform(low, high)), width) for low, high, width in FORMANTS
    )
    second_gain = float(rng.uniform(0.3, 0.7))
    third_gain = float(rng.uniform(0.15, 0.4))
    syllables = bumps(rng, float(rng.uniform(3.2, 5.5)), 0.05) * (
        wander(rng, 0.7) > -0.8
    )
    source = pulses(pitch, 12.0) + 0.12 * rng.standard_normal(SAMPLES_PER_FILE)
    spoken = source * stretched(syllables)
    return unit(
        coloured(
            spoken,
            lambda hz: first(hz) + second_gain * second(hz) + third_gain * third(hz),
        )
    )


def babble(rng: Rng) -> Signal:
    """Make a hall with several talkers and the murmur of many more."""
    near = sum(
        (rng.uniform(0.5, 1.0) * voice(rng) for _ in range(int(rng.integers(2, 4)))),
        np.zeros(SAMPLES_PER_FILE),
    )
    murmur = noise(rng, band(float(rng.uniform(450, 750)), 0.9)) * stretched(
        1 + 0.3 * np.abs(wander(rng, 4))
    )
    return reverberant(
        rng, unit(near) + rng.uniform(0.3, 0.7) * murmur, float(rng.uniform(0.4, 1.2))
    )


def chime(rng: Rng) -> Signal:
    """Make announcement chimes: two or three falling tones, once or twice."""
    out = np.zeros(SAMPLES_PER_FILE)
    for start_s in rng.uniform(0, 8, int(rng.integers(1, 3))):
        for step, hz in enumerate(
            np.sort(rng.uniform(400, 1100, int(rng.integers(2, 4))))[::-1]
        ):
            after_s = np.maximum(TIME_S - start_s - 0.45 * step, 0)
            out += (
                np.sin(2 * np.pi * hz * after_s) * np.exp(-4 * after_s) * (after_s > 0)
            )
    return unit(out)


def cars(rng: Rng, rate_hz: float) -> Signal:
    """Make passing cars: a bell in time each, brighter while near, the pitch of the
    tyres falling as it leaves.
    """
    near = bumps(rng, rate_hz, 0.42)
    dark = noise(rng, band(float(rng.uniform(350, 600)), 1.1))
    bright = noise(rng, band(float(rng.uniform(1000, 1600)), 0.8))
    return unit((0.18 + stretched(near)) * dark + stretched(near**2) * bright)


def horn(rng: Rng) -> Signal:
    """Make one or two car horns: two harmonic tones, a third of a second."""
    low_hz = float(rng.uniform(330, 450))
    tone = pulses(np.full_like(CONTROL_S, low_hz), 4.0) + pulses(
        np.full_like(CONTROL_S, low_hz * 1.25), 4.0
    )
    return unit(tone * stretched(bumps(rng, 0.15, 0.15)))


def engine(rng: Rng, idle_hz: float) -> Signal:
    """Make an engine: the harmonics of a wandering firing rate, and the combustion
    noise they gate.
    """
    rate = idle_hz * np.exp2(0.35 * wander(rng, 0.4))
    firing = pulses(rate, 20.0)
    gated = coloured(
        np.abs(firing) * rng.standard_normal(SAMPLES_PER_FILE),
        band(float(rng.uniform(300, 700)), 1.2),
    )
    body = coloured(firing, band(float(rng.uniform(110, 190)), 0.8))
    return unit(unit(body) + rng.uniform(0.3, 0.6) * unit(gated))


def rattle(rng: Rng) -> Signal:
    """Make rattling: runs of short clicks, ten or so a second."""
    runs = wander(rng, 0.8) > rng.uniform(-0.6, 0.2)
    clicks = bumps(rng, float(rng.uniform(8, 14)), 0.008, 0.25) * runs
    return unit(
        noise(rng, band(float(rng.uniform(1100, 2300)), 0.5)) * stretched(clicks)
    )


def birds(rng: Rng, rate_hz: float) -> Signal:
    """Make birds: phrases of three to eight chirps, each sweeping through some hundred
    hertz."""
    out = np.zeros(SAMPLES_PER_FILE)
    at_s = float(rng.exponential(0.5 / rate_hz))
    while at_s < FILE_S:
        centre_hz = float(rng.uniform(1700, 3500))
        sweep_hz = float(rng.uniform(-700, 700))
        gap_s = float(rng.uniform(0.09, 0.22))
        chirp_s = float(rng.uniform(0.03, 0.1))
        loud = float(rng.uniform(0.4, 1.0))
        for chirp in range(int(rng.integers(3, 9))):
            start = int((at_s + chirp * gap_s) * RATE_HZ)
            local_s = TIME_S[
                : max(0, min(int(chirp_s * RATE_HZ), SAMPLES_PER_FILE - start))
            ]
            phase = (
                2
                * np.pi
                * (centre_hz * local_s + 0.5 * sweep_hz * local_s**2 / chirp_s)
            )
            out[start : start + local_s.size] += (
                loud * np.sin(phase) * np.sin(np.pi * local_s / chirp_s)
            )
        at_s += float(rng.exponential(1 / rate_hz))
    return unit(out)


def wind(rng: Rng) -> Signal:
    """Make wind in leaves: dark gusts and a hiss that follows them."""
    gust = np.exp(0.5 * wander(rng, 0.6))
    dark = noise(rng, lambda hz: 1 / (1 + (hz / 90.0) ** 1.5))
    hiss = noise(rng, band(float(rng.uniform(1200, 2600)), 1.0))
    return unit(
        stretched(gust) * dark + rng.uniform(0.1, 0.35) * stretched(gust**2) * hiss
    )


GENERATOR_VERSION = 1
CITIES = ("arden", "brook", "cliff", "dale")

Layer = Callable[[Rng], Signal]

# The layers of a scene: always there, at 0 dB; and the events that may come with it.
MAIN: dict[str, Layer] = {
    "airport": babble,
    "street_traffic": lambda rng: cars(rng, float(rng.uniform(0.55, 0.9))),
    "bus": lambda rng: engine(rng, float(rng.uniform(24, 42))),
    "park": lambda rng: birds(rng, float(rng.uniform(0.9, 1.6))),
}
OWN: dict[str, Layer] = {
    "airport": chime,
    "street_traffic": horn,
    "bus": rattle,
    "park": wind,
}
OWN_PROBABILITY = {"airport": 0.4, "street_traffic": 0.3, "bus": 0.7, "park": 0.8}
FOREIGN: dict[str, tuple[Layer, ...]] = {
    "airport": (
        rattle,
        lambda rng: engine(rng, 48.0),
        lambda rng: birds(rng, 0.4),
    ),
    "street_traffic": (
        babble,
        wind,
        lambda rng: birds(rng, 0.4),
        lambda rng: engine(rng, 30.0),
    ),
    "bus": (babble, chime, lambda rng: cars(rng, 0.3)),
    "park": (babble, lambda rng: cars(rng, 0.3), rattle),
}


def mix(scene: str, rng: Rng) -> Signal:
    """Mix one recording of `scene`; float64 within -1..1, SAMPLES_PER_FILE samples at
    RATE_HZ."""
    background = noise(rng, slope(float(rng.uniform(-5, -1))))
    out = MAIN[scene](rng) + gain(rng.uniform(-8, 2)) * background
    if rng.random() < OWN_PROBABILITY[scene]:
        out += gain(rng.uniform(-9, -2)) * OWN[scene](rng)
    if rng.random() < 0.8:
        foreign = FOREIGN[scene]
        out += gain(rng.uniform(-13, -4)) * foreign[int(rng.integers(len(foreign)))](
            rng
        )
    out = coloured(out, slope(float(rng.uniform(-3, 3))))
    out = unit(out) * gain(rng.uniform(-38, -18))
    return np.clip(out, -1.0, 1.0 - 2.0**-23)


def gain(db: float) -> float:
    """Return the amplitude ratio of a level difference in dB."""
    return float(10.0 ** (db / 20))


@dataclass(frozen=True, slots=True)
class GeneratedRecording:
    """One file to generate, of a location of its own: `split` is "train", "evaluate" or
    "extra" (on disk and in neither list).
    """

    scene: str
    location: int
    split: str

    @property
    def identifier(self) -> str:
        """Return city and location as meta.csv has them."""
        return f"{CITIES[self.location % len(CITIES)]}-{self.location}"

    @property
    def name(self) -> str:
        """The file name, [scene]-[city]-[location]-[segment]-[device].wav."""
        return f"{self.scene}-{self.identifier}-0-{DEVICE}.wav"

    def audio(self, seed: int) -> Signal:
        """Synthesize the recording; the same seed gives the same samples."""
        return mix(
            self.scene,
            np.random.default_rng((seed, CLASSES.index(self.scene), self.location)),
        )


def recordings(files_per_class: int) -> list[GeneratedRecording]:
    """List what to generate: a third of the locations, at least one, is held out; the
    last file of each class is in no list.
    """
    if files_per_class < 2:
        cause = f"{files_per_class} files a class cannot be split by location"
        raise ConfigError(cause, path="task.asc.files_per_class", try_next="2 or more")
    first_test = files_per_class - max(1, files_per_class // 3)
    listed = []
    for scene in CLASSES:
        for location in range(files_per_class):
            split = (
                "train"
                if location < first_test
                else "extra"
                if location == files_per_class - 1
                else "evaluate"
            )
            listed.append(GeneratedRecording(scene, location, split))
    return listed


def write_list(
    path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> None:
    """Write a tab-separated list with a header."""
    path.write_text(
        table_file.text([header, *rows], delimiter="\t"), encoding="utf-8", newline=""
    )


def write(folder: Path, files_per_class: int, seed: int) -> None:
    """Write a data set of 4 x `files_per_class` recordings into the existing empty
    `folder`."""
    (folder / "audio").mkdir()
    (folder / "evaluation_setup").mkdir()
    listed = recordings(files_per_class)
    for recording in listed:
        soundfile.write(
            folder / "audio" / recording.name,
            recording.audio(seed),
            RATE_HZ,
            subtype="PCM_24",
        )
    named = ("filename", "scene_label")
    for name, split in ((TRAIN_LIST, "train"), (TEST_LIST, "evaluate")):
        rows = ((f"audio/{r.name}", r.scene) for r in listed if r.split == split)
        write_list(folder / "evaluation_setup" / name, named, rows)
    tested = ((f"audio/{r.name}",) for r in listed if r.split == "evaluate")
    write_list(folder / "evaluation_setup" / "fold1_test.csv", named[:1], tested)
    meta = ((f"audio/{r.name}", r.scene, r.identifier, DEVICE) for r in listed)
    write_list(folder / META_LIST, (*named, "identifier", "source_label"), meta)


def ensure(cache: Path, files_per_class: int, seed: int) -> Path:
    """Return the folder of a generated data set under `cache`; generate it if it is not
    there.

    It is written beside its place and renamed, so a folder with the final name is
    whole.
    """
    folder = cache / f"asc-generated-v{GENERATOR_VERSION}-{files_per_class}-{seed}"
    if folder.is_dir():
        return folder
    recordings(files_per_class)
    partial = cache / f"{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        partial.mkdir(parents=True)
        write(partial, files_per_class, seed)
        rename(partial, folder)
    except (OSError, soundfile.LibsndfileError) as problem:
        cause = f"generated data cannot be written to {cache}"
        raise DataError(
            cause, evidence=str(problem), try_next="another task.asc.cache"
        ) from problem
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def rename(partial: Path, folder: Path) -> None:
    """Give a finished data set its name, unless another process was faster: the
    generator is deterministic, theirs is as good.
    """
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
