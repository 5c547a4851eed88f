# SPDX-License-Identifier: Apache-2.0
"""Values as TOML, and names of files in the benches that commands write."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.bench import forms
from rig.cli.boards.firmware_tflite import put_tflite
from rig.files import toml_text
from rig.firmware import project as projects
from rig.firmware.model_options import ModelOptions
from rig.settings.fields import SettingField
from scenarios.tasks.tflite.task import EXAMPLE


@given(st.text() | st.integers() | st.booleans() | st.lists(st.text()))
def test_a_value_is_read_as_it_was(value: Any) -> None:
    assert tomllib.loads(f"a = {toml_text.of_value(value)}") == {"a": value}


def test_texts_that_a_form_shows_are_read_again() -> None:
    setting = SettingField("names", "array of string", ())
    names = ["a\U0001f600", 'b "c"']
    assert forms.from_typed(setting, forms.as_typed(setting, names)) == names


def test_inputs_of_any_name_are_in_a_bench_that_loads(tmp_path: Path) -> None:
    pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")
    inputs = tmp_path / 'a\U0001f600 "b".npy'
    np.save(inputs, np.zeros((1, 12, 12, 1), np.int8))
    port = projects.create(tmp_path / "board", "posix", projects.sources())
    options = ModelOptions(path=EXAMPLE, inputs=inputs)
    put_tflite(tmp_path / "board", port, options, None)
    bench = tomllib.loads((tmp_path / "board" / "tflite.toml").read_text("utf-8"))
    assert bench["task"]["tflite"]["inputs"] == f"../{inputs.name}"
