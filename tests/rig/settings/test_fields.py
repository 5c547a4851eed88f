# SPDX-License-Identifier: Apache-2.0
"""Every setting of every installed plug-in has a description, for documentation and
forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from rig.bench import plugins
from rig.bench.config import BenchSettings
from rig.settings.check import violations
from rig.settings.declare import UNITLESS
from rig.settings.fields import REQUIRED, SettingField, fields_of

KINDS: list[tuple[str, str]] = []
for _section in plugins.GROUPS:
    KINDS += [(_section, _kind) for _kind in plugins.names(_section)]
UNITS = {
    *UNITLESS,
    "A",
    "B",
    "Bd",
    "Hz",
    "V",
    "W",
    "cost",
    "ns",
    "ohm",
    "ppm",
    "s",
    "ticks",
    "us",
}


def settings_of(section: str, kind: str) -> type:
    result: type = plugins.find(section, kind).Settings
    return result


def every(
    fields: Sequence[SettingField], path: str
) -> Iterator[tuple[str, SettingField]]:
    """Yield all fields with their paths, those of tables inside too."""
    for field in fields:
        yield f"{path}.{field.name}", field
        yield from every(field.nested, f"{path}.{field.name}")


@pytest.mark.parametrize(("section", "kind"), KINDS)
def test_every_field_has_help_and_every_number_a_unit(section: str, kind: str) -> None:
    for path, field in every(
        fields_of(settings_of(section, kind)), f"{section}.{kind}"
    ):
        assert field.help.endswith((".", "?")), path
        assert len(field.help) <= 100 and "\n" not in field.help, path
        assert bool(field.unit) == field.is_number, (
            f"{path} has the unit {field.unit!r}"
        )
        assert not field.unit or field.unit in UNITS, path
        assert not field.nested or field.type in ("table", "array of table"), path


@pytest.mark.parametrize(("section", "kind"), KINDS)
def test_a_unit_in_a_name_is_the_declared_one(section: str, kind: str) -> None:
    suffixes = {
        "s": "s",
        "hz": "Hz",
        "v": "V",
        "a": "A",
        "w": "W",
        "ppm": "ppm",
        "us": "us",
    }
    suffixes |= {"ns": "ns", "b": "B", "baud": "Bd", "ticks": "ticks", "tick": "ticks"}
    for path, field in every(fields_of(settings_of(section, kind)), ""):
        suffix = field.name.rpartition("_")[2]
        if field.is_number and "_" in field.name and suffix in suffixes:
            assert field.unit == suffixes[suffix], path


@pytest.mark.parametrize(("section", "kind"), KINDS)
def test_every_default_is_in_its_own_range(section: str, kind: str) -> None:
    settings = settings_of(section, kind)
    given = {
        field.name: next(iter(field.choices), "x")
        for field in fields_of(settings)
        if field.default is REQUIRED
    }
    assert not list(violations(settings(**given), f"{section}.{kind}"))


def test_the_bench_itself_is_described_too() -> None:
    assert [(field.name, field.unit) for field in fields_of(BenchSettings)] == [
        ("name", ""),
        ("trials", "count"),
        ("seed", "number"),
        ("between_windows", ""),
    ]
    assert all(field.help for field in fields_of(BenchSettings))


def test_a_nested_table_has_the_defaults_of_its_place() -> None:
    fields = {field.name: field for field in fields_of(settings_of("sut", "virtual"))}
    durations_s = {}
    for name in ("preprocess", "infer"):
        parts = {part.name: part for part in fields[name].nested}
        durations_s[name] = parts["duration_s"].default
    assert durations_s == {"preprocess": 0.018, "infer": 0.042}


@pytest.mark.parametrize(("section", "kind"), KINDS)
def test_a_power_a_rate_or_a_count_below_zero_is_refused(
    section: str, kind: str
) -> None:
    checked_by_driver = ".sample_hz"  # by the list of the rates that a board offers
    fields = every(fields_of(settings_of(section, kind)), f"{section}.{kind}")
    for path, field in fields:
        is_limit = "_limit" in field.name and field.unit != "A"
        if not (is_limit or field.unit in ("W", "Hz", "count")):
            continue
        is_refused = not field.range.holds(-0.5) and not field.range.holds(-1)
        sentinel = any(other.value == -1 for other in field.range.besides)
        assert is_refused or sentinel or path.endswith(checked_by_driver), path
