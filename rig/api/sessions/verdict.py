# SPDX-License-Identifier: Apache-2.0
"""The verdict of a session, as Python shows it."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from rig.api.sessions.metric import labels_html
from rig.results.labels import beside
from rig.results.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionVerdict:
    """The verdict of a session: whether the trials replicate, by which rule, and for
    which metrics.

    `reason` names the first failure, or why the rule was not applied. `scope` states in
    one sentence the metrics `covered`, and those `not_tested`, each with the reason.
    """

    outcome: Outcome
    rule: str
    reason: str = ""
    scope: str = ""
    covered: tuple[str, ...] = ()
    not_tested: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the verdict is PASS."""
        return self.outcome is Outcome.PASS

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        about = f" for {self.scope}" if self.scope and self.ok else ""
        reason = f": {self.reason}" if self.reason else ""
        return (
            f"{self.outcome.upper()}{about} ({self.rule}{reason}){beside(self.labels)}"
        )

    def _repr_html_(self) -> str:
        said = html.escape(f"{dataclasses.replace(self, labels=())}")
        return f"<p><b>{said}</b></p>{labels_html(self.labels)}"
