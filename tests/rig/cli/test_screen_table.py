# SPDX-License-Identifier: Apache-2.0
"""Every command of the click tree has stored screens: a good case and three errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from tests import click_tree
from tests.rig.cli import test_campaign_screens as on_grids
from tests.rig.cli import test_command_screens as alone
from tests.rig.cli import test_screens as parts
from tests.rig.cli import test_session_screens as on_sessions
from tests.rig.cli.printed import test_summary as summary

ERRORS_DUE = 3
_FAILED = re.compile(
    r"^(error |problem$|exit code (?!0|4$)| *(?:FAIL|INVALID|wrong)\b)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Screens:
    """Names of the stored screens of a command, in one string each; `reason`: why there
    is no good case.
    """

    good: str
    errors: str
    reason: str = ""


TABLE = {
    "audit": Screens(
        "audit",
        "audit-changed audit-no-audit audit-no-bench audit-no-session audit-other-task",
    ),
    "bench list": Screens(
        "bench-list", "bench-list-extra bench-list-no-command bench-list-no-option"
    ),
    "bench new": Screens("bench-new", "bench-there bench-unknown bench-no-folder"),
    "bundle": Screens("bundle", "bundle-no-bench bundle-no-folder bundle-no-session"),
    "campaign": Screens(
        "campaign-done",
        "campaign-empty-axis campaign-no-grid campaign-none-done campaign-status"
        " campaign-table campaign-too-many campaign-wrong-setting",
    ),
    "check": Screens(
        "check",
        "check-changed check-claim check-cut-off check-damaged-trace check-no-session"
        " check-wide check-wrong-option",
    ),
    "compare": Screens(
        "compare compare-all compare-cut-off compare-networks compare-other-task",
        "compare-baseline compare-baseline-lacking compare-baseline-none"
        " compare-backends compare-changed compare-no-session compare-nothing"
        " compare-several",
    ),
    "coverage": Screens(
        "coverage", "coverage-edited coverage-no-grid coverage-no-session"
    ),
    "demo": Screens("demo", "demo-no-bench demo-wrong-bench demo-wrong-option"),
    "doctor": Screens("doctor-all", "doctor-missing doctor-no-bench doctor-no-option"),
    "docs": Screens("docs-pages", "docs-extra docs-no-option docs-no-page"),
    "firmware boards": Screens(
        "firmware-boards firmware-boards-pico firmware-boards-wires",
        "firmware-boards-extra firmware-boards-no-option firmware-boards-unknown",
    ),
    "firmware build": Screens(
        "firmware-build",
        "firmware-build-idle firmware-no-model firmware-no-project",
    ),
    "firmware emulate": Screens(
        "firmware-emulate",
        "firmware-emulate-no-image firmware-emulate-no-machine"
        " firmware-emulate-other-file",
    ),
    "firmware flash": Screens(
        "firmware-flash",
        "firmware-flash-no-tool firmware-flash-workload firmware-no-image",
    ),
    "firmware new": Screens(
        "firmware-new",
        "firmware-new-no-folder firmware-new-no-monitor firmware-new-no-port"
        " firmware-new-there",
    ),
    "gui": Screens(
        "",
        "gui-extra gui-no-option gui-two-ways",
        "opens a window and prints nothing",
    ),
    "list": Screens(
        "list-all list-bench list-kind",
        "list-no-kind list-no-section list-no-sessions",
    ),
    "measure": Screens(
        "measure-trial", "measure-no-jls measure-no-trace measure-two-ways"
    ),
    "model check": Screens(
        "model-check", "model-check-no-file model-check-other-file model-check-wrong"
    ),
    "model inspect": Screens(
        "model-inspect", "model-inspect-other-file model-no-array model-no-file"
    ),
    "model map": Screens(
        "model-map", "model-map-no-kind model-map-no-step model-map-other-kind"
    ),
    "model quantize": Screens(
        "model-quantize",
        "model-quantize-no-folder model-quantize-no-input model-quantize-no-step",
    ),
    "model run": Screens(
        "model-run", "model-run-no-input model-run-no-node model-run-shape"
    ),
    "model sense": Screens(
        "",
        "model-sense-no-input model-sense-other-kind model-sense-simulated",
        "needs a board with sensors",
    ),
    "monitor check": Screens(
        "monitor-check",
        "monitor-check-no-bench monitor-check-no-tolerance monitor-check-other-resistor"
        " monitor-check-there",
    ),
    "plan": Screens(
        "plan-virtual plan-device plan-no-room",
        "plan-no-bench plan-no-value plan-out-of-range",
    ),
    "probe": Screens(
        "probe-undecided probe-virtual",
        "probe-no-bench probe-no-recording probe-wrong probe-wrong-setting",
    ),
    "qubo inspect": Screens(
        "qubo-inspect", "qubo-inspect-cut-off qubo-inspect-no-file qubo-inspect-no-kind"
    ),
    "qubo search": Screens(
        "qubo-search", "qubo-search-cut-off qubo-search-no-file qubo-search-no-target"
    ),
    "qubo largest": Screens(
        "qubo-largest",
        "qubo-largest-no-bench qubo-largest-no-folder qubo-largest-other-task",
    ),
    "qubo rescore": Screens(
        "qubo-rescore",
        "qubo-rescore-no-session qubo-rescore-no-table qubo-rescore-other-folder",
    ),
    "qubo targets": Screens(
        "qubo-targets qubo-targets-verify",
        "qubo-targets-idle qubo-targets-no-file qubo-targets-no-workload",
    ),
    "report": Screens("report", "report-changed report-cut-off report-no-session"),
    "resume": Screens("resume", "resume-edited resume-finished resume-no-session"),
    "results": Screens(
        "results",
        "results-no-history results-no-metric results-no-session",
    ),
    "run": Screens(
        "run-claim run-not-tested run-pass run-qubo",
        "run-fail run-invalid run-no-bench run-not-toml run-wrong-setting",
    ),
    "scan": Screens(
        "scan-empty scan-on-board",
        "scan-desk scan-extra scan-no-option scan-refused",
    ),
    "sdk doctor": Screens(
        "sdk-doctor", "sdk-doctor-no-option sdk-doctor-no-python sdk-unknown"
    ),
    "sdk install": Screens(
        "",
        "sdk-install-no-kind sdk-install-no-python sdk-install-unknown",
        "downloads packages; its last lines are those of sdk doctor",
    ),
    "serve": Screens("serve", "serve-idle serve-no-bench serve-no-line serve-nowhere"),
    "sessions": Screens(
        "sessions sessions-none-found sessions-unreadable",
        "sessions-no-folder sessions-no-option sessions-no-tagged",
    ),
    "site": Screens("site", "site-no-folder site-no-sessions site-no-to"),
    "start": Screens(
        "",
        "start-address start-no-answer start-no-board",
        "its steps are other commands; tests/rig/cli/boards/test_start.py walks it",
    ),
    "tiny": Screens(
        "tiny", "tiny-no-benchmark tiny-no-clone tiny-no-device tiny-no-option"
    ),
    "view": Screens(
        "",
        "view-no-number view-no-option view-no-path",
        "opens a window and prints nothing",
    ),
    "submission check": Screens(
        "",
        "submission-check submission-check-no-folder submission-check-no-submission"
        " submission-check-no-seeds",
        reason="no simulated session is accepted",
    ),
    "submit about": Screens(
        "submit-about",
        "submit-about-there submit-about-no-folder submit-about-no-file",
    ),
    "submit mlperf-tiny": Screens(
        "",
        "submit-mlperf-tiny-no-division submit-mlperf-tiny-other-task"
        " submit-mlperf-tiny-wrong-system submit-mlperf-tiny-simulated",
        reason="no simulated session is accepted",
    ),
    "submit neurobench": Screens(
        "submit-neurobench",
        "submit-neurobench-no-task submit-neurobench-cut-off submit-neurobench-there"
        " submit-neurobench-wrong-about",
    ),
}
#: Screens that several commands share.
SHARED = {"errors-files", "errors-idle", "errors-names", "errors-usage", "stopped"}
COMPARED = {
    *(*parts.TEXTS, *parts.TABLES, *parts.ERRORS),
    *(*on_sessions.READ, *on_sessions.WRITING, *alone.SHOWN, *on_grids.SHOWN),
    *(f"run-{outcome}" for outcome in summary.OUTCOMES),
    *("sessions", "sessions-unreadable", "compare-networks"),
}


def stored() -> dict[str, Path]:
    """Return the files of all screens by their names."""
    folders = (parts.SCREENS, summary.SCREENS)
    files = chain.from_iterable(folder.glob("*.txt") for folder in folders)
    return {path.stem: path for path in files}


def test_every_command_has_a_row() -> None:
    assert set(TABLE) == set(click_tree.commands())


@pytest.mark.parametrize("command", TABLE)
def test_a_command_has_a_good_case_and_three_errors(command: str) -> None:
    row = TABLE[command]
    assert bool(row.good) is not bool(row.reason)
    assert len(row.errors.split()) >= ERRORS_DUE
    texts = {name: path.read_text(encoding="utf-8") for name, path in stored().items()}
    for name in row.good.split():
        assert not _FAILED.search(texts[name]), name
    for name in row.errors.split():
        assert _FAILED.search(texts[name]), name


def test_every_stored_screen_is_in_the_table_and_compared() -> None:
    named: set[str] = set()
    for row in TABLE.values():
        named |= {*row.good.split(), *row.errors.split()}
    assert named <= COMPARED
    assert set(stored()) - named - SHARED == set()
