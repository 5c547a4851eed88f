# SPDX-License-Identifier: Apache-2.0
"""Simulated Keysight N6705."""
