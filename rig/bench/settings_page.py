# SPDX-License-Identifier: Apache-2.0
"""docs/reference/SETTINGS.md: every setting of every installed plug-in, as its Settings
declare it.

python -m rig.bench.settings_page > docs/reference/SETTINGS.md
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterator

from rig.bench import plugins
from rig.bench.config import BenchSettings
from rig.bench.place_settings import LabgridSettings
from rig.settings.fields import SettingField, fields_of, flat

_WIDTH = 100
_HEAD = """\
# Settings

Every key of a bench file: its type, unit, default and range, as the code declares it. `rig list
sut.uart` prints the same for one kind. A value outside its range is refused before anything is
opened. This page is generated: `python -m rig.bench.settings_page > docs/reference/SETTINGS.md`.

Units: `1` is a ratio, `count` a number of things, `number` names one of several or is a seed.
"""  # noqa: E501


def page() -> str:
    """Return the whole page."""
    parts = [
        _HEAD,
        *_part("bench", "", BenchSettings),
        *_part("labgrid", "", LabgridSettings),
    ]
    for section in plugins.GROUPS:
        for kind in plugins.names(section):
            plugin = plugins.find(section, kind)
            about = plugins.first_paragraph(plugin.__doc__)
            parts += _part(f"{section}.{kind}", about, plugin.Settings)
    return "\n".join(parts)


def _part(name: str, about: str, settings: type) -> Iterator[str]:
    yield f"## [{name}]\n"
    for text in filter(None, (about, *(inspect.getdoc(settings) or "").split("\n\n"))):
        yield textwrap.fill(" ".join(text.split()), _WIDTH) + "\n"
    lines: list[str] = []
    for place, field in flat(fields_of(settings)):
        lines.append(_line(place, field))
        lines += [_line(f"{place}[].{part.name}", part) for part in field.nested]
    yield "\n".join(lines) + "\n"


def _line(name: str, field: SettingField) -> str:
    return textwrap.fill(
        f"- `{name}` ({field.summary}): {field.help}",
        _WIDTH,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    sys.stdout.write(page())
