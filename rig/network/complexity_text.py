# SPDX-License-Identifier: Apache-2.0
"""The complexity of a network in words, for tables and pages."""

from __future__ import annotations

from rig.network.complexity import Complexity
from rig.units import bytes_text, quantity

#: Where each is defined.
MEANING = (
    "counted in the reference interpreter; definitions of NeuroBench's algorithm track "
    "(docs/MODELS.md)"
)


def rows(found: Complexity) -> tuple[tuple[str, str], ...]:
    """Return what was counted, as name and value."""
    return (
        (
            "footprint",
            (
                f"{bytes_text(found.footprint_b)} (parameters"
                f" {bytes_text(found.parameters_b)}, states"
                f" {bytes_text(found.states_b)})"
            ),
        ),
        ("connection sparsity", f"{found.connection_sparsity:.4f}"),
        ("activation sparsity", f"{found.activation_sparsity:.4f}"),
        ("synaptic operations, dense", _operations(found.dense)),
        ("synaptic operations, effective MACs", _operations(found.effective_macs)),
        ("synaptic operations, effective ACs", _operations(found.effective_acs)),
        ("model execution rate", quantity(found.execution_rate_hz, "Hz")),
    )


def basis(found: Complexity) -> str:
    """Return what the numbers are of."""
    samples = "1 sample" if found.samples == 1 else f"{found.samples} samples"
    return f"{samples} of {found.steps} steps; operations are those of a sample"


def line(found: Complexity) -> str:
    """Return all of it in one line."""
    return (
        f"footprint {bytes_text(found.footprint_b)}; connection sparsity"
        f" {found.connection_sparsity:.4f}, activation sparsity"
        f" {found.activation_sparsity:.4f}; synaptic operations a sample: dense"
        f" {found.dense:,.0f}, effective MACs {found.effective_macs:,.0f}, ACs"
        f" {found.effective_acs:,.0f}; execution rate"
        f" {quantity(found.execution_rate_hz, 'Hz')}"
    )


def sentence(found: Complexity) -> str:
    """Return all of it, and what it is of and where it was counted."""
    return f"network: {line(found)}; {basis(found)}; {MEANING}"


def _operations(count: float) -> str:
    return f"{count:,.6g}" if count < 100 else f"{count:,.0f}"
