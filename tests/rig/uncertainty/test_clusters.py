# SPDX-License-Identifier: Apache-2.0
"""Which samples count as one."""

from __future__ import annotations

from itertools import chain

import pytest

from rig.model.catalogue import Entry
from rig.uncertainty.clusters import GROUPS_MAX, clusters


def test_samples_of_one_recording_are_one_cluster() -> None:
    catalogue = [
        Entry("bus", "a"),
        Entry("bus", "a"),
        Entry("park", "b"),
        Entry("park", "c"),
    ]
    result = clusters(catalogue, range(4))
    assert result.units == "3 recordings" and not result.note
    assert set(result.groups) == {frozenset({0, 1}), frozenset({2}), frozenset({3})}


def test_only_the_samples_that_were_asked_for_count() -> None:
    catalogue = [Entry("bus", f"clip {number // 2}") for number in range(10)]
    assert clusters(catalogue, [0, 1, 8]).units == "2 recordings"


@pytest.mark.parametrize("cities", [2, 4, 12])
def test_cities_are_the_clusters_however_few_they_are(cities: int) -> None:
    catalogue = [
        Entry("bus", f"clip {number}", f"city {number % cities}")
        for number in range(3 * cities)
    ]
    result = clusters(catalogue, range(len(catalogue)))
    assert result.units == f"{cities} cities" and all(
        len(group) == 3 for group in result.groups
    )


def test_a_city_that_is_not_known_leaves_recordings() -> None:
    catalogue = [
        Entry("bus", f"clip {number}", f"city {number}") for number in range(20)
    ] + [Entry("bus", "clip x")]
    result = clusters(catalogue, range(21))
    assert (
        result.units == "21 recordings" and "not every sample has a city" in result.note
    )


def test_without_a_catalogue_each_sample_is_one_and_the_interval_says_so() -> None:
    result = clusters((), range(4))
    assert result.units == "4 samples" and "no catalogue" in result.note
    drawn = clusters([Entry("a")] * 4, range(4))
    assert drawn.units == "4 samples" and not drawn.note, "each is drawn by itself"


def test_many_clusters_are_deleted_in_groups_that_are_the_same_each_time() -> None:
    catalogue = [Entry("bus", f"clip {number // 10}") for number in range(1620)]
    result = clusters(catalogue, range(1620))
    assert result.units == "162 recordings" and len(result.groups) == GROUPS_MAX
    assert sorted(chain.from_iterable(result.groups)) == list(range(1620))
    for start in range(0, 1620, 10):
        assert any(set(range(start, start + 10)) <= group for group in result.groups), (
            "a recording lies in one group"
        )
    assert result == clusters(catalogue, range(1620))
