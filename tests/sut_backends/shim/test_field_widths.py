# SPDX-License-Identifier: Apache-2.0
"""The width of a field on the wire is the bound of the setting that ends in it: values
that a request cannot carry are refused when the bench file is read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest

from rig.bench import plugins
from rig.settings.fields import SettingField, fields_of, flat
from sut_backends.shim.messages import requests
from sut_backends.shim.messages.payload import Number, Payload
from tests.commands import rig
from tests.conftest import ROOT


@dataclass(frozen=True, slots=True)
class FromSetting:
    """A setting, and how many of the field's unit one of its own unit is."""

    name: str
    scale: int = 1


_HOLD = FromSetting("sut.uart.sync_hold_us")
_REPEATS = (
    FromSetting("scenario.single_stream.repeat"),
    FromSetting("scenario.tiny.iterations"),
    FromSetting("scenario.offline.min_count"),
)
_IDLES = tuple(
    FromSetting(f"scenario.{kind}.idle_s", 1_000_000)
    for kind in ("single_stream", "offline", "optimization", "real_time", "tiny")
)
_US = 1_000_000
#: Every number of every request: the settings that end in it, or why none does.
SOURCES: dict[str, tuple[FromSetting, ...] | str] = {
    "HELLO.nonce": "random",
    "HELLO.version": "the protocol's",
    "BAUD.baud": (FromSetting("sut.uart.baud"), FromSetting("sut.uart.frame_baud")),
    "SELFTEST.reads": "a constant of the self-test",
    "SELFTEST.repeat": "a constant of the self-test",
    "LOAD.slot": "one that CAPS, of the same width, has",
    "LOAD.length_b": (FromSetting("task.null.payload_b"),),
    "LOAD.crc32": "computed",
    "DATA.offset_b": "below LOAD.length_b",
    "COMMIT.slot": "as of LOAD",
    "RUN.slot": "as of LOAD",
    "RUN.repeat": _REPEATS,
    "RUN.guard_us": (FromSetting("sut.uart.timeout_s", _US),),
    "RUN.hold_us": (_HOLD,),
    "IDLE.duration_us": _IDLES,
    "IDLE.guard_us": "as of RUN",
    "IDLE.hold_us": (_HOLD,),
    "SYNC.count": (FromSetting("sut.uart.sync_count"),),
    "SYNC.period_us": (FromSetting("sut.uart.sync_period_us"),),
    "SYNC.guard_us": "as of RUN",
    "SYNC.hold_us": (_HOLD,),
    "RESULT.offset_b": (
        "below an output's length, which an answer has in the same width"
    ),
    "BATCH.repeat": _REPEATS,
    "BATCH.guard_us": "as of RUN",
    "BATCH.hold_us": (_HOLD,),
    "STREAM.windows": "of a stream of at most an hour, at 1 MHz or less",
    "STREAM.hop": "the scenario refuses one that is longer than the task's window",
    "STREAM.window": "the task's",
    "STREAM.sample_hz": "the task's",
    "STREAM.hold_us": (_HOLD,),
    "TAKE.next": "below STREAM.windows",
    "OPTIMIZE.slot": "as of LOAD",
    "OPTIMIZE.seed": (
        "32 bits are drawn; the scenario refuses seed and attempts beyond them"
    ),
    "OPTIMIZE.timeout_us": (
        FromSetting("scenario.optimization.timeouts_s", _US),
        FromSetting("scenario.optimization.target_limit_s", _US),
    ),
    "OPTIMIZE.target": "a cost of at most 65 535 nodes",
    "OPTIMIZE.guard_us": "as of RUN",
    "OPTIMIZE.hold_us": (_HOLD,),
    "KNEW.first": "below the number of thresholds",
}


def numbers() -> dict[str, str]:
    """Return the struct code of each number in the head of each request."""
    kinds = [
        kind
        for kind in vars(requests).values()
        if isinstance(kind, type)
        and issubclass(kind, Payload)
        and hasattr(kind, "kind")
        if kind.__module__ == requests.__name__
    ]
    widths = {}
    for kind in kinds:
        for name, field in kind.fields:
            if isinstance(field, Number):
                widths[f"{kind.kind.name}.{name}"] = field.head
    return widths


def setting(name: str) -> SettingField:
    section, kind, *rest = name.split(".")
    return dict(flat(fields_of(plugins.find(section, kind).Settings)))[".".join(rest)]


def most(code: str) -> int:
    return int(2 ** (8 * struct.calcsize(f"<{code}"))) - 1


BOUND: list[tuple[str, str]] = []
for _field, _sources in SOURCES.items():
    if not isinstance(_sources, str):
        BOUND += [(_field, _source) for _source in _sources]


def test_every_number_of_every_request_has_its_source_here() -> None:
    assert SOURCES.keys() == numbers().keys()


@pytest.mark.parametrize(
    ("field", "source"), BOUND, ids=lambda each: getattr(each, "name", each)
)
def test_a_setting_is_bounded_by_the_field_that_it_ends_in(
    field: str, source: FromSetting
) -> None:
    allowed = setting(source.name).range
    assert allowed.high is not None and allowed.low is not None
    assert allowed.high * source.scale <= most(numbers()[field])
    assert allowed.low >= 0


def test_more_than_a_field_carries_is_refused_by_plan_as_well() -> None:
    refused = rig("plan", "benches/virtual-null.toml", "--set", _TOO_OFTEN, cwd=ROOT)
    assert refused.returncode == 2
    assert "scenario.single_stream.repeat: 5000000000" in refused.stderr
    assert "1 to 4294967295" in refused.stderr


_TOO_OFTEN = "scenario.single_stream.repeat=5_000_000_000"
