# SPDX-License-Identifier: Apache-2.0
"""Files of a trace's annotations, and the link that lets Joulescope UI find them beside
a session.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from rig.api.traces.place import TracePlace
from rig.trace.trace import TRACE

#: Joulescope UI looks for annotations of NAME.jls in files NAME.anno*.jls.
_SUFFIX = ".anno.jls"


def annotation_path(path: Path, place: TracePlace | None) -> Path:
    """Return the file of annotations: beside the trace; of a trace in a session beside
    the session, whose files stay as they are.
    """
    if place is None:
        return path.with_suffix(_SUFFIX)
    parts = [f"trial-{place.trial}"]
    parts += [f"segment-{place.segment}"] if place.segment > 1 else []
    parts += [place.rail] if place.rail else []
    name = ".".join([place.session.name, *parts])
    return place.session.with_name(name + _SUFFIX)


def annotation_files(annotations: Path) -> list[Path]:
    """Return all files of annotations beside the one of a trace, in order."""
    stem = annotations.name.removesuffix(_SUFFIX)
    ordered = sorted(annotations.parent.iterdir())
    found = []
    for path in ordered:
        if path.name.startswith(f"{stem}.anno") and path.suffix == ".jls":
            found.append(path)
    return found


def linked(annotations: Path, trace: Path) -> Path | None:
    """Return the file to open in Joulescope UI, where it is this trace or a link to
    it; None where there is none.
    """
    path = _link_path(annotations)
    is_this = path.exists() and path.resolve() == trace.resolve()
    return path if is_this else None


def link(annotations: Path, trace: Path) -> None:
    """Link to a trace in a session beside its annotations; not to one that was cut off,
    which another program would repair in its place.
    """
    folder = annotations.parent.resolve()
    whole = trace.resolve()
    if whole.name == TRACE and folder in whole.parents:
        # There may be a link already, or a system without links.
        with suppress(OSError):
            _link_path(annotations).symlink_to(os.path.relpath(whole, folder))


def _link_path(annotations: Path) -> Path:
    stem = annotations.name.removesuffix(_SUFFIX)
    return annotations.with_name(f"{stem}.jls")
