# SPDX-License-Identifier: Apache-2.0
"""The SDKs that a backend's worker may need: beside its code, `sdk.toml` and
`requirements.txt`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from rig.errors import ConfigError, did_you_mean
from rig.files import typed

#: The pinned packages, beside sdk.toml.
REQUIREMENTS = "requirements.txt"
_COMMENT = re.compile(r"(^|\s)#.*")


@dataclass(frozen=True, slots=True)
class Size:
    """Size of an environment's download and of its files on the disk, in MB (10^6
    bytes), with the date and the build of the measurement."""

    download_mb: int
    installed_mb: int
    measured: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    """An sdk.toml."""

    title: str
    python: str
    imports: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    size: Size | None = None


@dataclass(frozen=True, slots=True)
class SdkKind:
    """An SDK: the backend's folder, its name, its Pythons, its pinned packages, the
    imports of its try, packages that must not be there, the limits of its environment,
    and its size if its sheet states it.
    """

    folder: Traversable
    title: str
    python: SpecifierSet
    requirements: tuple[Requirement, ...]
    imports: tuple[str, ...]
    never: tuple[str, ...]
    cannot: tuple[str, ...]
    size: Size | None = None

    @property
    def kind(self) -> str:
        """The backend's kind."""
        return self.folder.name


def kinds() -> dict[str, SdkKind]:
    """List the SDKs of all backends, by their kind."""
    folders = sorted(files("sut_backends").iterdir(), key=lambda folder: folder.name)
    return {
        folder.name: read(folder)
        for folder in folders
        if (folder / "sdk.toml").is_file()
    }


def named(kind: str) -> SdkKind:
    """Look up the SDK of a kind; ConfigError where there is none."""
    every = kinds()
    if kind not in every:
        raise ConfigError(
            f"there is no SDK {kind!r}",
            try_next=f"{did_you_mean(kind, every)}one of {', '.join(every) or 'none'}",
        )
    return every[kind]


def read(folder: Traversable) -> SdkKind:
    """Read the SDK that a backend's folder describes."""
    text = (folder / "sdk.toml").read_text(encoding="utf-8")
    sheet = typed.from_json(_Sheet, tomllib.loads(text), f"{folder}/sdk.toml")
    lines = (folder / REQUIREMENTS).read_text(encoding="utf-8").splitlines()
    requirements = [_COMMENT.sub("", line).strip() for line in lines]
    return SdkKind(
        folder=folder,
        title=sheet.title,
        python=SpecifierSet(sheet.python),
        requirements=tuple(Requirement(line) for line in requirements if line),
        imports=sheet.imports,
        never=sheet.never,
        cannot=sheet.cannot,
        size=sheet.size,
    )
