# SPDX-License-Identifier: Apache-2.0
"""Settings outside what their fields declare are refused, with the key, the value and
the range."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MultipleOf, Unit, doc

from rig.errors import ConfigError
from rig.settings.check import checked, violations
from rig.settings.declare import PATH, Count, Matches, Or, PathText, Ratio, Why
from rig.settings.fields import REQUIRED, fields_of
from rig.settings.ranges import SettingRange, number

BEYOND = "no number of a bench is beyond 1e+12"


@dataclass(frozen=True, slots=True)
class InnerTable:
    gain: Annotated[Ratio, Interval(gt=-1, lt=1), doc("Its error.")] = 0.0
    step: Annotated[Count, MultipleOf(4), doc("Its step.")] = 4


@dataclass(frozen=True, slots=True)
class Settings:
    port: Annotated[str, Len(1), doc("Where it is.")]
    idle_s: Annotated[float, Interval(gt=0, le=60), Unit("s"), doc("Idle time.")] = 0.5
    hop_s: Annotated[
        float, Or(0, "half"), Ge(1e-6), Lt(2), Unit("s"), doc("A hop.")
    ] = 0.0
    gaps: tuple[Annotated[Ratio, Ge(0), Why("they are shares")], ...] = (0.0,)
    mode: Annotated[Literal["a", "b"], doc("How.")] = "a"
    name: Annotated[str, Matches("[a-z]*", "small letters"), doc("Its name.")] = ""
    file: Annotated[PathText, doc("A file.")] = ""
    inner: Annotated[InnerTable, doc("What is inside.")] = field(
        default_factory=lambda: InnerTable(0.25)
    )


def test_what_is_allowed_passes() -> None:
    checked(Settings("p"), "sut.x")
    checked(
        Settings(
            "p",
            60.0,
            1e-6,
            (),
            mode="b",
            name="abc",
            file="f",
            inner=InnerTable(-0.5, 8),
        ),
        "sut.x",
    )


@pytest.mark.parametrize(
    ("changed", "path", "value", "allowed"),
    [
        ({"port": ""}, "sut.x.port", "''", "1 or more characters"),
        ({"idle_s": 0.0}, "sut.x.idle_s", "0 s", "above 0, to 60 s"),
        ({"idle_s": 60.5}, "sut.x.idle_s", "60.5 s", "above 0, to 60 s"),
        ({"idle_s": math.nan}, "sut.x.idle_s", "nan s", "above 0, to 60 s"),
        ({"idle_s": math.inf}, "sut.x.idle_s", "inf s", "above 0, to 60 s"),
        (
            {"hop_s": 1e-7},
            "sut.x.hop_s",
            "1e-7 s",
            "0: half; or 1e-6 or more, below 2 s",
        ),
        ({"hop_s": 2.0}, "sut.x.hop_s", "2 s", "0: half; or 1e-6 or more, below 2 s"),
        (
            {"gaps": (0.1, -0.1)},
            "sut.x.gaps",
            "[0.1, -0.1]",
            "0 or more each: they are shares",
        ),
        (
            {"gaps": (math.nan,)},
            "sut.x.gaps",
            "[nan]",
            "0 or more each: they are shares",
        ),
        (
            {"gaps": (1e308,)},
            "sut.x.gaps",
            "[1e+308]",
            f"0 or more each: they are shares; {BEYOND}",
        ),
        (
            {"inner": InnerTable(-1e308)},
            "sut.x.inner.gain",
            "-1e+308",
            f"above -1, below 1; {BEYOND}",
        ),
        (
            {"inner": InnerTable(step=4 * 10**400)},
            "sut.x.inner.step",
            f"{4 * 10**400}",
            f"a multiple of 4; no whole number of a bench is beyond {2**64}",
        ),
        ({"mode": "c"}, "sut.x.mode", "'c'", '"a" or "b"'),
        ({"name": "Name"}, "sut.x.name", "'Name'", "small letters"),
        ({"inner": InnerTable(1.0)}, "sut.x.inner.gain", "1", "above -1, below 1"),
        ({"inner": InnerTable(step=6)}, "sut.x.inner.step", "6", "a multiple of 4"),
    ],
)
def test_a_value_outside_is_refused_with_key_and_range(
    changed: dict[str, object], path: str, value: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(Settings(**({"port": "p"} | changed)), "sut.x")  # type: ignore[arg-type]
    assert caught.value.path == path
    assert caught.value.cause == f"{path}: {value}"
    assert caught.value.try_next == allowed
    assert not caught.value.evidence


def test_all_that_is_outside_is_reported_at_once() -> None:
    wrong = Settings("", -1.0, inner=InnerTable(2.0))
    paths = [violation.path for violation in violations(wrong, "x")]
    assert paths == ["x.port", "x.idle_s", "x.inner.gain"]
    with pytest.raises(
        ConfigError, match=r"also x\.idle_s: -1 s, allowed: above 0, to 60 s; x\.i"
    ):
        checked(wrong, "x")


def test_a_number_without_a_declared_range_is_finite() -> None:
    @dataclass(frozen=True, slots=True)
    class Plain:
        gain: float = 0.0

    checked(Plain(-1e11), "x")
    with pytest.raises(ConfigError) as caught:
        checked(Plain(-1e300), "x")
    assert caught.value.try_next == BEYOND
    with pytest.raises(ConfigError, match="a finite number"):
        checked(Plain(math.inf), "x")


def test_fields_say_what_they_are() -> None:
    port, idle, hop, gaps, mode, name, file, inner = fields_of(Settings)
    assert (port.type, port.default, port.help) == ("string", REQUIRED, "Where it is.")
    assert (idle.type, idle.unit, idle.default) == ("float", "s", 0.5)
    assert idle.range == SettingRange(0, 60, low_open=True)
    assert [other.value for other in hop.range.besides] == [0]
    assert (gaps.type, gaps.is_array, gaps.unit) == ("array of float", True, "1")
    assert mode.choices == ("a", "b")
    assert name.form is not None
    assert name.form.meaning == "small letters"
    assert file.type == PATH
    assert inner.type == "table"
    assert [(part.name, part.default) for part in inner.nested] == [
        ("gain", 0.25),
        ("step", 4),
    ]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ((Ge(1),), "1 s or more"),
        ((Gt(1),), "above 1 s"),
        ((Le(1),), "1 s or less"),
        ((Lt(1),), "below 1 s"),
        ((Ge(0.1), Le(10)), "0.1 to 10 s"),
        ((Gt(0), Le(10)), "above 0, to 10 s"),
        ((Ge(0), Lt(10)), "0 or more, below 10 s"),
        ((Gt(0), Lt(10)), "above 0, below 10 s"),
        ((), ""),
    ],
)
def test_a_range_in_words(declared: tuple[object, ...], words: str) -> None:
    assert SettingRange.of(declared).text("s") == words


def test_numbers_as_a_person_writes_them() -> None:
    values = (1_000_000, 2.0, 0.05, 1e-6, 1.5e-6, 1e12, 0.1 + 0.2, 4294967295)
    words = [
        "1000000",
        "2",
        "0.05",
        "1e-6",
        "1.5e-6",
        "1e+12",
        "0.30000000000000004",
        "4294967295",
    ]
    assert [number(value) for value in values] == words
