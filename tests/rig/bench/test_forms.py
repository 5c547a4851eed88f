# SPDX-License-Identifier: Apache-2.0
"""Forms as plain data: fields from the declarations, values from the file, the command
line's words.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.bench import config
from rig.bench.editing import BenchText
from rig.bench.forms import entered, form_of, from_typed, refusal
from rig.errors import ConfigError
from tests.conftest import ROOT
from tests.rig.bench.test_editing import BENCHES, FOLDER, TEXT


def test_a_form_has_each_part_its_kinds_and_each_setting_with_unit_range_and_help():
    form = form_of(BenchText(TEXT))
    assert [section.place for section in form.sections] == [
        "bench",
        "sut",
        "monitor",
        "scenario",
        "task",
    ]
    monitor = form.sections[2]
    assert monitor.kind == "virtual"
    assert "joulescope" in monitor.kinds
    rate = form.field("monitor.virtual.sample_hz")
    assert (rate.value, rate.shown, rate.unit) == (200_000, "200000", "Hz")
    assert (
        rate.help == "Sampling rate. Allowed: 1000 to 1000000 Hz. Default: 200000 Hz."
    )
    inner = form.field("sut.virtual.infer.power_w")
    assert not inner.is_set
    assert inner.shown == "0.045"


@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_what_a_form_shows_of_an_example_is_accepted_when_it_is_entered(
    path: Path,
) -> None:
    text = BenchText(path.read_text(encoding="utf-8"))
    for section in form_of(text).sections:
        assert section.error == ""
        for field in section.fields:
            assert field.error == ""
            if field.shown:
                assert refusal(field.path, field.setting, field.shown) == "", field.path


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("monitor.virtual.sample_hz", "12"),
        ("monitor.virtual.sample_hz", "fast"),
        ("monitor.virtual.sample_hz", "2.5"),
        ("bench.trials", "0"),
        ("bench.name", ".hidden"),
        ("sut.virtual.infer.duration_s", "-1"),
    ],
)
def test_a_wrong_value_has_the_sentence_of_the_command_line(
    path: str, typed: str, tmp_path: Path
) -> None:
    text = BenchText(TEXT)
    field = form_of(text).field(path)
    output = refusal(path, field.setting, typed)
    bench = tmp_path / "a.toml"
    bench.write_text(TEXT)
    with pytest.raises(ConfigError) as raised:
        config.load(bench, [f"{path}={typed}"])
    cause = raised.value.cause.removeprefix(f"{path}: ")
    assert output == f"{cause}; {raised.value.try_next}"
    # Typed text is kept, and the form shows the error beside it.
    wrong = entered(text, path, field.setting, typed)
    assert form_of(wrong, wrong.problem(FOLDER)).field(path).error == output


def test_two_wrong_values_of_one_part_are_both_said() -> None:
    text = BenchText(TEXT.replace("clock_ppm = 60.0", 'clock_ppm = "a"\ntick_hz = "b"'))
    form = form_of(text, text.problem(FOLDER))
    assert "is not a float" in form.field("sut.virtual.clock_ppm").error
    assert "is not an int" in form.field("sut.virtual.tick_hz").error


def test_an_unknown_key_is_an_error_of_its_part() -> None:
    text = BenchText(TEXT.replace("clock_ppm", "clock_pm"))
    (sut,) = (section for section in form_of(text).sections if section.place == "sut")
    assert "sut.virtual.clock_pm: no such key; did you mean clock_ppm?" in sut.error


def test_typed_values_become_the_files_types() -> None:
    form = form_of(BenchText(TEXT))
    assert from_typed(form.field("sut.virtual.clock_ppm").setting, "3") == 3.0
    assert from_typed(form.field("bench.name").setting, "12") == "12"
    assert entered(
        BenchText(TEXT),
        "sut.virtual.clock_ppm",
        form.field("sut.virtual.clock_ppm").setting,
        " ",
    ).text == (TEXT.replace("clock_ppm = 60.0\n", ""))


def test_what_must_be_given_is_empty_and_reported() -> None:
    text = BenchText(TEXT).with_kind("sut", "uart")
    port = form_of(text, text.problem(FOLDER)).field("sut.uart.port")
    assert (port.shown, port.error[:18]) == ("", "this key is needed")
    assert "It must be given." in port.help


def test_a_text_that_is_no_toml_has_no_form_but_a_problem() -> None:
    text = BenchText("[bench\n")
    form = form_of(text, text.problem(ROOT))
    assert form.sections == ()
    assert form.problem is not None
    assert form.problem.line == 1
