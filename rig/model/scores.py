# SPDX-License-Identifier: Apache-2.0
"""Scores of a device's outputs."""

from __future__ import annotations

from dataclasses import dataclass

#: Words for the value of a vector in the numbers of its file, and whether more of it is
#: better.
MEASURES = {
    "size": True,
    "weight": True,
    "cut": True,
    "energy": False,
    "objective": True,
}


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a vector, as the host evaluates it, with its workload's two targets
    and the cost that the device claimed.

    `official` is the target that the benchmark publishes, `best_known` the cost of the
    best vector known; None where there is none. Of a problem from a file, `value` is
    the same in the file's own numbers, and `measure` the word for it (MEASURES).
    """

    cost: int
    official: int | None
    claimed: int
    best_known: int | None = None
    measure: str = ""
    value: float | None = None

    @property
    def met(self) -> bool:
        """Whether the target of the result is reached: the official one, the best known
        one where there is none.
        """
        target = self.best_known if self.official is None else self.official
        return target is not None and self.cost <= target

    @property
    def beaten(self) -> bool:
        """Whether the vector is better than any known."""
        known = [
            target for target in (self.official, self.best_known) if target is not None
        ]
        return bool(known) and self.cost < min(known)


@dataclass(frozen=True, slots=True)
class Score:
    """A task's score of one output: `correct`, and the label and answer as the task
    names them.

    The answer is empty where one output alone is no decision; then `scores` are its
    scores, and all samples of one `case` are judged together. Of a search, `case` is
    the workload's cell, `label` its name and `answer` the vector's cost, as text;
    `costs` has it and the target's as numbers, and it is correct when it is at or below
    the target's. `fault` describes why its output is unusable, such as a vector of
    another length: then there are no costs.
    """

    correct: bool
    label: str
    answer: str
    scores: tuple[float, ...] = ()
    case: str = ""
    costs: Costs | None = None
    fault: str = ""
