# SPDX-License-Identifier: Apache-2.0
"""The task with the samples that a session kept, for `rig check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.interfaces.task import Regeneration, Task
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.network.tflite.form import Ints
from scenarios.tasks.asc import kept
from scenarios.tasks.asc.cnn import AscCnnTask
from scenarios.tasks.asc.replica import AscReplica
from scenarios.tasks.asc.spiking import SpikingTask


def of(
    replica: AscReplica, path: Path, same: Mapping[str, str], *, is_of_cnn: bool
) -> Regeneration:
    """Return the task with the model and the samples that a session kept; `same` are
    the facts that follow from the model.
    """
    values = kept.inputs_in(path.parent, len(replica), is_of_cnn=is_of_cnn)
    if values is None:
        missing = f"recordings of more than {kept.INPUTS_TEXT} are not in the session"
        return Regeneration(same, unknown=missing)
    if not is_of_cnn:
        return Regeneration(same, task=_KeptAudio(replica, values, path))

    def features_of(index: int) -> bytes:
        content: bytes = values[index].tobytes()
        return content

    task: Task = AscCnnTask(replica, features_of, path)
    return Regeneration(same, task=task)


class _KeptAudio(SpikingTask):
    def __init__(self, replica: AscReplica, values: Ints, path: Path) -> None:
        super().__init__(path)
        self._replica = replica
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def payload(self, index: int) -> bytes:
        payload: bytes = self._values[index].tobytes()
        self._lately.append(payload)
        return payload

    def recordings(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._replica.recordings()

    def catalogue(self) -> Sequence[Entry]:
        return self._replica.catalogue()

    def score(self, index: int, output: bytes) -> Score:
        return self._replica.score(index, output)

    def provenance(self) -> dict[str, Any]:
        return self._replica.provenance()
