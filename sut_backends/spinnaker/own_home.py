# SPDX-License-Identifier: Apache-2.0
"""A home folder and a working folder of its own for sPyNNaker, which writes a
configuration file into the user's home where there is none, and reports into the
working folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

CONFIG = ".spynnaker.cfg"


class OwnHome:
    """A folder that is home and working folder until it is closed; to be made before
    sPyNNaker is imported. It goes with the process: sPyNNaker writes into it as late as
    that.
    """

    def __init__(self, config: dict[str, dict[str, str]]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="neurorig-spinnaker-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self._before = os.environ.get("HOME"), Path.cwd()
        lines = []
        for section, entries in config.items():
            lines.append(f"[{section}]")
            lines += [f"{name} = {value}" for name, value in entries.items()]
        (self.folder / CONFIG).write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.environ["HOME"] = str(self.folder)
        os.chdir(self.folder)

    def close(self) -> None:
        """Go back to the home and the folder before; closing twice is allowed."""
        home, folder = self._before
        if home is None:
            os.environ.pop("HOME", None)
        else:
            os.environ["HOME"] = home
        os.chdir(folder)


def config(machine: str, *, energy: bool) -> dict[str, dict[str, str]]:
    """Return sPyNNaker's configuration: a machine's address, or a virtual board of 48
    chips."""
    where = {"machine_name": machine, "version": "5"}
    if not machine:
        where = {"virtual_board": "True", "version": "5"}
    return {"Machine": where, "Reports": {"write_energy_report": str(energy)}}
