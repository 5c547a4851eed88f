# SPDX-License-Identifier: Apache-2.0
"""For any number in a bench file, `rig plan` answers with a plan or an error of the
rig, within seconds and some gigabytes.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.bench import plugins
from rig.bench.config import BenchSettings
from rig.cli.main import rig
from rig.errors import RigError
from rig.settings.fields import REQUIRED, SettingField, fields_of, flat
from tests.conftest import ROOT
from tests.length import length

#: Of processor time; the longest plan takes about three seconds.
_LIMIT_S = 30.0
_MORE_B = 4 << 30
#: The bench that a kind is tried with; another one of its section takes the place of
#: that one's.
_BENCHES = {
    "scenario.offline": "virtual-offline",
    "scenario.optimization": "virtual-qubo",
    "scenario.real_time": "virtual-real-time",
    "scenario.tiny": "virtual-tiny",
    "task.asc": "virtual-asc",
    "task.mlperf_tiny": "virtual-tiny",
    "task.network": "cpu-network-virtual",
    "task.qubo": "virtual-qubo",
    "task.tflite": "cpu-tflite-virtual",
}
#: Other values of these have data generated, which takes minutes.
_MAKES_DATA = {
    *("task.asc.seed", "task.asc.files_per_class"),
    *("task.mlperf_tiny.seed", "task.mlperf_tiny.files"),
}


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric setting by its name, with its field, and what else has to be given."""

    name: str
    field: SettingField
    needed: tuple[str, ...] = ()

    @property
    def bench(self) -> str:
        """Return the bench that it is tried with."""
        kind = ".".join(self.name.split(".")[:2])
        return str(ROOT / "benches" / f"{_BENCHES.get(kind, 'virtual-null')}.toml")


def numbers() -> Iterator[Number]:
    for name, field in flat(fields_of(BenchSettings), "bench."):
        if field.is_number:
            yield Number(name, field)
    for section in plugins.GROUPS:
        for kind in plugins.names(section):
            fields = fields_of(plugins.find(section, kind).Settings)
            position = f"{section}.{kind}."
            needed = tuple(
                f"{position}{each.name}=x"
                for each in fields
                if each.default is REQUIRED
            )
            for name, field in flat(fields, position):
                if field.is_number:
                    yield Number(name, field, needed)


NUMBERS = list(numbers())
_POWERS = [0, 1, 2**15, 2**16, 2**31, 2**32, 2**53, 2**63, 2**64, 10**12, 10**30]
_WHOLE = [
    sign * (power + by) for power, by, sign in product(_POWERS, (-1, 0, 1), (-1, 1))
]
_FRACTIONS = [0.0, 5e-324, 1e-300, 1e-12, 0.5, 1e6, 1e12, 1e15, 1.7e308]


@st.composite
def given_numbers(draw: st.DrawFn) -> tuple[Number, str]:
    number = draw(st.sampled_from(NUMBERS))
    allowed = number.field.range
    bounds = [each for each in (allowed.low, allowed.high) if each is not None]
    if number.field.type.endswith("integer"):
        near = [int(bound) + by for bound, by in product(bounds, (-1, 0, 1))]
        value = str(draw(st.sampled_from([*near, *_WHOLE]) | st.integers()))
    else:
        edges = [*map(float, bounds), *_FRACTIONS, *(-each for each in _FRACTIONS)]
        drawn = draw(
            st.sampled_from(edges) | st.floats(allow_infinity=False, allow_nan=False)
        )
        value = repr(drawn)
    return number, f"[{value}]" if number.field.is_array else value


@pytest.fixture
def bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test take so much more memory."""
    monkeypatch.chdir(tmp_path)
    used_b = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used_b + _MORE_B, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def planned(number: Number, value: str) -> None:
    """Plan with one number; raises errors that are not the rig's."""
    words = [f"--set={each}" for each in (*number.needed, f"{number.name}={value}")]
    began_s = time.process_time()
    try:
        rig.main(["plan", number.bench, *words], standalone_mode=False)
    except RigError as error:
        assert error.cause and error.try_next
    assert time.process_time() - began_s < _LIMIT_S


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_any_number_of_any_setting_gives_a_plan_or_an_error(
    bounded: None, capsys: pytest.CaptureFixture[str]
) -> None:
    @settings(max_examples=length(400, 100))
    @given(given_numbers())
    def check(drawn: tuple[Number, str]) -> None:
        number, value = drawn
        if number.name in _MAKES_DATA and number.field.allows(int(value)):
            return
        planned(number, value)

    check()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task.null.payload_b", "1_000_000_000_000"),
        ("task.null.payload_b", "268_435_456"),
        ("task.null.samples", "2_147_483_648"),
        ("task.null.samples", "9_223_372_036_854_775_808"),
        ("task.asc.seed", "-1"),
        ("scenario.single_stream.repeat", "5_000_000_000"),
    ],
)
def test_numbers_that_once_broke_a_plan_are_refused_by_their_names(
    bounded: None, name: str, value: str
) -> None:
    number = next(each for each in NUMBERS if each.name == name)
    with pytest.raises(RigError, match=name):
        rig.main(["plan", number.bench, f"--set={name}={value}"], standalone_mode=False)
