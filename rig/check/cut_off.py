# SPDX-License-Identifier: Apache-2.0
"""A trial that was cut off: what can still be measured of it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rig.check.reasons import cause
from rig.check.written_again import means
from rig.model.finding import Finding, FindingKind
from rig.model.trial import Trial
from rig.results import results
from rig.store.segments import segments
from rig.store.session_folder import RECORDED
from rig.trace.recovery import Begun, recover
from rig.trace.trace import PARTIAL, TRACE


def cut_off(
    context: results.Context,
    path: Path,
    number: int,
    seed: int,
    begun: Begun | None = None,
) -> tuple[Trial | None, list[Finding]]:
    """Measure the steps of a killed or failed trial; the original files stay untouched.
    `begun` as of `recover`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for place in segments(path):
                for rail in context.provenance.monitors:
                    _readable(
                        place / rail,
                        Path(scratch) / place.relative_to(path) / rail,
                        begun,
                    )
            trial = results.reduce_trial(context, path, number, seed, Path(scratch))
        except Exception as error:
            why = f"was cut off, and nothing of it can be measured: {cause(error)}"
            return None, [_finding(path, why)]
    pairs = f"{trial.counts.pairs} of {trial.counts.marks} marks have an edge"
    if not context.monitored:
        pairs = f"{trial.counts.marks} marks"
    detail = f"was cut off: {len(trial.measured.samples)} samples measured, {pairs}"
    return None, [_finding(path, detail + means(trial))]


def _finding(path: Path, detail: str) -> Finding:
    return Finding(path.name, False, detail, kind=FindingKind.CUT_OFF)


def _readable(folder: Path, scratch: Path, begun: Begun | None) -> None:
    """Put a copy of a trace that can be opened, and what lies beside it, into
    `scratch`."""
    scratch.mkdir(parents=True, exist_ok=True)
    if (folder / PARTIAL).exists():
        recover(folder / PARTIAL, scratch / TRACE, begun)
    for name in RECORDED:
        if (folder / name).exists() and not (scratch / name).exists():
            (scratch / name).symlink_to((folder / name).resolve())
