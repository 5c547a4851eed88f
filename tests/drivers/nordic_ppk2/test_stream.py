# SPDX-License-Identifier: Apache-2.0
"""The sample stream of a PPK2: samples lost or damaged are a gap of the right length, and
no sample after it is at another place.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from drivers.nordic_ppk2.stream import LostSamples, SampleStream, SampleWords
from rig.errors import RemoteProtocolError
from tests.length import length

COUNT = 400
#: Words differ in their lower bits; those of a real current are as uneven.
RANDOM = np.random.default_rng(7)
CODES = RANDOM.integers(1000, 9000, COUNT)
LINES = RANDOM.integers(0, 256, COUNT)


def words(first: int = 11) -> list[int]:
    """Return whole words; the counter begins anywhere."""
    counters = (first + np.arange(COUNT)) % 64
    return [
        int(code) | 2 << 14 | int(counter) << 18 | int(lines) << 24
        for code, counter, lines in zip(CODES, counters, LINES, strict=True)
    ]


def sent(kept: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in kept)


def placed(stream: bytes, pieces: list[int] | None = None) -> list[int | None]:
    """Return the words by their place in time, None where samples were lost."""
    parser = SampleStream()
    items = []
    at = 0
    for piece in [*(pieces or []), len(stream)]:
        items += parser.feed(stream[at : at + piece])
        at += piece
    items += parser.finish()
    result: list[int | None] = []
    for item in items:
        match item:
            case SampleWords(taken):
                result += taken.tolist()
            case LostSamples(samples):
                result += [None] * samples
    return result


def test_an_undamaged_stream_comes_whole() -> None:
    assert placed(sent(words())) == words()


@given(some.lists(some.integers(1, 300), max_size=20), some.integers(0, 63))
@settings(max_examples=length(100, 20), deadline=None)
def test_the_division_into_blocks_has_no_effect(pieces: list[int], first: int) -> None:
    stream = sent(words(first)[:100] + words(first)[103:])
    assert placed(stream, pieces) == placed(stream)


@pytest.mark.parametrize("lost", [1, 2, 17, 62, 63])
@pytest.mark.parametrize("at", [30, 200, 311])
def test_lost_samples_are_a_gap_of_their_number_and_one_on_each_side(
    lost: int, at: int
) -> None:
    result = placed(sent(words()[:at] + words()[at + lost :]))
    assert len(result) == COUNT
    assert [word for word in result if word is not None] == [
        word for word, found in zip(words(), result, strict=True) if found is not None
    ]
    dark = [place for place, word in enumerate(result) if word is None]
    assert dark == list(range(at - 4, at + lost + 1))


@pytest.mark.parametrize("lost", [64, 128, 192])
def test_a_multiple_of_64_is_not_seen_by_the_counter(lost: int) -> None:
    result = placed(sent(words()[:100] + words()[100 + lost :]))
    assert len(result) == COUNT - lost and None not in result


@given(
    at=some.integers(200, 1200),
    lost=some.integers(1, 11),
    first=some.integers(0, 63),
)
@settings(max_examples=length(300, 60), deadline=None)
def test_lost_bytes_leave_no_wrong_word_and_move_none(
    at: int, lost: int, first: int
) -> None:
    whole = sent(words(first))
    result = placed(whole[:at] + whole[at + lost :])
    assert len(result) == COUNT
    wrong = [
        place
        for place, (word, found) in enumerate(zip(words(first), result, strict=True))
        if found is not None and found != word
    ]
    assert wrong == []
    assert result.count(None) <= 4 + lost // 4 + 3


@given(at=some.integers(100, 300), bit=some.integers(18, 23))
@settings(max_examples=length(60, 20), deadline=None)
def test_a_changed_counter_costs_a_few_samples_and_moves_none(
    at: int, bit: int
) -> None:
    changed = words()
    changed[at] ^= 1 << bit
    result = placed(sent(changed))
    assert len(result) == COUNT and result[at] is None
    assert result[at + 2 :] == words()[at + 2 :]


def test_bytes_before_the_first_word_are_no_samples() -> None:
    parser = SampleStream()
    items = parser.feed(b"\x00\xff\x33" + sent(words()))
    items += parser.finish()
    [taken] = [item for item in items if isinstance(item, SampleWords)][-1:]
    assert parser.before_b == 3 and taken.words.tolist()[-1] == words()[-1]
    assert sum(len(each.words) for each in items if isinstance(each, SampleWords)) == (
        COUNT
    )


def test_bytes_that_are_no_stream_are_given_up() -> None:
    parser = SampleStream()
    with pytest.raises(RemoteProtocolError, match="count on"):
        for _ in range(20):
            parser.feed(bytes(5_000))


def test_a_stream_that_is_damaged_for_good_is_given_up() -> None:
    parser = SampleStream()
    parser.feed(sent(words()))
    with pytest.raises(RemoteProtocolError, match="count on"):
        for _ in range(20):
            parser.feed(bytes(5_000))
