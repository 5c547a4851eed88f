# SPDX-License-Identifier: Apache-2.0
"""Folders beside the packages, which an installed package brings too: benches, docs,
firmware."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rig.errors import BenchError

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

#: A file that marks each folder.
_MARKS = {
    "benches": "virtual-asc.toml",
    "docs": "README.md",
    "firmware": "core/nr_shim.h",
}
_INSTALLED = "share/neurorig"
#: The bench of the demonstration, a file of the package.
DEMO = Path(__file__).with_name("demo.toml")


def shipped(name: str) -> Path:
    """Return a folder: of the checkout, or what an installed package brought; raise
    BenchError where there is none.
    """
    mark = _MARKS[name]
    checkout = Path(__file__).resolve().parents[2] / name
    if (checkout / mark).exists():
        return checkout
    for file in _installed_files():
        place = Path(str(file.locate())).resolve()
        if str(file).endswith(f"{_INSTALLED}/{name}/{mark}") and place.exists():
            return place.parents[mark.count("/")]
    raise BenchError(
        f"the folder {name} is not here",
        evidence=(
            f"neither {checkout} nor {_INSTALLED}/{name} of the installed package"
            " exists"
        ),
        try_next=(
            "install neurorig with pip from a wheel or a checkout, without --target"
        ),
    )


def _installed_files() -> list[PackagePath]:
    # A checkout needs no metadata, and a program on this computer starts a tenth faster
    # without.
    from importlib.metadata import PackageNotFoundError, files

    try:
        return files("neurorig") or []
    except PackageNotFoundError:
        return []
