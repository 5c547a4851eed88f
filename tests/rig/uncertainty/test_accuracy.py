# SPDX-License-Identifier: Apache-2.0
"""A calibration file is read exactly or refused: each fault is named with its file and
key; old sessions stay readable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.errors import ConfigError, DataError
from rig.files import typed
from rig.session.session import SessionResult
from rig.uncertainty.accuracy import Accuracy, Range, load

GOOD: dict[str, str] = {
    "source": '"certificate 17"',
    "year": "2026",
    "verified": "true",
    "clock_ppm": "2.0",
    "edge_s": "1e-7",
    "current": (
        "[{up_to = 1, gain = 0.001, offset = 0}, {up_to = 10.0, gain = 0.01, offset ="
        " 0.0}]"
    ),
    "voltage": "[{up_to = 15.0, gain = 0.0, offset = 0.001}]",
}


def written(folder: Path, **changes: str) -> Path:
    path = folder / "c.toml"
    path.write_text(
        "".join(
            f"{key} = {value}\n" for key, value in (GOOD | changes).items() if value
        )
    )
    return path


def current(text: str) -> dict[str, str]:
    return {"current": f"[{{{text}}}]"}


def test_whole_numbers_are_taken_where_fractions_are_due(tmp_path: Path) -> None:
    result = load(written(tmp_path, clock_ppm="2", edge_s="0"))
    assert result == Accuracy(
        (Range(1.0, 0.001, 0.0), Range(10.0, 0.01, 0.0)),
        (Range(15.0, 0.0, 0.001),),
        2.0,
        "certificate 17",
        year=2026,
        verified=True,
    )
    assert isinstance(result.clock_ppm, float) and isinstance(
        result.current[0].up_to, float
    )


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"verified": '"false"'}, "verified", "'false' is not true or false"),
        ({"verified": "1"}, "verified", "1 is not true or false"),
        ({"year": "2020.7"}, "year", "2020.7 is not a whole number"),
        ({"year": "true"}, "year", "True is not a whole number"),
        ({"source": "17"}, "source", "17 is not a text"),
        ({"source": ""}, "source", "this key is needed"),
        ({"clock_ppm": '"2.0"'}, "clock_ppm", "'2.0' is not a number"),
        ({"clock_ppm": "nan"}, "clock_ppm", "nan"),
        ({"clock_ppm": "inf"}, "clock_ppm", "inf"),
        ({"clock_ppm": "1" + "0" * 400}, "clock_ppm", "0 or more"),
        ({"edge_s": "1e308"}, "edge_s", "1e+308"),
        ({"clock_ppm": "-1000.0"}, "clock_ppm", "-1000.0"),
        ({"edge_s": "nan"}, "edge_s", "nan"),
        ({"edge_s": "-1.0"}, "edge_s", "-1.0"),
        (
            current("up_to = 1.0, gain = true, offset = 0.0"),
            "current[0].gain",
            "True is not a number",
        ),
        (
            current('up_to = 1.0, gain = "0.01", offset = 0.0'),
            "current[0].gain",
            "'0.01' is not a number",
        ),
        (
            current("up_to = 1.0, gain = -0.01, offset = 0.0"),
            "current[0].gain",
            "-0.01",
        ),
        (
            current("up_to = 1.0, gain = 0.01"),
            "current[0].offset",
            "this key is needed",
        ),
        (
            current("up_to = 1.0, gain = 0.01, offset = 0.0, bias = 1.0"),
            "current[0].bias",
            "no such key",
        ),
        (current("up_to = 0.0, gain = 0.01, offset = 0.0"), "current[0].up_to", "0.0"),
        (current("up_to = inf, gain = 0.01, offset = 0.0"), "current[0].up_to", "inf"),
        (
            current(
                "up_to = 1.0, gain = 0.0, offset = 0.0}, {up_to = nan, gain = 0.0,"
                " offset = 0.0"
            ),
            "current[1].up_to",
            "nan",
        ),
        (
            current(
                "up_to = 1.0, gain = 0.0, offset = 0.0}, {up_to = 1.0, gain = 0.5,"
                " offset = 0.0"
            ),
            "current",
            "[1.0, 1.0]",
        ),
        (
            current(
                "up_to = 2.0, gain = 0.0, offset = 0.0}, {up_to = 1.0, gain = 0.5,"
                " offset = 0.0"
            ),
            "current",
            "[2.0, 1.0]",
        ),
        ({"voltage": "[]"}, "voltage", "no ranges"),
        (
            {"voltage": "{up_to = 15.0, gain = 0.0, offset = 0.001}"},
            "voltage",
            "[[voltage]]",
        ),
        ({"current": '"abc"'}, "current", "[[current]]"),
        ({"current": "[1.0]"}, "current", "[[current]]"),
        ({"distribution": '"uniform"'}, "distribution", "'uniform'"),
        ({"bias": "1"}, "bias", "no such key"),
    ],
)
def test_a_fault_of_a_calibration_file_is_named_with_its_file_and_key(
    tmp_path: Path, changes: dict[str, str], key: str, said: str
) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(ConfigError) as caught:
        load(path)
    error = caught.value
    assert error.cause.startswith(f"{path}: {key}: ") and said in str(error)
    assert error.try_next and "the key's type and limits" not in error.try_next
    assert "attribute" not in str(error)


def test_a_calibration_file_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        load(tmp_path / "no.toml")
    assert "docs/explanation/UNCERTAINTY.md" in caught.value.try_next


def test_a_run_is_refused_before_it_begins_when_its_calibration_has_a_limit_that_is_no_number(
    run_virtual: Callable[..., SessionResult], tmp_path: Path
) -> None:
    path = written(tmp_path, clock_ppm="nan")
    with pytest.raises(ConfigError, match="clock_ppm"):
        run_virtual(f"monitor.virtual.calibration={path}")


OLD: dict[str, Any] = {
    "current": [
        {"up_to": 1, "gain": 0.001, "offset": 0},
        {"up_to": 1.0, "gain": 0.5, "offset": 0.0},
    ],
    "voltage": [{"up_to": 15.0, "gain": 0.0, "offset": 0.0}],
    "clock_ppm": -1000,
    "source": "a calibration file that an earlier version took",
}


def test_what_earlier_versions_stored_of_an_accuracy_is_still_read() -> None:
    # They took equal ranges and limits below 0, and had neither year, verified,
    # distribution nor edge_s at first.
    result = typed.from_json(Accuracy, json.loads(json.dumps(OLD)), "an accuracy")
    assert (result.clock_ppm, result.year, result.edge_s) == (-1000.0, 0, 0.0) and len(
        result.current
    ) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"current": "abc"},
        {"current": []},
        {"distribution": "flat"},
        {"unknown": 1},
        {"source": None},
    ],
)
def test_a_stored_accuracy_of_another_form_is_an_error_of_the_data(
    change: dict[str, Any],
) -> None:
    content = {key: value for key, value in (OLD | change).items() if value is not None}
    with pytest.raises(DataError, match="an accuracy is not of the form"):
        typed.from_json(Accuracy, content, "an accuracy")
