# SPDX-License-Identifier: Apache-2.0
"""The image of `rig firmware emulate` and `rig firmware flash`: a file, or one of a
project.
"""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.options import FILE
from rig.errors import ConfigError
from rig.firmware import project as projects

image_argument = click.argument(
    "path", metavar="[DIR|IMAGE]", type=FILE, default=Path()
)
workload_option = click.option(
    "--workload",
    default="null",
    show_default=True,
    help="Which image of DIR: null, asc, qubo, network, tflite or sww.",
)


def chosen_image(folder: Path, workload: str, *, emulated: bool) -> Path:
    """Return the only image of `workload` below a project; raise ConfigError where
    there are none or several.
    """
    images = []
    for path in projects.images(folder):
        if path.stem == workload and projects.is_for_emulator(path) == emulated:
            images.append(path)
    if len(images) == 1:
        return images[0]
    if images:
        raise ConfigError(
            f"several images of {workload}",
            try_next=f"name one of {', '.join(map(str, images))}",
        )
    raise ConfigError(
        f"no image of {workload} below {folder / 'build'}",
        try_next=f"rig firmware build {folder}",
    )


def refuse_other_files(image: Path) -> None:
    """Raise ConfigError for a file that is missing, or no linked program."""
    if not image.exists():
        raise ConfigError(
            f"{image} does not exist", try_next="rig firmware build DIR makes images"
        )
    if not image.is_file() or not projects.is_image(image):
        raise ConfigError(
            f"{image} is no linked program (ELF)",
            try_next="an image below build/, or the folder of a project",
        )
