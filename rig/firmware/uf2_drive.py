# SPDX-License-Identifier: Apache-2.0
"""The USB drive of a board that waits for an image: found by its INFO_UF2.TXT, and
written to.
"""

from __future__ import annotations

import os
import string
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound, RigError
from rig.files.plain_text import one_line
from rig.firmware.uf2 import BLOCK_B, Uf2Family
from rig.host.stop import pause

INFO = "INFO_UF2.TXT"
#: Time for a board to restart once it has the whole image.
_RESTART_S = 10.0
_LOOK_S = 0.1
_INFO_MAX_B = 4096
#: A board that goes away is noticed after so many bytes.
_PART_B = 16 * BLOCK_B


@dataclass(frozen=True, slots=True)
class Uf2Drive:
    """The drive of a board: its folder, and the board's name and model as its own file
    states them.
    """

    folder: Path
    board_id: str
    model: str

    def __str__(self) -> str:
        model = f", {self.model}" if self.model else ""
        return f"{self.folder} ({self.board_id or 'no Board-ID'}{model})"


def mount_points() -> list[Path]:
    """Return the folders at which this system mounts USB drives."""
    if sys.platform == "win32":
        return [Path(f"{letter}:\\") for letter in string.ascii_uppercase]
    if sys.platform == "darwin":
        return sorted(Path("/Volumes").glob("*"))
    patterns = ("media/*", "media/*/*", "run/media/*/*")
    folders = [sorted(Path("/").glob(pattern)) for pattern in patterns]
    return list(chain.from_iterable(folders))


def drives(folders: Sequence[Path]) -> list[Uf2Drive]:
    """Return the drives of boards among folders."""
    mounted = []
    for folder in folders:
        try:
            with (folder / INFO).open("rb") as file:
                text = file.read(_INFO_MAX_B).decode("utf-8", "replace")
        except OSError:
            continue
        lines = (line.partition(":") for line in text.splitlines())
        facts = {key.strip(): one_line(value.strip()) for key, _, value in lines}
        name = facts.get("Board-ID", "")
        mounted.append(Uf2Drive(folder, name, facts.get("Model", "")))
    return mounted


def choose(chips: Uf2Family, image_of: str, device: str) -> Uf2Drive:
    """Return the drive of the one board that waits and that an image is for; `device`
    is its folder, empty where it is to be found. Raises DeviceNotFound where none does,
    and BenchError where several do.
    """
    waiting = drives([Path(device)] if device else mount_points())
    if not waiting:
        where = device or "the drives of this system"
        raise DeviceNotFound(
            "no board waits for an image on a USB drive",
            evidence=f"no {INFO} on {one_line(where)}",
            try_next="hold BOOTSEL while you plug the board in; a drive that is mounted"
            " elsewhere: --device FOLDER; or --tool with a debug probe",
            see="no-board-to-flash",
        )
    right = [drive for drive in waiting if drive.board_id == chips.board_id]
    if not right:
        raise BenchError(
            f"the image is for {image_of} ({chips.board_id}), and the board that waits"
            f" is {waiting[0].board_id or 'without a name'}",
            evidence="; ".join(map(str, waiting)),
            try_next="an image for that board, or the other board; rig firmware boards",
            see="image-of-another-board",
        )
    if len(right) > 1:
        raise BenchError(
            f"{len(right)} boards wait for an image: {right[0]} and {right[1]}",
            try_next=f"unplug one, or --device {right[0].folder}",
            see="several-boards-to-flash",
        )
    return right[0]


def write(drive: Uf2Drive, name: str, content: bytes) -> None:
    """Write a UF2 file to a drive, and wait until the board has restarted: its drive is
    gone then. Raises DeviceLost where it goes away earlier, and BenchError where it
    does not take the image.
    """
    written_b = 0
    try:
        with (drive.folder / name).open("wb") as file:
            while written_b < len(content):
                part = content[written_b : written_b + _PART_B]
                file.write(part)
                file.flush()
                os.fsync(file.fileno())
                written_b += len(part)
    except OSError as error:
        # With the last block the board restarts, before the system has closed the file.
        is_last = 0 < len(content) - written_b <= _PART_B and written_b > 0
        if not (is_last or written_b == len(content)):
            raise _write_error(error, drive, written_b, len(content)) from error
    end_s = time.monotonic() + _RESTART_S
    while drives([drive.folder]):
        if time.monotonic() > end_s:
            raise BenchError(
                f"the board took {name} and did not restart",
                evidence=f"{drive.folder} is still there after {_RESTART_S:g} s",
                try_next="press its reset button; if the drive comes again, the image"
                " is not for this chip; a drive that was mounted by hand stays:"
                " rig probe says whether the image runs",
                see="drive-stays",
            )
        pause(_LOOK_S)


def _write_error(
    error: OSError, drive: Uf2Drive, written_b: int, length_b: int
) -> RigError:
    evidence = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return ConfigError(
            f"{drive.folder} may not be written by this account",
            evidence=evidence,
            try_next="the account that is logged in at the screen; or remount it with"
            " -o uid=$USER",
            see="flashing-denied",
        )
    blocks = f"{written_b // BLOCK_B} of {length_b // BLOCK_B} blocks"
    return DeviceLost(
        f"the board went away after {blocks} of the image: {evidence}",
        evidence=str(drive),
        try_next="hold BOOTSEL while you plug it in, and flash it again: its boot ROM"
        " cannot be overwritten",
        see="flashing-interrupted",
    )
