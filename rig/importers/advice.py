# SPDX-License-Identifier: Apache-2.0
"""Suggestions of the importers: which options of a foreign file to give. A text carries
them as values: it reads as the command line and the window name options, and another
edge words them by itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Self

from rig.importers.options import flag


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Options that are given together, by the names of their fields, each with a value
    or with what stands for one; `remark` follows them.
    """

    options: tuple[tuple[str, str], ...]
    remark: str = ""


#: What an edge makes of a suggestion; empty where the edge refuses it.
Wording = Callable[[Suggestion], str]


def give(remark: str = "", /, **options: str) -> Suggestion:
    """Suggest options of rig/importers/options.py: `give(rate_hz="HZ")`."""
    return Suggestion(tuple(options.items()), remark)


def as_flags(suggestion: Suggestion) -> str:
    """Word a suggestion for the command line and for the window."""
    words = [
        f"{flag(name)} {shlex.quote(value)}" if value else flag(name)
        for name, value in suggestion.options
    ]
    return " ".join(words) + suggestion.remark


class Advice(str):
    """Advice on what to try: `needs` must all be met, each by one of its alternatives,
    which are suggestions or other deeds.
    """

    __slots__ = ("needs",)
    needs: tuple[tuple[Suggestion | str, ...], ...]

    def __new__(cls, *alternatives: Suggestion | str) -> Self:
        """Make the advice to take one of some alternatives, the best first."""
        return cls._of((alternatives,))

    @classmethod
    def joined(cls, texts: Iterable[str]) -> Self:
        """Join advice on several needs; equal ones count once."""
        several = [text if isinstance(text, Advice) else Advice(text) for text in texts]
        needs = chain.from_iterable(advice.needs for advice in several)
        return cls._of(tuple(dict.fromkeys(needs)))

    def or_else(self, last: str) -> Self:
        """Return the advice with one more alternative for each need."""
        return self._of(tuple((*need, last) for need in self.needs))

    @classmethod
    def _of(cls, needs: tuple[tuple[Suggestion | str, ...], ...]) -> Self:
        made = super().__new__(cls, _worded(needs, as_flags))
        made.needs = needs
        return made

    def worded(self, wording: Wording) -> str:
        """Return the advice as an edge words it; empty where it refuses all of it."""
        return _worded(self.needs, wording)


class AdvisedNote(str):
    """Note on how a file was read: a fact, and advice where there is some."""

    __slots__ = ("advice", "fact")
    fact: str
    advice: Advice | None

    def __new__(cls, fact: str, advice: Advice | None = None) -> Self:
        """Make a note."""
        made = super().__new__(cls, f"{fact}: {advice}" if advice else fact)
        made.fact = fact
        made.advice = advice
        return made

    def worded(self, wording: Wording) -> str:
        """Return the note as an edge words it."""
        advice = self.advice.worded(wording) if self.advice else ""
        return f"{self.fact}: {advice}" if advice else self.fact


class NoSync(AdvisedNote):
    """Note that no signal is the SYNC line, and the option that names one."""

    __slots__ = ()


def worded(text: str, wording: Wording) -> str:
    """Return a text as an edge words the suggestions in it; without one as it is."""
    if isinstance(text, Advice | AdvisedNote):
        return text.worded(wording)
    return text


def _worded(needs: tuple[tuple[Suggestion | str, ...], ...], wording: Wording) -> str:
    texts = [_alternatives(need, wording) for need in needs]
    return "; ".join(filter(None, texts))


def _alternatives(need: tuple[Suggestion | str, ...], wording: Wording) -> str:
    texts = [each if isinstance(each, str) else wording(each) for each in need]
    return ", or ".join(filter(None, texts))
