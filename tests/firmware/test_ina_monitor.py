# SPDX-License-Identifier: Apache-2.0
"""The firmware ina_monitor on a simulated ATmega328P, with a chip at its I2C pins that
counts its conversions, read by the driver.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from drivers.ina_monitor.driver import InaMonitor
from rig.arrays import Reals
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace, reading
from tests.builds import built
from tests.firmware.test_io_manager import MISSING, Avr, running

pytestmark = [
    # the simulated processor keeps the pace of real time
    pytest.mark.paced,
    pytest.mark.skipif(bool(MISSING), reason=f"needs the Debian packages {MISSING}"),
]
STEP_A = 2.5e-6 / 0.1


@contextmanager
def opened(sample_hz: int, conversion_us: int) -> Iterator[tuple[Avr, InaMonitor]]:
    elf = built("ina-monitor") / "ina_monitor" / "ina_monitor.elf"
    chip = ["--host-baud", "500000", "--ina", str(conversion_us)]
    with running(elf, *chip) as avr:
        monitor = InaMonitor.open(
            InaMonitor.Settings(port=avr.port, chip="ina226", sample_hz=sample_hz),
            BenchContext(),
        )
        try:
            yield avr, monitor
        finally:
            monitor.close()


def counts(trace: Trace) -> Reals:
    """Return the shunt register of each sample: the conversion's number."""
    with reading(trace.path) as reader:
        current_a, voltage_v = trace.samples(reader, 0, trace.length)
    known = np.isfinite(voltage_v)
    # 0x0A50 steps of 1.25 mV
    assert voltage_v[known] == pytest.approx(3.3)
    return current_a / STEP_A


# The longest conversions that an INA226 may take, of those that the driver chooses.
@pytest.mark.parametrize(("sample_hz", "conversion_us"), [(500, 1364), (1000, 378)])
def test_each_sample_is_a_whole_conversion_of_its_own(
    tmp_path: Path, sample_hz: int, conversion_us: int
) -> None:
    with opened(sample_hz, conversion_us) as (_, monitor), monitor.record(tmp_path):
        time.sleep(1.0)  # of samples in real time
    trace = Trace.open(tmp_path / "trace.jls")
    assert not trace.gaps and trace.length > sample_hz // 2
    assert np.diff(counts(trace)) == pytest.approx(1.0, abs=1e-3)


def test_a_conversion_that_takes_too_long_is_the_one_before(tmp_path: Path) -> None:
    """The chip of this test is a judge: it hands out no unfinished conversion."""
    with opened(500, 1600) as (_, monitor), monitor.record(tmp_path):
        time.sleep(0.3)  # of samples in real time
    first = counts(Trace.open(tmp_path / "trace.jls"))[0]
    assert first == pytest.approx(0.0, abs=1e-3)


def test_edges_are_stamped_in_the_clock_of_the_samples(tmp_path: Path) -> None:
    true_us = [1_000, 2_500, 50_000, 50_400, 120_000]
    with opened(500, 1364) as (avr, monitor), monitor.record(tmp_path):
        avr.tell("falls " + " ".join(str(at * 1000) for at in true_us))
        time.sleep(0.5)  # until they have come
    falls_s = Trace.open(tmp_path / "trace.jls").falls_s
    assert np.diff(falls_s) == pytest.approx(np.diff(true_us) * 1e-6, abs=0.51e-6)


def test_a_chip_that_does_not_acknowledge_once_is_one_gap(tmp_path: Path) -> None:
    with opened(500, 1364) as (avr, monitor), monitor.record(tmp_path):
        time.sleep(0.2)  # of samples in real time
        avr.tell("deaf 1")
        time.sleep(0.3)  # of more of them
    trace = Trace.open(tmp_path / "trace.jls")
    [gap] = trace.gaps
    assert gap.stop - gap.start == 1 and "did not acknowledge" in gap.cause
    assert trace.length > 200
