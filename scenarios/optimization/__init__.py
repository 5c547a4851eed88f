# SPDX-License-Identifier: Apache-2.0
"""Optimization: searches with time-outs and targets."""
