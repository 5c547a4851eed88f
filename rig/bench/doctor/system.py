# SPDX-License-Identifier: Apache-2.0
"""This computer: its system, Python, clocks and display."""

from __future__ import annotations

import platform
import shutil
import sys
import time
from collections.abc import Iterator

from rig.bench.doctor.row import DoctorRow, LinuxRoot, RowState, asked
from rig.files.plain_text import one_line
from rig.host import window_needs
from rig.units import quantity

GROUP = "this computer"
#: First and last version of Python with which the rig was run (README, Systems).
_RUN_WITH = ((3, 11), (3, 14))
#: Clock sources of Linux that take long to read, or tick coarsely.
_SLOW = {"acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit"}
_READS = 1000


def system_rows(place: LinuxRoot) -> Iterator[DoctorRow]:
    """Yield the rows of system, Python and clocks."""
    yield _system()
    yield _python()
    yield _clock(place)
    yield from _time_of_day()


def _system() -> DoctorRow:
    about = one_line(f"{platform.system()} {platform.release()}, {platform.machine()}")
    if sys.platform != "linux":
        about += "; the rig was tested on Linux only (README, Systems)"
    return DoctorRow(GROUP, "system", RowState.OK, about, needed=True)


def _python() -> DoctorRow:
    name = "Python"
    here = sys.version_info[:2]
    bits = 64 if sys.maxsize > 1 << 32 else 32
    about = f"{platform.python_version()}, {bits} bits"
    if bits < 64:
        return DoctorRow(
            GROUP,
            name,
            RowState.WRONG,
            f"{about}: traces are larger than its memory",
            "a Python of 64 bits, in a new environment (python -m venv)",
            needed=True,
        )
    first, last = _RUN_WITH
    if not first <= here <= last:
        about += "; the rig was run with {}.{} to {}.{}".format(*first, *last)
    return DoctorRow(GROUP, name, RowState.OK, about, needed=True)


def _clock(place: LinuxRoot) -> DoctorRow:
    """Return the clock that stamps the programs of this computer, and how long it takes
    to read it."""
    name = "clock"
    source = place.text(
        place.path("sys/devices/system/clocksource/clocksource0/current_clocksource")
    )
    began_ns = time.monotonic_ns()
    for _ in range(_READS):
        time.monotonic_ns()
    read_s = (time.monotonic_ns() - began_ns) / _READS * 1e-9
    step_s = time.get_clock_info("monotonic").resolution
    detail = (
        f"{source or 'the monotonic one'}, read in {quantity(read_s, 's')}, in steps of"
        f" {quantity(step_s, 's')}"
    )
    if source in _SLOW:
        return DoctorRow(
            GROUP,
            name,
            RowState.WRONG,
            f"{detail}: times of programs on this computer are coarse; a device's own"
            " are not concerned",
            "dmesg names the reason why the processor's own counter (tsc) was rejected;"
            " another computer for [sut.cpu]",
        )
    return DoctorRow(GROUP, name, RowState.OK, detail)


def _time_of_day() -> Iterator[DoctorRow]:
    """Yield whether the network sets the time of day, where systemd knows it: sessions
    are named by it, and no number depends on it."""
    name = "time of day"
    program = shutil.which("timedatectl")
    if program is None:
        return
    well, line = asked([program, "show", "--property=NTPSynchronized", "--value"])
    if not well:
        return
    if line == "yes":
        yield DoctorRow(GROUP, name, RowState.OK, "set by the network")
        return
    yield DoctorRow(
        GROUP,
        name,
        RowState.WRONG,
        "not set by the network: dates of sessions may be wrong, no number is",
        "timedatectl set-ntp true; apt-get install systemd-timesyncd",
    )


def display_row() -> DoctorRow:
    """Return the display of the window."""
    lacking = window_needs.display()
    if lacking is None:
        detail = "none: rig gui cannot open a window here"
        hint = window_needs.DISPLAY_TRY
        return DoctorRow(GROUP, "display", RowState.MISSING, detail, hint)
    return DoctorRow(GROUP, "display", RowState.OK, one_line(lacking))
