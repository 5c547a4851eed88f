# SPDX-License-Identifier: Apache-2.0
"""Complexity of a network as numbers and in words, for results, tables and pages.

It is counted in `rig.network.complexity`, which needs the library nir; reading it
does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.units import bytes_text, plural, quantity

#: Where each is defined.
MEANING = (
    "counted in the reference interpreter; definitions of NeuroBench's algorithm track "
    "(docs/reference/MODELS.md)"
)


@dataclass(frozen=True, slots=True)
class Complexity:
    """Resources that a network needs on any device, as means over `samples` of `steps`
    time steps.

    `parameters_b` and `states_b` are its footprint in bytes. The sparsities are shares
    of zeros: of weights, and of activations. `dense`, `effective_macs` and
    `effective_acs` are synaptic operations of a sample: all, and those of a weight and
    an input that are both not zero, by whether the layer's inputs in that step are all
    -1, 0 or 1 (accumulate) or not (multiply and accumulate). `execution_rate_hz` is how
    many steps the network takes in a second of its input, None of one without time.
    """

    samples: int
    steps: int
    parameters_b: int
    states_b: int
    connection_sparsity: float
    activation_sparsity: float
    dense: float
    effective_macs: float
    effective_acs: float
    execution_rate_hz: float | None

    @property
    def footprint_b(self) -> int:
        """The bytes of parameters and states."""
        return self.parameters_b + self.states_b

    @property
    def effective(self) -> float:
        """All effective synaptic operations of a sample."""
        return self.effective_macs + self.effective_acs


def rows(complexity: Complexity) -> tuple[tuple[str, str], ...]:
    """Return each count as name and value."""
    found_rows = (
        (
            "footprint",
            (
                f"{bytes_text(complexity.footprint_b)} (parameters"
                f" {bytes_text(complexity.parameters_b)}, states"
                f" {bytes_text(complexity.states_b)})"
            ),
        ),
        ("connection sparsity", f"{complexity.connection_sparsity:.4f}"),
        ("activation sparsity", f"{complexity.activation_sparsity:.4f}"),
        ("synaptic operations, dense", _operations(complexity.dense)),
        ("synaptic operations, effective MACs", _operations(complexity.effective_macs)),
        ("synaptic operations, effective ACs", _operations(complexity.effective_acs)),
    )
    if complexity.execution_rate_hz is None:
        return found_rows
    rate = quantity(complexity.execution_rate_hz, "Hz")
    return (*found_rows, ("model execution rate", rate))


def basis(complexity: Complexity) -> str:
    """Return the samples and steps that the numbers are means over."""
    samples = plural(complexity.samples, "sample")
    if complexity.execution_rate_hz is None:
        return f"{samples}; operations are those of a sample"
    return f"{samples} of {complexity.steps} steps; operations are those of a sample"


def line(complexity: Complexity) -> str:
    """Return all of it in one line."""
    rate = ""
    if complexity.execution_rate_hz is not None:
        rate = f"; execution rate {quantity(complexity.execution_rate_hz, 'Hz')}"
    return (
        f"footprint {bytes_text(complexity.footprint_b)}; connection sparsity"
        f" {complexity.connection_sparsity:.4f}, activation sparsity"
        f" {complexity.activation_sparsity:.4f}; synaptic operations a sample: dense"
        f" {complexity.dense:,.0f}, effective MACs {complexity.effective_macs:,.0f},"
        f" ACs {complexity.effective_acs:,.0f}{rate}"
    )


def sentence(complexity: Complexity) -> str:
    """Return all counts in a sentence, with the samples and the place where they were
    counted.
    """
    return f"network: {line(complexity)}; {basis(complexity)}; {MEANING}"


def _operations(count: float) -> str:
    return f"{count:,.6g}" if count < 100 else f"{count:,.0f}"
