# SPDX-License-Identifier: Apache-2.0
"""Views of a part of a trace: one edge, a distribution, trials over each other."""
