# SPDX-License-Identifier: Apache-2.0
"""CMSIS-NN's sources as one header, which a project's kernels include: it builds
without the library's folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rig.errors import ConfigError
from rig.files import foreign_files

FETCH = "git clone --depth 1 https://github.com/ARM-software/CMSIS-NN"
#: In the firmware's folder: who multiplies, as shipped the firmware itself.
KERNELS = Path("workloads/tflite/nr_tflite_kernels.h")
#: In the folder of the library: products of int8 by weights, and their callees.
SOURCES = (
    "ConvolutionFunctions/arm_convolve_wrapper_s8.c",
    "ConvolutionFunctions/arm_convolve_1_x_n_s8.c",
    "ConvolutionFunctions/arm_convolve_1x1_s8.c",
    "ConvolutionFunctions/arm_convolve_1x1_s8_fast.c",
    "ConvolutionFunctions/arm_convolve_get_buffer_sizes_s8.c",
    "ConvolutionFunctions/arm_convolve_s8.c",
    "ConvolutionFunctions/arm_depthwise_conv_3x3_s8.c",
    "ConvolutionFunctions/arm_depthwise_conv_get_buffer_sizes_s8.c",
    "ConvolutionFunctions/arm_depthwise_conv_s8.c",
    "ConvolutionFunctions/arm_depthwise_conv_s8_opt.c",
    "ConvolutionFunctions/arm_depthwise_conv_wrapper_s8.c",
    "ConvolutionFunctions/arm_nn_mat_mult_kernel_row_offset_s8_s16.c",
    "ConvolutionFunctions/arm_nn_mat_mult_kernel_s8_s16.c",
    "FullyConnectedFunctions/arm_fully_connected_per_channel_s8.c",
    "NNSupportFunctions/arm_nn_mat_mult_nt_t_s8.c",
    "NNSupportFunctions/arm_nn_vec_mat_mult_t_per_ch_s8.c",
    "NNSupportFunctions/arm_q7_to_q15_with_offset.c",
    "NNSupportFunctions/arm_s8_to_s16_unordered_with_offset.c",
)
_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Written by `rig firmware build --kernels cmsis-nn`: files of CMSIS-NN, each below
   its own name, under the licence that it states. */
#pragma GCC system_header
"""
_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*"((?:Internal/)?arm_[^"]+)".*$', re.MULTILINE
)
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class LibrarySources:
    """The library as the text of one header, and its name with a hash of that."""

    text: str
    name: str


def read(folder: Path) -> LibrarySources:
    """Read the sources that the firmware uses; raises ConfigError where one is
    missing.
    """
    seen: set[str] = set()
    files = [_with_headers(folder, f"Source/{name}", seen) for name in SOURCES]
    text = "".join(files)
    name = f"cmsis-nn-{sha256(text.encode()).hexdigest()[:_DIGITS]}"
    return LibrarySources(_HEAD + text, name)


def put(project: Path, shipped: Path, library: LibrarySources | None) -> None:
    """Write into a project who multiplies, None for the firmware itself, so that every
    hash of its sources says it; `shipped` is the firmware's folder.
    """
    text = (shipped / KERNELS).read_text(encoding="utf-8")
    header = (project / KERNELS).with_name("nr_tflite_cmsis_nn.h")
    if library is None:
        header.unlink(missing_ok=True)
    else:
        text = text.replace("CMSIS_NN 0", "CMSIS_NN 1")
        text = text.replace('KERNELS ""', f'KERNELS " {library.name}"')
        header.write_text(library.text, encoding="utf-8")
    (project / KERNELS).write_text(text, encoding="utf-8")


def _with_headers(folder: Path, name: str, seen: set[str]) -> str:
    """Return a file, in place of each of its own headers that header, once."""
    seen.add(name)
    try:
        with foreign_files.opened(folder / name) as stream:
            text = stream.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{folder} is no CMSIS-NN that the firmware knows",
            path="--cmsis-nn",
            evidence=f"{name}: {error}",
            try_next=f"{FETCH}, then --cmsis-nn CMSIS-NN",
        ) from error

    def header(match: re.Match[str]) -> str:
        header_path = f"Include/{match[1]}"
        # The network has no floating point.
        if header_path in seen or header_path.endswith("_flt.h"):
            return ""
        return _with_headers(folder, header_path, seen)

    return f"/* {name} */\n{_INCLUDE.sub(header, text)}\n"
