# SPDX-License-Identifier: Apache-2.0
"""CMSIS-NN where its folder is named, and the firmware's network with it as a library
of this host.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from rig.firmware import cmsis_nn
from tests.builds import FIRMWARE

VARIABLE = "CMSIS_NN"


def folder() -> Path:
    """Return the library's folder; skip the test where none is named."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"{VARIABLE} names no folder of CMSIS-NN ({cmsis_nn.FETCH})")
    return Path(named)


def library(made: Path) -> ctypes.CDLL:
    """Compile the firmware's network with CMSIS-NN in place of its own products."""
    (made / "nr_tflite_cmsis_nn.h").write_text(cmsis_nn.read(folder()).text, "utf-8")
    sources = FIRMWARE.glob("workloads/tflite/*.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    path = made / "library.so"
    subprocess.run(
        [
            *("cc", *flags, "-O1", "-g", "-fPIC", "-shared", "-DNR_TFLITE_CMSIS_NN=1"),
            *(f"-I{made}", "-o", str(path)),
            *(str(each) for each in sources if "workload" not in each.name),
        ],
        check=True,
    )
    return ctypes.CDLL(str(path))
