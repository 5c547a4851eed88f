# SPDX-License-Identifier: Apache-2.0
"""`rig firmware build --model --stream`: a .tflite file over rows of features put into
a firmware project, where it answers row by row for a signal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from rig.cli.boards.firmware_tflite import MODEL
from rig.cli.boards.room import Needs, fitting
from rig.cli.models.tflite_model import print_network
from rig.cli.printed.terminal import Terminal, say_plain
from rig.errors import ConfigError
from rig.firmware import project as projects
from rig.firmware.model_options import ModelOptions
from rig.firmware.part import BoardMemory
from rig.network.sound.mel import BANDS
from rig.network.tflite.kernels import Kernels
from rig.network.tflite.sizes import sizes, state_of
from rig.network.wake import c_header
from rig.network.wake.features import HOP

#: In a project.
HEADER = Path("workloads/sww/nr_sww_model.h")
WORKLOAD = c_header.WORKLOAD
#: Bytes of the features (firmware/workloads/sww): tables in flash, and memory, with the
#: window of samples, its spectrum and a row.
_TABLES_B = 3200
_MEMORY_B = 2 * (2 * HOP + 1) + 8 * (HOP + 1) + BANDS
#: An emulated UART is too slow to feed a stream.
_PRELOADED = """[scenario.events]
duration_s = 2.5
preloaded = true
"""
_WORK = """{scenario}
[task.sww]
model = "{model}"
# audio = "long_wav.wav"   without it, generated tones and noise: not for this model
# truth = "sww_long_test.json"
"""


def put_sww(
    folder: Path, port: projects.Port, options: ModelOptions, part: BoardMemory | None
) -> None:
    """Print the size of a file's network, row by row, and write it into a project with
    benches; raise ConfigError, and write no file, if the part has no room for it.
    """
    if options.kernels is not Kernels.PORTABLE:
        raise ConfigError(
            f"row by row a model runs with --kernels {Kernels.PORTABLE}",
            path="--kernels",
            try_next="without --kernels",
        )
    if options.payload.is_raw:
        raise ConfigError(
            "a device that takes a signal makes its features itself",
            path="--stream",
            evidence=f"it would take {options.payload.value}",
            try_next="without --real-input and --features",
        )
    derived = c_header.read(options.path)
    needed = sizes(derived)
    print_network(Terminal(), derived, needed)
    say_plain(f"row by row; {state_of(derived):,} B stay from one hop to the next")
    needs = Needs(
        flash_b=needed.constant_b + _TABLES_B,
        memory_b=needed.memory_b + _MEMORY_B,
        input_b=2 * HOP,
        answer_b=needed.output_b,
        largest=f"the features: {_TABLES_B:,} B of flash, {_MEMORY_B:,} of RAM",
        try_next="a larger part, or a smaller model",
    )
    slots = None if part is None else fitting(options.path, needs, part)
    (folder / HEADER).write_text(c_header.header(derived, slots), encoding="utf-8")
    kept = MODEL.with_suffix(options.path.suffix)
    if options.path.resolve() != (folder / kept).resolve():
        shutil.copyfile(options.path, folder / kept)
    work = _WORK.format(scenario="[scenario.events]\n", model=kept)
    emulated = _WORK.format(scenario=_PRELOADED, model=kept)
    projects.write_benches(folder, WORKLOAD, work, port, emulated=emulated)
