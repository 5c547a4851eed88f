# SPDX-License-Identifier: Apache-2.0
"""`rig firmware build --model`: a .tflite file put into a firmware project, if its part
has room.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from rig.cli.boards.room import Needs, fitting
from rig.cli.models.tflite_model import print_network
from rig.cli.printed.terminal import Terminal
from rig.errors import ConfigError
from rig.files import toml_text
from rig.firmware import cmsis_nn
from rig.firmware import project as projects
from rig.firmware.model_options import ModelOptions
from rig.firmware.part import BoardMemory
from rig.network.array_file import array_of
from rig.network.tflite import network
from rig.network.tflite.c_header import header
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.inputs import require_fit, to_payloads
from rig.network.tflite.kernels import Kernels
from rig.network.tflite.payloads import PayloadForm
from rig.network.tflite.real_input import REAL_B
from rig.network.tflite.sizes import IntegerSizes, sizes, with_payload

#: In a project.
HEADER = Path("workloads/tflite/nr_tflite_model.h")
MODEL = Path("model")
#: The workload, and the task that measures it.
WORKLOAD = "tflite"
_WORK = """[scenario.single_stream]

[task.tflite]
model = "{model}"
{inputs}
# labels = "labels.npy"   without them, the bytes of the rig's interpreter are right
# source = "generated ..."   where the samples come from: results say it
"""
_RANDOM = '# inputs = "inputs.npy"   without them, generated ones'
#: In a bench, of a device that makes its input.
_STATED = {
    PayloadForm.VALUES: "",
    PayloadForm.REALS: "\nreal_input = true",
    PayloadForm.MFCC: '\nfeatures = "mfcc"',
}
#: A batch's answers have 64 KiB for 16 slots in a process (ports/posix/main.c).
_ANSWER_B_MAX = 4096


def put_tflite(
    folder: Path, port: projects.Port, options: ModelOptions, part: BoardMemory | None
) -> IntegerNetwork:
    """Print the size of a file's network and write it into a project, with its kernels
    and benches for its inputs; raise ConfigError, and write no file, if the part has no
    room for it. Of real numbers the answer is how far the output is from them
    (rig/network/tflite/distance.py), which no such bench measures.
    """
    path, inputs, kernels = options.path, options.inputs, options.kernels
    reals = options.reals
    library = _library(folder, port, options)
    read = network.read(path)
    needed = sizes(read, kernels)
    payload = options.payload
    require_fit(read, payload)
    needed = with_payload(needed, read, PayloadForm.REALS if reals else payload)
    if inputs is not None:
        to_payloads(read, payload, array_of(inputs))
    print_network(Terminal(), read, needed)
    slots = None if part is None else fitting(path, _needs(needed, reals=reals), part)
    if needed.output_b > _ANSWER_B_MAX:
        raise ConfigError(
            f"{path} gives {needed.output_b:,} values, a device answers"
            f" {_ANSWER_B_MAX:,} at most",
            path="--model",
            try_next="a model with a smaller output",
        )
    text = header(read, slots, kernels, payload=payload, reals=reals)
    (folder / HEADER).write_text(text, encoding="utf-8")
    cmsis_nn.put(folder, projects.sources(), library)
    kept = MODEL.with_suffix(path.suffix)
    if path.resolve() != (folder / kept).resolve():
        shutil.copyfile(path, folder / kept)
    if reals:
        return read
    stated = _RANDOM
    if inputs is not None:
        where = os.path.relpath(inputs.resolve(), folder.resolve())
        stated = f"inputs = {toml_text.of_value(where)}"
    stated += _STATED[payload]
    work = _WORK.format(model=kept, inputs=stated)
    projects.write_benches(folder, WORKLOAD, work, port)
    return read


def _library(
    folder: Path, port: projects.Port, options: ModelOptions
) -> cmsis_nn.LibrarySources | None:
    """Return the sources of the chosen kernels, None for those that the firmware has;
    raises ConfigError where there are none, or for a processor that has none.
    """
    if options.kernels is not Kernels.CMSIS_NN:
        return None
    if not (port.compiler.startswith("arm-") or port.goals):
        known = projects.ports(projects.sources())
        name = next((name for name, each in known.items() if each == port), "another")
        raise ConfigError(
            "CMSIS-NN is for Arm's Cortex-M, and for a process of this computer",
            path="--kernels",
            evidence=f"{folder} is a project of the port {name}: {port.about}",
            try_next=f"--kernels {Kernels.PORTABLE}, which any compiler takes",
        )
    if options.library is None:
        raise ConfigError(
            f"--kernels {options.kernels} wants the folder of its sources",
            path="--cmsis-nn",
            try_next=f"{cmsis_nn.FETCH}, then --cmsis-nn CMSIS-NN",
        )
    return cmsis_nn.read(options.library)


def _needs(needed: IntegerSizes, *, reals: bool) -> Needs:
    largest = "; ".join(
        f"{each.name}: {each.constant_b:,} B of flash, {each.tensor_b:,} of RAM"
        for each in needed.largest()
    )
    return Needs(
        flash_b=needed.constant_b + needed.code_b,
        memory_b=needed.memory_b,
        input_b=needed.input_b,
        answer_b=REAL_B if reals else needed.output_b,
        largest=f"the largest operators: {largest}",
        try_next=(
            f"a larger part, or a smaller model (an input is {needed.input_b:,} B)"
        ),
    )
