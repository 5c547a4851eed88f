# SPDX-License-Identifier: Apache-2.0
"""Result lines of a trial, in the words of its benchmark, with the labels of the
session.

Other programs look for numbers in such lines: MLCommons' submission checker takes any
line with " Top 1% = 90.1", with any beginning. Where a number is no result of the
benchmark, because it is simulated, modelled, or of other data, a mark stands before it,
at which their patterns end: "Top 1% = [simulated] 90.1".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rig.files.plain_text import one_line
from rig.problems import Problem
from rig.results import labels

_NUMBER = re.compile(r"(?:(?<=[=:] )|(?<= is ))(?=[-+]?[\d.]+(?![\w.]))")


def of_trial(
    provenance: Mapping[str, Any], lines: Sequence[str], faults: Sequence[Problem]
) -> tuple[str, ...]:
    """Make the lines of a trial, with their source and the labels of the session; of a
    trial that does not count, its problems instead.
    """
    found = labels.of_provenance(provenance)
    who = ", ".join(["neurorig", *(label.text.lower() for label in found)])
    mark = _mark(provenance)
    said = [_NUMBER.sub(lambda _: mark, one_line(line)) for line in lines]
    if faults:
        said = [f"no result: {problem.code}: {problem.detail}" for problem in faults]
    return tuple(one_line(f"{who}: {line}") for line in said)


def unmarked(provenance: Mapping[str, Any], lines: Sequence[str]) -> tuple[str, ...]:
    """Make the lines of a trial as revisions of the rig without marks worded them."""
    mark = _mark(provenance)
    return tuple(line.replace(mark, "") for line in lines) if mark else tuple(lines)


def _mark(provenance: Mapping[str, Any]) -> str:
    found = labels.of_no_result(provenance)
    return one_line(f"[{found[0].text.lower()}] ") if found else ""
