# SPDX-License-Identifier: Apache-2.0
"""The report page of sessions on the virtual bench."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, Any

import pytest
from matplotlib.figure import Figure

import rig
from lab.faults.forger import rehash
from rig.errors import DataError
from rig.report.report import write_report

pytestmark = pytest.mark.computes

BENCH = Path(__file__).parents[3] / "benches" / "virtual-null.toml"
LIMIT_B = 1_500_000
HOSTILE = "<script>alert('x')</script>&\"{{ 7 * 6 }}"


class Page(HTMLParser):
    """Collect a test's requests to a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """Return everything a reader can read, and the style sheet."""
        return " ".join("".join(self.words).split())


def measure(root: Path, overrides: Sequence[str] = (), trials: int = 2) -> Path:
    settings = ["task.null.samples=6", "scenario.single_stream.idle_s=0.05", *overrides]
    with rig.open_bench(BENCH, settings) as bench:
        return bench.run(trials, root=root).path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure(tmp_path_factory.mktemp("sessions"), trials=5)


@pytest.fixture(scope="module")
def page(session: Path) -> Page:
    return Page(write_report(session))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out no figure and write its title alone: half of the time of a page, for
    tests that look at words alone.
    """

    def titled(figure: Figure, to: IO[str], **options: object) -> None:
        title = " ".join(text.get_text() for text in figure.texts)
        to.write(f'<svg viewBox="0 0 1 1"><text>{title}</text></svg>')

    monkeypatch.setattr(Figure, "savefig", titled)


@pytest.fixture
def copy(session: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(session, tmp_path / session.name))


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (folder / "results.json").read_text(encoding="utf-8")
    )
    return content


def change(folder: Path, content: dict[str, Any]) -> None:
    """Give a session other results, as if it had been measured so: with their hash."""
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    rehash(folder)


def test_the_page_is_one_file_that_fetches_nothing(session: Path, page: Page) -> None:
    assert page.source.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(page.tags)
    fetched = [
        value or ""
        for name, value in page.attributes
        if name in ("src", "href", "xlink:href", "srcset", "data")
    ]
    assert [
        value for value in fetched if not value.startswith(("#", "data:image/"))
    ] == []
    assert "@import" not in page.source
    assert page.source.count("url(") == page.source.count("url(#")
    assert (session / "report.html").stat().st_size < LIMIT_B


def test_every_id_of_the_page_is_there_once(page: Page) -> None:
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_the_page_shows_metrics_verdict_and_problems(session: Path, page: Page) -> None:
    for name in results(session)["metrics"]:
        assert f"<code>{name}</code>" in page.source
    assert "PASS (simulated, random bytes)" in page.text
    assert "self-consistency-5-percent" in page.text
    assert "none in any trial" in page.text
    assert "means of 1 ms" not in page.text
    assert "rig check SESSION" in page.text
    assert page.tags.count("svg") == 5
    assert (
        "not stated in the bench file's [metadata] (key components_included)"
        in page.text
    )


def test_what_must_stand_beside_the_numbers_is_in_the_title_at_the_top_and_in_every_plot(
    page: Page,
) -> None:
    assert "<title>SIMULATED, RANDOM BYTES" in page.source
    banner = page.source.split('role="alert"')[1].split("</div>")[0]
    assert (
        "<b>SIMULATED</b> device and monitor are simulated" in banner
        and "<b>RANDOM BYTES</b>" in banner
    )
    plots = page.source.split("<svg ")[1:]
    assert all("SIMULATED, RANDOM BYTES" in plot.split("</svg>")[0] for plot in plots)


@pytest.mark.usefixtures("undrawn")
def test_generated_data_on_a_real_device_are_marked_as_simulation_is(
    copy: Path,
) -> None:
    content = results(copy)
    content["simulated"] = False
    content["data"]["labels"] = [
        {"text": "GENERATED DATA", "statement": "generated data, not the data set"}
    ]
    change(copy, content)
    page = Page(write_report(copy))
    assert (
        "<title>GENERATED DATA" in page.source and "PASS (generated data)" in page.text
    )
    assert "<b>GENERATED DATA</b> generated data, not the data set" in page.source
    assert all(
        "GENERATED DATA" in plot.split("</svg>")[0]
        for plot in page.source.split("<svg ")[1:]
    )


@pytest.mark.usefixtures("undrawn")
def test_official_data_on_a_real_device_have_no_banner(copy: Path) -> None:
    content = results(copy)
    content["simulated"], content["data"]["labels"] = False, []
    change(copy, content)
    source = write_report(copy).read_text(encoding="utf-8")
    assert 'role="alert"' not in source and "<title>virtual-null" in source


@pytest.mark.usefixtures("undrawn")
def test_what_is_not_simulated_does_not_say_so(copy: Path) -> None:
    content = results(copy)
    content["simulated"] = False
    change(copy, content)
    source = write_report(copy).read_text(encoding="utf-8")
    assert "SIMULATED" not in source
    assert "(simulated)" not in source


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("unknown", "shown"),
    [({}, ""), ({"revision_unknown": "git is slow"}, "not known: git is slow")],
)
def test_a_rig_without_a_revision_has_a_page(
    copy: Path, unknown: dict[str, str], shown: str
) -> None:
    """As one from a package, outside of a repository."""
    content = results(copy)
    content["provenance"] |= {"revision": "", **unknown}
    change(copy, content)
    assert shown in Page(write_report(copy)).text


def test_the_method_states_how_the_ends_of_a_window_and_lost_samples_count(
    page: Page,
) -> None:
    method = page.text.split("Method", 1)[1]
    assert (
        "with the reading of its neighbour inside, as the power steps there" in method
    )
    assert "Lost samples inside a window count as the mean of the others" in method
    assert "more than 10 % of its samples" in method
    assert (
        "neither its transfer nor the scoring of the answer lies in a window" in method
    )


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("bench", "short", "states"),
    [
        (
            "virtual-real-time",
            ["scenario.real_time.duration_s=12.0"],
            "they contain every wait of the window, for the one before it and for its"
            " transfer",
        ),
        (
            "virtual-offline",
            ["scenario.offline.min_duration_s=0.5", "task.asc.samples=10"],
            "a batch of loaded samples in several rounds",
        ),
        (
            "virtual-qubo",
            ["scenario.optimization.timeouts_s=[0.01]", "task.qubo.nodes=[100]"],
            "The device marks the start of each search, its end, and each threshold",
        ),
    ],
)
def test_the_method_states_what_lies_in_the_windows_of_the_scenario(
    bench: str, short: list[str], states: str, tmp_path: Path
) -> None:
    with rig.open_bench(BENCH.with_name(f"{bench}.toml"), short) as opened:
        session = opened.run(1, root=tmp_path).path
    method = Page(write_report(session)).text.split("Method", 1)[1]
    assert states in method
    assert "so neither its transfer nor the scoring" not in method


def test_the_same_session_gives_the_same_page(session: Path, page: Page) -> None:
    (session / "report.html").unlink()
    assert write_report(session).read_text(encoding="utf-8") == page.source


def test_hostile_text_stays_text(copy: Path) -> None:
    content = results(copy)
    content["bench"] = content["provenance"]["sut"]["name"] = content["replication"][
        "reason"
    ] = HOSTILE
    content["provenance"]["metadata"] = {
        "architecture": HOSTILE,
        HOSTILE: [HOSTILE, {HOSTILE: 1}],
    }
    content["provenance"]["task"]["phases"] = ["$\\frac{<b>", "</text></svg><script>"]
    content["problems"] = [{"trial": 1, "code": HOSTILE, "detail": HOSTILE}]
    change(copy, content)
    page = Page(write_report(copy))
    assert "script" not in page.tags
    assert page.tags.count("svg") == 5
    assert HOSTILE in page.text


@pytest.mark.usefixtures("undrawn")
def test_metadata_of_any_shape_is_shown(tmp_path: Path) -> None:
    parts = 'metadata.components_included=["core", "SRAM"]'
    page = Page(
        write_report(
            measure(
                tmp_path,
                [parts, 'metadata.algorithm="SNN"', "metadata.board.revision=3"],
            )
        )
    )
    assert "core" in page.words
    assert "SNN" in page.words
    assert "revision" in page.words
    assert "key components_included" not in page.text
    assert "key components_omitted" in page.text


@pytest.mark.usefixtures("undrawn")
def test_problems_of_an_invalid_trial_are_shown_with_their_meaning(
    tmp_path: Path,
) -> None:
    page = Page(write_report(measure(tmp_path, ["monitor.virtual.edge_jitter_s=1e-5"])))
    assert "INVALID (simulated, random bytes)" in page.text
    assert "SYNC edges do not lie on one line with the device's ticks" in page.text
    assert "trials are invalid" in page.text


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "fault",
    ["monitor.virtual.edge_jitter_s=1e-3", "monitor.virtual.edge_jitter_s=3e-3"],
)
def test_a_session_with_nothing_to_measure_still_has_a_page(
    tmp_path: Path, fault: str
) -> None:
    page = Page(write_report(measure(tmp_path, [fault])))
    assert "SYNC edges are missing or too many" in page.text
    assert "n/a" in page.text


@pytest.mark.usefixtures("undrawn")
def test_a_trial_beyond_the_limit_is_flagged(copy: Path) -> None:
    content = results(copy)
    metric = content["metrics"]["energy_total"]
    metric["per_trial"][2]["value"] = 1.2 * metric["value"]
    change(copy, content)
    assert "+20.00 % ▲" in Page(write_report(copy)).text


def test_claimed_values_and_the_audit_are_shown(tmp_path: Path) -> None:
    page = Page(
        write_report(
            measure(
                tmp_path, ["claim.latency_infer=0.0417", "claim.energy_total=0.001"]
            )
        )
    )
    assert "replication-5-percent" in page.text
    assert "audit-95-percent" in page.text
    assert "41.7" in page.words
    assert "deviation from the claimed value" in page.text


@pytest.mark.usefixtures("undrawn")
def test_one_trial_is_enough_for_a_page(tmp_path: Path) -> None:
    page = Page(
        write_report(measure(tmp_path, ["scenario.single_stream.repeat=3"], trials=1))
    )
    assert "1 trial of the 5" in page.text
    assert "3 runs of each phase in a row" in page.text


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:5000])]
)
def test_a_trace_that_is_missing_or_damaged_is_not_opened(
    copy: Path, damage: Callable[[Path], object]
) -> None:
    damage(copy / "trial-1" / "trace.jls")
    page = Page(write_report(copy))
    assert "trial-1/trace.jls is missing, was changed, or cannot be read" in page.text
    assert page.tags.count("svg") == 3


def test_lost_samples_are_drawn_and_leave_the_page_whole(copy: Path) -> None:
    samples = copy / "trial-1" / "samples.jsonl"
    lines = [
        json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()
    ]
    for line in lines:
        for window in line.get("windows", ()):
            window["energy_j"] = None
    samples.write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    (copy / "trial-1" / "gaps.jsonl").write_text(
        '{"start": 0, "stop": 100000, "cause": "test"}\n', encoding="utf-8"
    )
    assert Page(write_report(copy)).tags.count("svg") == 5


def test_many_samples_keep_the_page_small(tmp_path: Path) -> None:
    fast = [
        "sut.virtual.preprocess.duration_s=0.001",
        "sut.virtual.infer.duration_s=0.001",
    ]
    folder = measure(
        tmp_path,
        ["task.null.samples=500", "monitor.virtual.sample_hz=100_000", *fast],
        trials=1,
    )
    path = folder / "trial-1" / "samples.jsonl"
    path.write_text(path.read_text(encoding="utf-8") * 24, encoding="utf-8")
    assert write_report(folder).stat().st_size < LIMIT_B


def test_a_session_that_did_not_finish_is_refused(copy: Path) -> None:
    (copy / "results.json").unlink()
    (copy / "report.html").unlink(missing_ok=True)
    with pytest.raises(DataError, match="rig check"):
        write_report(copy)
    assert not (copy / "report.html").exists()


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(b"\xff")]
)
def test_a_session_without_its_bench_is_refused(
    copy: Path, damage: Callable[[Path], object]
) -> None:
    damage(copy / "bench.toml")
    with pytest.raises(DataError, match=r"bench\.toml cannot be read") as caught:
        write_report(copy)
    assert f"rig check {copy}" in caught.value.try_next


def test_results_of_another_schema_are_refused(copy: Path) -> None:
    change(copy, results(copy) | {"schema": "neurorig-results-99"})
    with pytest.raises(DataError, match="neurorig-results-3"):
        write_report(copy)


@pytest.mark.usefixtures("undrawn")
def test_a_slow_tick_of_the_device_widens_the_limit_that_the_page_shows(
    tmp_path: Path,
) -> None:
    folder = measure(tmp_path, ["sut.virtual.tick_hz=32768"], trials=1)
    page = write_report(folder).read_text(encoding="utf-8")
    assert results(folder)["problems"] == []
    assert "the limit is 40.52 µs" in page and 'class="n flag"' not in page
