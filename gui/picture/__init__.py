# SPDX-License-Identifier: Apache-2.0
"""The painter of traces: lanes, ticks, envelope, SYNC and phases, of a recording and
live."""
