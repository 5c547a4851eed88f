# SPDX-License-Identifier: Apache-2.0
"""Pages of a site of many sessions, their style sheet, their script, and uPlot."""
