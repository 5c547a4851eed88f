# SPDX-License-Identifier: Apache-2.0
"""`rig firmware build --model`: a .tflite file put into a firmware project, if its part
has room.
"""

from __future__ import annotations

from pathlib import Path

from rig.cli.boards.room import Needs, fitting
from rig.cli.models.tflite_model import print_network
from rig.cli.printed.terminal import Terminal
from rig.errors import ConfigError
from rig.firmware.part import BoardMemory
from rig.network.tflite import network
from rig.network.tflite.c_header import header
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.sizes import Sizes, sizes

#: In a project.
HEADER = Path("workloads/tflite/nr_tflite_model.h")
WORKLOAD = "tflite"
#: A batch's answers have 64 KiB for 16 slots in a process (ports/posix/main.c).
_ANSWER_B_MAX = 4096


def put_tflite(folder: Path, path: Path, part: BoardMemory | None) -> IntegerNetwork:
    """Print the size of a file's network and write it into a project; raise
    ConfigError, and write no file, if the part has no room for it.
    """
    read = network.read(path)
    found = sizes(read)
    print_network(Terminal(), read, found)
    slots = None if part is None else fitting(path, _needs(found), part)
    if found.output_b > _ANSWER_B_MAX:
        raise ConfigError(
            f"{path} gives {found.output_b:,} values, a device answers"
            f" {_ANSWER_B_MAX:,} at most",
            path="--model",
            try_next="a model with a smaller output",
        )
    (folder / HEADER).write_text(header(read, slots), encoding="utf-8")
    return read


def _needs(found: Sizes) -> Needs:
    largest = "; ".join(
        f"{each.name}: {each.constant_b:,} B of flash, {each.tensor_b:,} of RAM"
        for each in found.largest()
    )
    return Needs(
        flash_b=found.constant_b,
        memory_b=found.memory_b,
        input_b=found.input_b,
        answer_b=found.output_b,
        largest=f"the largest operators: {largest}",
        try_next=f"a larger part, or a smaller model (an input is {found.input_b:,} B)",
    )
