# SPDX-License-Identifier: Apache-2.0
"""A report by another revision: other wording and layout pass, other numbers and labels
do not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import rig
from lab.faults import forgeries
from rig.api.report import write_report
from rig.check import report_again
from rig.model.finding import Finding
from rig.store import provenance_file
from rig.store.event_file import write_derived
from rig.store.session_folder import SessionFolder
from tests import checking
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.computes

Edit = Callable[[str], str]
#: The second trial's last edges lie off the line: a problem.
JITTER = "monitor.virtual.edge_jitter_s=1e-5"


def measured(root: Path, *overrides: str, trials: int = 2) -> Path:
    settings = ["task.null.samples=4", "scenario.single_stream.idle_s=0.05", *overrides]
    with rig.open_bench(VIRTUAL_NULL, settings) as bench:
        folder = bench.run(trials, root).path
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("good"))


@pytest.fixture(scope="module")
def invalid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("bad"), JITTER, trials=1)


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the rig that checks be another revision than the one that measured."""
    monkeypatch.setattr(report_again, "is_this_source", lambda recorded: False)


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def found(
    session: Path, page: str, monkeypatch: pytest.MonkeyPatch, root: Path
) -> list[Finding]:
    """Return the findings on another page; the one of `session` stands for it made
    again."""
    again = page_of(session)
    monkeypatch.setattr("rig.report.report.rendered", lambda *given, **more: again)
    folder = shutil.copytree(
        session,
        root / session.name,
        ignore=shutil.ignore_patterns("*.jls", "report.html"),
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    recorded = provenance_file.read(SessionFolder(folder))
    return list(report_again.compared(folder, recorded, ()))


def replaced(old: str, new: str, count: int = 1) -> Edit:
    def edit(page: str) -> str:
        assert old in page, old
        return page.replace(old, new, count)

    return edit


def row(name: str, change: Edit) -> Edit:
    """Change the row of a metric in the table of results."""

    def edit(page: str) -> str:
        match = re.search(
            rf'<tr><th scope="row"><code>{name}</code>.*?</tr>', page, re.DOTALL
        )
        assert match is not None
        new = change(match[0])
        assert new != match[0]
        return page.replace(match[0], new)

    return edit


def cell(number: int, change: Edit) -> Edit:
    """Change a cell of a row, counted after its heading."""

    def edit(row: str) -> str:
        cells = re.findall(r"<td.*?</td>", row, re.DOTALL)
        return row.replace(cells[number], change(cells[number]))

    return edit


def digits(text: str) -> str:
    """Change the last digit of a text's first number with a decimal point by one."""
    match = re.search(r">[^<>]*?(\d+\.\d+)", text)
    assert match is not None
    last = match.end() - 1
    return text[:last] + str((int(text[last]) + 5) % 10) + text[last + 1 :]


def swapped_trials(row: str) -> str:
    *_, item, other = re.findall(r"<td.*?</td>", row, re.DOTALL)
    return row.replace(item, "@").replace(other, item).replace("@", other)


def moved_labels(around: str) -> Edit:
    """Move the labels from the head of the page into an element that may hide them."""

    def edit(page: str) -> str:
        match = re.search(r'<div class="marked".*?</div>', page, re.DOTALL)
        assert match is not None
        hidden = around.replace(
            "@", match[0].replace(' class="marked" role="alert"', "")
        )
        return page.replace(match[0], "").replace("</main>", hidden + "</main>")

    return edit


def more_css(rule: str) -> Edit:
    return replaced("</style>\n</head>", f"{rule}\n</style>\n</head>")


def in_page(content: str) -> Edit:
    return replaced("</header>", f"</header>{content}")


def first_row(page: str) -> str:
    match = re.search(
        r'<tr><th scope="row"><code>latency_total</code>.*?</tr>', page, re.DOTALL
    )
    assert match is not None
    return match[0]


def without_words(page: str) -> str:
    return page.replace("neurorig measurement report", "A report of neurorig").replace(
        "Each problem makes", "Every problem makes"
    )


def sections_moved(page: str) -> str:
    match = re.search(r'<section id="power">.*?</section>', page, re.DOTALL)
    assert match is not None
    return page.replace(match[0], "").replace("</main>", match[0] + "</main>")


HONEST: dict[str, Edit] = {
    "other words": without_words,
    "another order": sections_moved,
    "another layout": more_css(
        ".tile { padding: 20px; border-radius: 4px; font-size: 14px; }"
    ),
    "another heading of a column": replaced("SE over<br>samples", "standard error", 2),
    "a class renamed": replaced('class="kind"', 'class="head"'),
    "fewer digits": row(
        "latency_total", cell(0, lambda text: re.sub(r"(\.\d)\d+", r"\1", text))
    ),
    "a sentence more": in_page("<p>Measured with care.</p>"),
    "no tiles": lambda page: re.sub(
        r'<div class="tile">.*?</div>', "", page, flags=re.DOTALL
    ),
    "no picture of the residuals": lambda page: re.sub(
        r'<svg [^>]*class="residuals">.*?</svg>', "", page, flags=re.DOTALL
    ),
}
FORGED: dict[str, tuple[Edit, str]] = {
    "a value": (row("latency_total", cell(0, digits)), "'value'"),
    "an interval": (row("energy_total", cell(2, digits)), "'same samples (95 %)'"),
    "a unit": (row("energy_total", cell(1, lambda text: "<td>nJ</td>")), "'unit'"),
    "trials swapped": (row("latency_total", swapped_trials), "'trial 1'"),
    "a deviation flagged no more": (
        row(
            "energy_total",
            cell(-1, lambda text: text.replace("</small>", " ▲</small>")),
        ),
        "▲",
    ),
    "a heading and a value": (
        lambda page: replaced("SE over<br>samples", "error")(
            row("latency_total", cell(0, digits))(page)
        ),
        "latency_total",
    ),
    "a heading, and no value": (
        lambda page: replaced("SE over<br>samples", "error")(
            row("latency_total_p99", cell(0, lambda text: "<td></td>"))(page)
        ),
        "latency_total_p99",
    ),
    "the verdict": (
        replaced("<strong>NOT TESTED", "<strong>✓ PASS"),
        "verdict is PASS",
    ),
    "the outcome of the rule": (
        replaced(">was not tested<", ">holds<"),
        "of its rules",
    ),
    "a tile": (
        lambda page: re.sub(
            r'(<div class="tile"><code>energy_total</code><b>)[\d.]+',
            r"\g<1>0.001",
            page,
        ),
        "its tile 'energy_total'",
    ),
    "no label": (
        moved_labels(""),
        "does not show the label SIMULATED above its tables",
    ),
    "a label in print only": (
        moved_labels('<div class="watermark">@</div>'),
        "label SIMULATED",
    ),
    "a label folded away": (
        moved_labels("<details><summary>more</summary>@</details>"),
        "label SIMULATED",
    ),
    "no label in the title": (
        lambda page: re.sub(r"<title>.*?</title>", "<title>x</title>", page),
        "its title lacks",
    ),
    "no label in a picture": (
        lambda page: re.sub(
            r">SIMULATED, RANDOM BYTES</text>", "></text>", page, count=1
        ),
        "picture",
    ),
    "a row twice": (
        lambda page: page.replace(first_row(page), first_row(page) * 2),
        "row 'latency_total' more",
    ),
    "a row less": (
        lambda page: page.replace(first_row(page), ""),
        "lacks the row 'latency_total'",
    ),
    "a row of a new metric": (
        lambda page: page.replace(
            first_row(page),
            first_row(page) + first_row(page).replace("latency_total", "latency_best"),
        ),
        "row 'latency_best' more",
    ),
    "a second table": (
        in_page(
            "<table><tbody><tr><td>energy_total</td><td>0.123"
            " mJ</td></tr></tbody></table>"
        ),
        "energy_total",
    ),
    "a number in a sentence": (in_page("<p>The energy is 0.123 mJ.</p>"), "'0.123'"),
    "a number in two parts": (
        in_page("<p>It takes 4<b>4</b><i>.125</i> ms.</p>"),
        "'44.125'",
    ),
    "a number in a hint": (in_page('<p title="0.123 mJ">energy</p>'), "'0.123'"),
    "another device": (
        lambda page: re.sub(
            r"(<dt>system under test</dt><dd>)[^<]*", r"\g<1>Loihi", page, count=1
        ),
        "Loihi",
    ),
    "another device by another name": (
        lambda page: re.sub(
            r"<dt>system under test</dt><dd>[^<]*",
            "<dt>chip</dt><dd>Loihi",
            page,
            count=1,
        ),
        "does not name the system under test",
    ),
    "a fact of the provenance": (
        lambda page: re.sub(
            r"(<dt>model</dt><dd><span class=\"text\">)[^<]*", r"\g<1>other", page
        ),
        "'other' of 'model'",
    ),
    "labels hidden by the sheet": (more_css(".marked { display: none; }"), ".marked"),
    "labels moved by the sheet": (more_css(".marked { margin: -9999px; }"), ".marked"),
    "labels in the colour of the page": (
        more_css(".marked b { color: #f2b807; }"),
        ".marked b",
    ),
    "labels too small to read": (more_css(".marked { font-size: 1px; }"), ".marked"),
    "text added by the sheet": (
        more_css('.badge::after { content: "PASS"; }'),
        ".badge",
    ),
    "a sheet that hides in print": (
        more_css("@media print { .marked { visibility: hidden; } }"),
        "@media print",
    ),
    "a sheet from elsewhere": (
        more_css('@import "https://example.org/x.css";'),
        "style sheet",
    ),
    "a sheet with a comment": (more_css("/* } .marked { display: none } */"), "'/*'"),
    "a sheet that closes elsewhere": (more_css('p { quotes: "}" }'), "style sheet"),
    "a sheet in a picture": (
        lambda page: re.sub(
            r'(<style type="text/css">)', r"\1.marked{display:none}", page, count=1
        ),
        "a picture has the style sheet",
    ),
    "a script": (in_page("<script>document.title=1</script>"), "<script>"),
    "what runs": (in_page('<p onclick="x()">a</p>'), "onclick"),
    "an image": (in_page('<img src="data:image/png;base64,AAAA">'), "<img"),
    "a frame": (in_page('<iframe src="https://example.org"></iframe>'), "<iframe"),
    "a reference": (in_page('<a href="https://example.org">more</a>'), "href"),
    "a style of its own": (in_page('<p style="position:fixed">a</p>'), "style="),
    "a picture from elsewhere": (
        replaced('clip-path="url(#', 'clip-path="url(https://example.org/#'),
        "clip-path",
    ),
    "a comment": (in_page("<!-- > <script> -->"), "<!--"),
    "an element that is not closed": (in_page("<details>"), "<details>"),
    "an invisible character": (in_page("<p>a\u200bb</p>"), "cannot be seen"),
    "a picture more": (
        in_page(
            '<svg xmlns="http://www.w3.org/2000/svg"'
            ' class="x"><text>SIMULATED</text></svg>'
        ),
        "picture 'x' more",
    ),
    "a thousand rows more": (
        in_page(f"<table><tbody>{'<tr><td>5</td></tr>' * 1000}</tbody></table>"),
        "rows of tables, made again",
    ),
    "a page a thousand times as long": (in_page("<p>a</p>" * 300_000), "characters"),
}


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize("edit", HONEST.values(), ids=HONEST)
def test_a_page_that_says_the_same_otherwise_passes_and_what_was_compared_is_reported(
    session: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = edit(page_of(session))
    assert page != page_of(session)
    [only] = found(session, page, monkeypatch, tmp_path)
    assert only.ok, only
    assert "made by another revision: 2 labels" in only.detail
    assert (
        "pictures are equal, the others, wording and layout were not compared"
        in only.detail
    )


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize(("edit", "named"), FORGED.values(), ids=FORGED)
def test_a_page_with_other_numbers_or_labels_is_refused_and_the_difference_named(
    session: Path,
    edit: Edit,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    page = edit(page_of(session))
    assert page != page_of(session)
    differing = found(session, page, monkeypatch, tmp_path)
    assert not any(item.ok for item in differing)
    assert any(named in item.detail for item in differing), differing


@pytest.mark.usefixtures("other")
def test_a_problem_that_was_left_out_is_missed(
    invalid: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = page_of(invalid)
    match = re.search(
        r'<section id="problems">.*?(<tr><td>1</td>.*?</tr>)', page, re.DOTALL
    )
    assert match is not None
    differing = found(invalid, page.replace(match[1], ""), monkeypatch, tmp_path)
    assert any("lacks the row" in item.detail for item in differing), differing


@pytest.mark.usefixtures("other")
def test_the_check_of_a_session_makes_the_page_again_and_compares_it(
    session: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(session, tmp_path / session.name)
    write_derived(SessionFolder(folder), "report.html", without_words(page_of(session)))
    checked = checking.check(folder)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    [of_page] = [
        finding
        for finding in checked.findings
        if finding.name == "report.html" and " " in finding.detail
    ]
    assert "made by another revision" in of_page.detail

    page = row("energy_total", cell(0, digits))(page_of(session))
    write_derived(SessionFolder(folder), "report.html", page)
    checked = checking.check(folder)
    assert not checked.ok
    assert any(
        "its row 'energy_total' tells" in finding.detail for finding in checked.findings
    )


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize("kind", ["optimization", "real_time", "rails"])
def test_the_page_of_every_scenario_can_be_compared(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = forgeries.session(kind, tmp_path / "made", trials=1)
    reworded = replaced("neurorig measurement report", "report")(page_of(folder))
    [only] = found(folder, reworded, monkeypatch, tmp_path)
    assert only.ok, only
    swapped = re.sub(r"data:image/png;base64,.", "data:image/png;base64,/", reworded)
    if swapped != reworded:
        [image] = found(folder, swapped, monkeypatch, tmp_path / "image")
        assert "has an image that none made again has" in image.detail


def test_only_the_mark_for_print_is_hidden_by_the_style_sheet(session: Path) -> None:
    sheet = page_of(session).split("<style>")[1].split("</style>")[0]
    hiding = [
        line for line in sheet.splitlines() if "none" in line.split("display:")[-1][:6]
    ]
    assert hiding == [".watermark { display: none; }"]
