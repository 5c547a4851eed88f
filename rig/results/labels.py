# SPDX-License-Identifier: Apache-2.0
"""Labels of all numbers of a session: that it is simulated, or of generated, partial or
unofficial data, or of data without labels, or that its trials were interleaved.

The labels follow from the statements of the SUT, the monitors and the task. A task
without a statement has a label too, so that a missing statement is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import DataError
from rig.model.origin import Origin
from rig.results import origins

SIMULATED = "SIMULATED"
GENERATED = "GENERATED DATA"
SUBSET = "SUBSET"
UNOFFICIAL = "NOT THE OFFICIAL DATA"
NOT_STATED = "DATA NOT STATED"
NO_LABELS = "NO LABELS"
NO_LABELS_STATEMENT = (
    "accuracy counts the answers that are those of the model itself, and says nothing"
    " of how many are right: that needs labels. Latency and energy need none"
)
INTERLEAVED = "INTERLEAVED"
INTERLEAVED_STATEMENT = (
    "each sample was loaded once for all trials, which queried it in turn, in one"
    " recording: what drifts meets all of them alike, so that they agree says less than"
    " of trials one behind the other"
)
_STATEMENTS = {
    (
        "time",
        Origin.OWN_SENSOR,
    ): "times are counted by the device itself, not checked by a monitor",
    ("time", Origin.MODELLED): "times are a model's, not those of the device",
    (
        "energy",
        Origin.OWN_SENSOR,
    ): "energies are the board's or processor's own counter's, not an instrument's",
    ("energy", Origin.MODELLED): "energies are a model's: nothing was measured",
}


@dataclass(frozen=True, slots=True)
class Label:
    """A few words in capitals, and a sentence with their meaning."""

    text: str
    statement: str


@dataclass(frozen=True, slots=True)
class DataStatement:
    """Statement of the data: `official` where the data are the benchmark's own, whole,
    `subset` the measured part of them (empty: all).
    """

    labels: tuple[Label, ...]
    source: str
    statement: str
    official: bool
    samples: int | None
    subset: str


def of_task(facts: Mapping[str, Any]) -> tuple[Label, ...]:
    """Derive the labels of a task's data from its provenance; none only where it states
    that the data are its benchmark's, whole.
    """
    source = _text(facts, "source")
    statement = _text(facts, "statement")
    found = []
    if source.lower().startswith("generated"):
        found.append(Label(GENERATED, statement or source))
    elif source.lower().startswith("random"):
        found.append(
            Label(
                source.upper(),
                statement
                or "bytes that mean nothing: only link, device and rig are measured",
            )
        )
    elif facts.get("official") is not True:
        if source or statement:
            said = (
                statement
                or f"{source}: the task does not say that these are its benchmark's"
                " official data"
            )
            found.append(Label(_text(facts, "unofficial").upper() or UNOFFICIAL, said))
        else:
            found.append(Label(NOT_STATED, "the task says nothing of its data"))
    if facts.get("labelled") is False:
        found.append(Label(NO_LABELS, NO_LABELS_STATEMENT))
    if part := _part(facts):
        found.append(Label(SUBSET, part))
    return tuple(found)


def of_order(interleaved: bool) -> tuple[Label, ...]:
    """Make the label of trials that took turns."""
    return (Label(INTERLEAVED, INTERLEAVED_STATEMENT),) if interleaved else ()


def of_provenance(provenance: Any) -> tuple[Label, ...]:
    """Derive all labels of a session from its provenance, of a damaged one as far as it
    can be read.
    """
    facts = provenance if isinstance(provenance, Mapping) else {}
    interleaved = facts.get("interleaved") is True
    return (
        *of_made_up(facts),
        *of_order(interleaved),
        *of_task(_mapping(facts, "task")),
    )


def of_no_result(provenance: Any) -> tuple[Label, ...]:
    """Select the labels under which a session's numbers are no result of a benchmark:
    they are simulated, modelled, or not of the benchmark's own data, whole.
    """
    measured = (
        INTERLEAVED,
        *(_text_of(what, Origin.OWN_SENSOR) for what in ("time", "energy")),
    )
    return tuple(
        label for label in of_provenance(provenance) if label.text not in measured
    )


def of_made_up(provenance: Mapping[str, Any]) -> tuple[Label, ...]:
    """Select the labels of times and energies that were simulated, modelled, or counted
    by the device itself.
    """
    return (*_simulated(provenance), *_indirect(provenance))


def of_session(
    simulated: bool, provenance: Mapping[str, Any], data: DataStatement
) -> tuple[Label, ...]:
    """Derive all labels of a session from its results."""
    facts = {**provenance, "simulated": simulated}
    order = of_order(facts.get("interleaved") is True)
    return (*of_made_up(facts), *order, *data.labels)


def refuse_other(facts: Mapping[str, Any], **due: Any) -> None:
    """Raise DataError where a provenance contradicts bench file and catalogue about the
    data: labels follow from it.
    """
    for key, value in due.items():
        if facts.get(key) != value or type(facts.get(key)) is not type(value):
            raise DataError(
                f"provenance.json has {str(facts.get(key))[:60]!r} as {key} of the"
                f" data, it is {str(value)[:60]!r}"
            )


def statement(facts: Mapping[str, Any]) -> DataStatement:
    """Make the statement of the data in results.json."""
    return DataStatement(
        labels=of_task(facts),
        source=_text(facts, "source"),
        statement=_text(facts, "statement"),
        official=facts.get("official") is True and not _part(facts),
        samples=facts.get("samples"),
        subset=_part(facts),
    )


def texts(labels: Sequence[Label]) -> str:
    """Join the labels in one line."""
    return ", ".join(label.text for label in labels)


def beside(texts: Sequence[str]) -> str:
    """Format labels after a number: " (SIMULATED, SUBSET)"."""
    return f" ({', '.join(texts)})" if texts else ""


def _simulated(provenance: Mapping[str, Any]) -> tuple[Label, ...]:
    if not provenance.get("simulated"):
        return ()
    device = _mapping(provenance, "sut").get("simulated")
    monitors = _mapping(provenance, "monitors").values()
    monitor = any(
        isinstance(info, Mapping) and info.get("simulated") for info in monitors
    )
    which = (
        "device and monitor are"
        if device and monitor
        else "the device is"
        if device
        else "the monitor is"
    )
    return (
        Label(
            SIMULATED, f"{which} simulated: nothing here is a result of a real device"
        ),
    )


def _indirect(provenance: Mapping[str, Any]) -> tuple[Label, ...]:
    """Make the labels of times and energies that are neither measured from outside nor
    simulated.
    """
    found = origins.of_facts(provenance)
    labels = []
    for what, origin in (("time", found.time), ("energy", found.energy)):
        if origin is not None and (what, origin) in _STATEMENTS:
            labels.append(Label(_text_of(what, origin), _STATEMENTS[what, origin]))
    return tuple(labels)


def _text_of(what: str, origin: Origin) -> str:
    return f"{what.upper()}: {origin.upper()}"


def _part(facts: Mapping[str, Any]) -> str:
    """Name the measured part of the data; empty where that is all."""
    said = _text(facts, "subset")
    count = facts.get("samples")
    whole = facts.get("test_samples")
    if said and said != "all":
        return said
    return (
        f"{count} of {whole} samples"
        if isinstance(count, int) and isinstance(whole, int) and count < whole
        else ""
    )


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    return value if isinstance(value, str) else ""


def _mapping(facts: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = facts.get(key)
    return dict(value) if isinstance(value, Mapping) else {}
