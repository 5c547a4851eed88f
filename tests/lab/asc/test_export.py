# SPDX-License-Identifier: Apache-2.0
"""The firmware's model header equals the generator's output for the shipped NIR file."""

from __future__ import annotations

from pathlib import Path

from lab.asc.export import SHIPPED_HEADER, SHIPPED_MODEL, header, main
from scenarios.tasks.asc.nirfile import read_model


def test_the_committed_header_is_that_of_the_shipped_model() -> None:
    made = header(read_model(SHIPPED_MODEL))
    assert SHIPPED_HEADER.read_text(encoding="utf-8") == made, (
        "run python -m lab.asc.export"
    )


def test_the_header_names_model_and_hash() -> None:
    model = read_model(SHIPPED_MODEL)
    text = header(model)
    assert f'#define NR_ASC_MODEL "{model.identity}"' in text
    assert model.sha256 in text
    assert "Generated" in text.splitlines()[1]


def test_the_command_writes_the_header(tmp_path: Path) -> None:
    main([str(SHIPPED_MODEL), str(tmp_path / "model.h")])
    assert (tmp_path / "model.h").read_bytes() == SHIPPED_HEADER.read_bytes()


def test_the_weights_leave_room_in_a_small_device() -> None:
    assert (
        sum(layer.weight.size for layer in read_model(SHIPPED_MODEL).layers) < 64 * 1024
    )
