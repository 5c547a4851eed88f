# SPDX-License-Identifier: Apache-2.0
"""Comparisons of backends with the integer model of the ASC task."""
