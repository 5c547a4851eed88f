# SPDX-License-Identifier: Apache-2.0
"""Statements of a submission's author: a TOML file with texts and files that no session
holds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError
from rig.files import small_text, typed
from rig.results.submission_file import Submitter

TEMPLATE_TRY = "rig submit about FILE writes a template"


@dataclass(frozen=True, slots=True)
class SystemText:
    """The system under test."""

    architecture: str = ""


@dataclass(frozen=True, slots=True)
class AlgorithmText:
    """The algorithm."""

    model: str = ""
    tuning: str = ""
    tuning_seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """The steps from the data to the answer."""

    initialisation: str = ""
    host_preprocessing: str = ""
    loading: str = ""
    device_preprocessing: str = ""
    inference: str = ""
    postprocessing: str = ""


@dataclass(frozen=True, slots=True)
class LatencyText:
    """How latency was measured."""

    description: str = ""


@dataclass(frozen=True, slots=True)
class PowerText:
    """How power was measured."""

    device: str = ""
    tap: str = ""
    time_resolution: str = ""
    components_included: tuple[str, ...] = ()
    components_omitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FirmwareFiles:
    """Sources and images of the firmware, beside the file that names them."""

    sources: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthorStatements:
    """The whole file; `no_result` has the reason for each pattern of cells that no
    session measured.
    """

    submitter: Submitter = field(default_factory=Submitter)
    system: SystemText = field(default_factory=SystemText)
    algorithm: AlgorithmText = field(default_factory=AlgorithmText)
    workflow: WorkflowText = field(default_factory=WorkflowText)
    latency: LatencyText = field(default_factory=LatencyText)
    power: PowerText = field(default_factory=PowerText)
    firmware: FirmwareFiles = field(default_factory=FirmwareFiles)
    no_result: dict[str, str] = field(default_factory=dict)

    @property
    def sections(self) -> dict[str, str]:
        """The text of each section of the report by its key, `power.tap`."""
        found: dict[str, str] = {}
        for part in ("system", "algorithm", "workflow", "latency", "power"):
            tree: Mapping[str, Any] = typed.to_json(getattr(self, part))
            for key, text in tree.items():
                if isinstance(text, str):
                    found[f"{part}.{key}"] = text.strip()
        return found


def read(path: Path) -> AuthorStatements:
    """Read the file; raise ConfigError where it has another form."""
    try:
        tree = tomllib.loads(small_text.read(path))
        return typed.from_json(AuthorStatements, tree, str(path))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be read",
            path="--about",
            evidence=str(error),
            try_next=TEMPLATE_TRY,
        ) from error
    except DataError as error:
        raise ConfigError(
            error.cause,
            path="--about",
            evidence=error.evidence,
            try_next=TEMPLATE_TRY,
        ) from error


def template() -> str:
    """Return the file to fill in."""
    page = files("rig.submission").joinpath("about.toml")
    return page.read_text(encoding="utf-8")
