# SPDX-License-Identifier: Apache-2.0
"""Devices that sessions hold: two that hold one device do not run at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.bench import config
from rig.bench.held import Held, held

REST = "[scenario.single_stream]\n[task.null]\n"


def of(sut: str, monitor: str) -> Held:
    return held(config.parsed(f"{sut}\n{monitor}\n{REST}", Path.cwd()))


def uart(port: str) -> str:
    return f'[sut.uart]\nport = "{port}"'


VIRTUAL = "[monitor.virtual]"
ANY = "[monitor.joulescope]"


def joulescope(device: str) -> str:
    return f'[monitor.joulescope]\ndevice = "{device}"'


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        ((uart("/dev/a"), VIRTUAL), (uart("/dev/b"), VIRTUAL), False),
        ((uart("/dev/a"), VIRTUAL), (uart("/dev/a"), VIRTUAL), True),
        ((uart("/dev/a"), ANY), (uart("/dev/b"), ANY), True),
        ((uart("/dev/a"), ANY), (uart("/dev/b"), joulescope("x")), True),
        ((uart("/dev/a"), joulescope("y")), (uart("/dev/b"), joulescope("x")), False),
        ((uart("/dev/a"), joulescope("simulator")), (uart("/dev/b"), ANY), False),
        (
            (uart("/dev/a"), VIRTUAL),
            (uart("/dev/b"), '[monitor.st_lpm01a]\nport = "/dev/a"'),
            True,
        ),
        (("[sut.virtual]", VIRTUAL), ("[sut.virtual]", VIRTUAL), False),
        (("[sut.virtual]", VIRTUAL), ("[sut.cpu]", "[monitor.none]"), True),
    ],
)
def test_what_excludes_what(
    one: tuple[str, str], other: tuple[str, str], excluded: bool
) -> None:
    assert of(*one).excludes(of(*other)) is excluded
    assert of(*other).excludes(of(*one)) is excluded


def test_a_port_of_two_links_is_one(tmp_path: Path) -> None:
    port = tmp_path / "ttyACM0"
    port.touch()
    (tmp_path / "by-id").symlink_to(port)
    mine, its = of(uart(f"{port}"), VIRTUAL), of(uart(f"{tmp_path}/by-id"), VIRTUAL)
    assert mine.excludes(its)


def test_an_emulator_behind_a_port_holds_it_and_a_simulator_holds_nothing() -> None:
    behind = of(uart("/dev/pts/7") + "\nsimulated = true", VIRTUAL)
    assert [device.name for device in behind.devices][-1:] != [""]
    assert not behind.is_free
    assert of("[sut.virtual]", VIRTUAL).is_free
    assert of("[sut.virtual]", joulescope("simulator")).is_free
