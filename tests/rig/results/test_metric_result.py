# SPDX-License-Identifier: Apache-2.0
"""One metric of all trials, in the form of results.json."""

from __future__ import annotations

import math

from rig.model.metric import Metric, Statistic
from rig.results import metric_result


def test_a_share_of_no_samples_may_be_any() -> None:
    nothing = Metric(math.nan, "1", statistic=Statistic.SHARE, n=0)
    interval = metric_result._binomial([nothing, nothing], shared=False)
    assert (interval.low, interval.high) == (0.0, 1.0)
