# SPDX-License-Identifier: Apache-2.0
"""Power the device and talk to it: what is there, what is wrong, what to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from rig import config, plugins
from rig.finding import Finding
from rig.session import open_part
from rig.sut import SutInfo
from rig.table import Table


def probe(path: Path | str, overrides: Sequence[str] = ()) -> Iterator[Finding]:
    """Power the device and talk to it, one finding a step; a backend with a `probe` of its own says more than that it opens."""
    resolved = config.load(Path(path), overrides)
    table = Table(folder=resolved.folder, seed=resolved.bench.seed)
    yield Finding(
        "bench file", True, f"{resolved.sut.kind} and {resolved.monitor.kind}, {resolved.scenario.kind} of {resolved.task.kind}"
    )
    with ExitStack() as stack:
        task = open_part("task", resolved, table)
        table.reference = getattr(task, "reference", None)
        yield Finding("task", True, f"{task.name}, {len(task)} samples of {len(task.payload(0))} bytes")
        monitor = open_part("monitor", resolved, table)
        stack.callback(monitor.close)
        monitor.power(True)
        yield Finding("monitor", True, f"{monitor.info.name}, {monitor.info.sample_hz} samples per second; supply on")
        kind, failed = plugins.find("sut", resolved.sut.kind), False
        if hasattr(kind, "probe"):
            for finding in kind.probe(resolved.sut.settings, table):
                yield finding
                if not finding.ok:
                    failed = True
            if failed:
                return
        sut = stack.enter_context(closing(kind.open(resolved.sut.settings, table)))
        yield Finding("device", True, _about(sut.info))
        completion = sut.sync()
        yield Finding("SYNC burst", len(completion.marks) > 1, f"{len(completion.marks)} marks")


def _about(info: SutInfo) -> str:
    said = [info.name, info.firmware, f"runs {info.model or info.task}", f"{info.tick_hz} ticks per second", info.link]
    return ", ".join(filter(None, said))
