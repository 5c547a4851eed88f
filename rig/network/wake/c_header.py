# SPDX-License-Identifier: Apache-2.0
"""A network of the streaming wake word as the header of the firmware's workload,
nr_sww_model.h: it is run row by row.
"""

from __future__ import annotations

from pathlib import Path

from rig.errors import DataError
from rig.network.sound.mel import BANDS
from rig.network.tflite import network
from rig.network.tflite.c_header import header_of
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.rows import row_by_row, row_size
from rig.network.wake.features import FeatureScale

WORKLOAD = "sww"


def read(path: Path) -> IntegerNetwork:
    """Return the network of a file, row by row; raises DataError where it does not take
    rows of the features.
    """
    derived = row_by_row(network.read(path))
    if row_size(derived) != BANDS:
        raise DataError(
            f"{path.name}: a row of its input has {row_size(derived)} values",
            try_next=f"a model over rows of {BANDS} features",
        )
    return derived


def header(derived: IntegerNetwork, slots: int | None = None) -> str:
    """Return the text of nr_sww_model.h; `slots`: so many hops in the memory of the
    device, unless its Makefile states another number.
    """
    scale = FeatureScale.of(derived.tensors[derived.input])
    defines = (
        f"#define NR_SWW_GAIN {scale.gain}\n"
        f"#define NR_SWW_OFFSET ({scale.offset})\n"
        f"#define NR_SWW_LEAST ({scale.least})\n"
    )
    if slots is not None:
        defines += f"#ifndef NR_SWW_SLOTS\n#define NR_SWW_SLOTS {slots}\n#endif\n"
    return header_of(derived, WORKLOAD, defines)
