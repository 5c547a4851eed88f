# SPDX-License-Identifier: Apache-2.0
"""Pages of a site: the leaderboards, and a session's report with traces that zoom."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import matplotlib.style

from rig.report.palette import DARK, LIGHT
from rig.report.replication import dots
from rig.report.report import content, metric_rows, templates
from rig.report.style import STYLE
from rig.results.document import Results
from rig.store.session_folder import SessionFolder

_INDEX = "site/index.html"
_SESSION = "site/session.html"
#: Files of a site -> where they are in rig/report/site.
_FILES = {
    "site.js": "site.js",
    "uPlot.js": "uplot/uPlot.iife.min.js",
    "uPlot.css": "uplot/uPlot.min.css",
    "uPlot-LICENSE.txt": "uplot/LICENSE",
}


def assets() -> dict[str, str]:
    """Return the files that all pages share, by their names."""
    folder = files("rig.report.site")
    found = {
        name: folder.joinpath(place).read_text(encoding="utf-8")
        for name, place in _FILES.items()
    }
    colours = {"palette": {"LIGHT": LIGHT, "DARK": DARK}}
    sheets = ("page.css", "site/site.css")
    styles = [templates().get_template(name).render(colours) for name in sheets]
    return found | {"site.css": "\n".join(styles)}


def index_page(facts: Mapping[str, Any]) -> str:
    """Return the first page: the leaderboards."""
    return templates().get_template(_INDEX).render(facts)


def session_page(
    folder: SessionFolder, results: Results, facts: Mapping[str, Any]
) -> str:
    """Return the page of a session: its report, with traces that zoom in the place of
    pictures of samples.
    """
    page = content(folder, results)
    with matplotlib.style.context(["default", STYLE]):
        plots = {"trials": dots(metric_rows(results), results)}
    return (
        templates()
        .get_template(_SESSION)
        .render(page, plots=plots, pictures=(), **facts)
    )
