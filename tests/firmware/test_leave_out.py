# SPDX-License-Identifier: Apache-2.0
"""LEAVE_OUT: parts that a board has no room for are not in its image, and a name that
does not exist is refused.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builds import FIRMWARE, built_with
from tests.programs import captured

PREFIX = "arm-none-eabi-"
#: Parts that are left out, and a function or words that only they need.
PARTS = {
    "CLASSIC": b"nr_text_parse\0",
    "SELF_TEST": b"nr_self_test\0",
    "OPTIMIZE": b"nr_optimize_window\0",
    "STREAM": b"nr_stream_step\0",
    "WORDS": b"no such slot\0",
}


def bytes_of(image: Path, stripped: Path) -> bytes:
    """Return an image with the names of its functions, without what debuggers want."""
    command = [f"{PREFIX}objcopy", "--strip-debug", str(image), str(stripped)]
    captured(command, check=True)
    return stripped.read_bytes()


def make(folder: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    return captured(["make", "-s", "-C", str(folder), *settings])


@pytest.mark.skipif(
    shutil.which(f"{PREFIX}gcc") is None,
    reason=f"needs {PREFIX}gcc (Debian: gcc-arm-none-eabi)",
)
@pytest.mark.parametrize(
    "left_out",
    # One by one is the longer way to say it.
    [
        (),
        *(pytest.param((name,), marks=pytest.mark.repeats) for name in PARTS),
        tuple(PARTS),
    ],
    ids=lambda names: " ".join(names) or "nothing",
)
def test_what_is_left_out_is_not_in_the_image_and_the_rest_is(
    left_out: tuple[str, ...], tmp_path: Path
) -> None:
    settings = ("BOARDS=nucleo_g071rb", "WORKLOADS=null")
    leave_out = f"LEAVE_OUT={' '.join(left_out)}"
    build = built_with("boards", *settings, leave_out)
    image = bytes_of(build / "nucleo_g071rb" / "null.elf", tmp_path / "symbols")
    assert {name for name, sign in PARTS.items() if sign not in image} == set(left_out)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("folder", [".", "ports/template"])
def test_a_part_that_does_not_exist_is_refused_with_those_that_do(
    folder: str, tmp_path: Path
) -> None:
    done = make(FIRMWARE / folder, f"BUILD={tmp_path}", "LEAVE_OUT=CLASIC")
    assert done.returncode != 0
    assert f"LEAVE_OUT takes {' '.join(PARTS)}" in done.stderr
