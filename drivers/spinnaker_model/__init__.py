# SPDX-License-Identifier: Apache-2.0
"""sPyNNaker's energy report as an energy monitor: modelled, not measured."""
