# SPDX-License-Identifier: Apache-2.0
"""A benchmark of `rig tiny` whose data are tensors: its model, and official inputs or
generated ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError
from rig.firmware.model_options import ModelOptions
from rig.interfaces.context import BenchContext
from rig.network.tflite.form import IntegerNetwork
from scenarios.common.different_inputs import different_inputs
from scenarios.tasks.mlperf_tiny import benches, made_inputs
from scenarios.tasks.mlperf_tiny.benches import TensorTables
from scenarios.tasks.mlperf_tiny.model import WORKLOAD, TinyModel, opened
from scenarios.tasks.mlperf_tiny.references import (
    MissingInputs,
    OfficialInputs,
    TinyReference,
    inputs_of_clone,
    named_inputs,
)
from scenarios.tasks.mlperf_tiny.task import MlperfTiny

_LABELS_FIRST = "y_labels.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBenchmark:
    """A reference model and its inputs on a device; `files` are generated where there
    are none.
    """

    reference: TinyReference
    model: TinyModel
    inputs: OfficialInputs | MissingInputs
    on: str
    files: int
    workload: str = WORKLOAD

    @classmethod
    def of(
        cls,
        reference: TinyReference,
        clone: Path,
        inputs: Path | None,
        *,
        on: str,
        files: int,
    ) -> TensorBenchmark:
        """Open the model of a clone, and look for inputs in the folder that the user
        names or in the clone.
        """
        model = opened(reference.model_in(clone), reference.benchmark)
        if inputs is None:
            inputs_found = inputs_of_clone(reference, clone)
        else:
            inputs_found = named_inputs(reference, inputs)
        return cls(
            reference=reference, model=model, inputs=inputs_found, on=on, files=files
        )

    def require_inputs(self, modes: Sequence[str]) -> None:
        """Open official inputs as the sessions of these modes do; raises DataError or
        ConfigError for inputs that those would refuse.
        """
        inputs = self.inputs
        if not isinstance(inputs, OfficialInputs):
            return
        settings = MlperfTiny.Settings(
            benchmark=self.reference.benchmark,
            data=str(inputs.folder.resolve()),
            labels=inputs.labels,
            model=str(self.path.resolve()),
        )
        task = MlperfTiny.open(settings, BenchContext())
        if set(modes) == {"accuracy"}:
            return
        try:
            different_inputs(task, 1)
        except ConfigError as error:
            raise ConfigError(
                f"{inputs.folder} has {error.fault}",
                path="--mode",
                try_next=f"{error.try_next}, or --mode accuracy",
            ) from error

    @property
    def benchmark(self) -> str:
        """Return its name in data sets and reports."""
        return self.reference.benchmark

    @property
    def network(self) -> IntegerNetwork:
        """Return the network of the model."""
        return self.model.network

    @property
    def path(self) -> Path:
        """Return the file of the model."""
        return self.model.path

    @property
    def identity(self) -> str:
        """Return the model's name in a device's report."""
        return self.model.identity

    def options(self, kept: Path) -> ModelOptions:
        """Return how the model is built into an image."""
        return ModelOptions(path=kept, reals=self.model.values == "reals")

    def sut(self, image: str, machine: str, mode: str) -> str:
        """Return the lines of the device, which are those of all modes."""
        return benches.sut(self.on, image, machine)

    def monitor(self, given: Path | None, mode: str) -> str:
        """Return the lines of the monitor, which are those of all modes."""
        return benches.monitor(self.on, given)

    def tables(self, folder: Path, kept: str) -> tuple[str, Callable[[str], str]]:
        """Generate inputs where there are none; return a sentence about them, and what
        gives scenario and task of a mode.
        """
        inputs = self.inputs
        if isinstance(inputs, OfficialInputs):
            data, labels, source = str(inputs.folder.resolve()), inputs.labels, ""
            about = f"inputs: {inputs.folder}, all that {inputs.labels} names"
        else:
            data, labels, source = self._generated(folder)
            about = f"inputs: {self.files} generated tensors, as {inputs.reason}"
        made = TensorTables(
            benchmark=self.benchmark,
            model=kept,
            data=data,
            labels=labels,
            source=source,
        )
        return about, made.text

    def _generated(self, folder: Path) -> tuple[str, str, str]:
        """Write generated tensors; return their folder, list and source."""
        place = folder / f"generated-{self.benchmark}"
        if place.is_dir():
            shutil.rmtree(place)
        place.mkdir()
        made_inputs.write(place, self.model, self.reference.about, self.files)
        return place.name, _LABELS_FIRST, made_inputs.SOURCE
