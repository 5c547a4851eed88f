# SPDX-License-Identifier: Apache-2.0
"""Sounds that the generator mixes into scenes: noises, voices, engines, birds, cars.

Every function takes a numpy Generator and returns float64 of SAMPLES_PER_FILE samples
at RATE_HZ, with an RMS of 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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

    def gain(hz: Signal) -> Signal:
        away = np.log2(np.maximum(hz, 1.0) / centre_hz) / octaves
        return np.exp(-0.5 * away**2)

    return gain


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
    formants = []
    for low, high, width in FORMANTS:
        formants.append(band(float(rng.uniform(low, high)), width))
    first, second, third = formants
    second_gain = float(rng.uniform(0.3, 0.7))
    third_gain = float(rng.uniform(0.15, 0.4))
    syllables = bumps(rng, float(rng.uniform(3.2, 5.5)), 0.05)
    syllables *= wander(rng, 0.7) > -0.8
    source = pulses(pitch, 12.0) + 0.12 * rng.standard_normal(SAMPLES_PER_FILE)
    spoken = source * stretched(syllables)

    def formant_gain(hz: Signal) -> Signal:
        return first(hz) + second_gain * second(hz) + third_gain * third(hz)

    return unit(coloured(spoken, formant_gain))


def babble(rng: Rng) -> Signal:
    """Make a hall with several talkers and the murmur of many more."""
    near = np.zeros(SAMPLES_PER_FILE)
    for _ in range(int(rng.integers(2, 4))):
        near += rng.uniform(0.5, 1.0) * voice(rng)
    murmur = noise(rng, band(float(rng.uniform(450, 750)), 0.9))
    murmur *= stretched(1 + 0.3 * np.abs(wander(rng, 4)))
    hall = unit(near) + rng.uniform(0.3, 0.7) * murmur
    return reverberant(rng, hall, float(rng.uniform(0.4, 1.2)))


def chime(rng: Rng) -> Signal:
    """Make announcement chimes: two or three falling tones, once or twice."""
    out = np.zeros(SAMPLES_PER_FILE)
    for start_s in rng.uniform(0, 8, int(rng.integers(1, 3))):
        tones_hz = rng.uniform(400, 1100, int(rng.integers(2, 4)))
        for step, hz in enumerate(np.sort(tones_hz)[::-1]):
            after_s = np.maximum(TIME_S - start_s - 0.45 * step, 0)
            decaying = np.sin(2 * np.pi * hz * after_s) * np.exp(-4 * after_s)
            out += decaying * (after_s > 0)
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
    low = pulses(np.full_like(CONTROL_S, low_hz), 4.0)
    high = pulses(np.full_like(CONTROL_S, low_hz * 1.25), 4.0)
    return unit((low + high) * stretched(bumps(rng, 0.15, 0.15)))


def engine(rng: Rng, idle_hz: float) -> Signal:
    """Make an engine: the harmonics of a wandering firing rate, and the combustion
    noise they gate.
    """
    rate = idle_hz * np.exp2(0.35 * wander(rng, 0.4))
    firing = pulses(rate, 20.0)
    combustion = np.abs(firing) * rng.standard_normal(SAMPLES_PER_FILE)
    gated = coloured(combustion, band(float(rng.uniform(300, 700)), 1.2))
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
            length = min(int(chirp_s * RATE_HZ), SAMPLES_PER_FILE - start)
            local_s = TIME_S[: max(0, length)]
            cycles = centre_hz * local_s + 0.5 * sweep_hz * local_s**2 / chirp_s
            tone = loud * np.sin(2 * np.pi * cycles)
            end = start + local_s.size
            out[start:end] += tone * np.sin(np.pi * local_s / chirp_s)
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
