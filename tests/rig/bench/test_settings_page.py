# SPDX-License-Identifier: Apache-2.0
"""docs/reference/SETTINGS.md and `rig list SECTION.KIND` state the declarations of the
settings.
"""

from __future__ import annotations

from click.testing import CliRunner

from rig.bench.settings_page import page
from rig.cli.list import list_
from tests.conftest import ROOT


def test_the_page_is_what_the_code_declares() -> None:
    stored = (ROOT / "docs/reference/SETTINGS.md").read_text(encoding="utf-8")
    assert stored == page(), (
        "python -m rig.bench.settings_page > docs/reference/SETTINGS.md"
    )


def test_a_kind_is_listed_with_its_settings() -> None:
    shown = CliRunner().invoke(list_, ["scenario.single_stream"]).output
    assert "idle_s  float, s; default 0.5; above 0, to 3600 s" in shown
    assert "Idle time before the first sample" in shown
    shown = CliRunner().invoke(list_, ["sut.virtual"]).output
    assert "infer.duration_s  float, s; default 0.042; 0 s or more" in shown
    assert (
        "trials  integer, count; default 5"
        in CliRunner().invoke(list_, ["bench"]).output
    )


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do() -> None:
    for name, message in (("sut.nosuch", "one of: cpu"), ("nosuch.uart", "sut.KIND")):
        answer = CliRunner().invoke(list_, [name])
        assert message in str(answer.exception)
