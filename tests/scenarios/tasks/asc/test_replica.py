# SPDX-License-Identifier: Apache-2.0
"""A sample's label and city stand in the name of its recording, too."""

from __future__ import annotations

import pytest

from rig.errors import DataError
from rig.model.catalogue import Entry
from scenarios.tasks.asc.dataset import CLASSES
from scenarios.tasks.asc.replica import AscReplica

FACTS = {"classes": list(CLASSES), "samples": 1, "holes": []}


def replica(entry: Entry) -> AscReplica:
    return AscReplica.of("asc", ("preprocess", "infer"), FACTS, [entry])


def test_the_label_of_the_recordings_name_is_accepted() -> None:
    assert len(replica(Entry("bus", "bus-paris-1-0-a", "paris"))) == 1


@pytest.mark.parametrize(("label", "city"), [("park", "paris"), ("bus", "vienna")])
def test_another_label_or_city_is_refused(label: str, city: str) -> None:
    with pytest.raises(DataError, match="its recording is"):
        replica(Entry(label, "bus-paris-1-0-a", city))
