# SPDX-License-Identifier: Apache-2.0
"""Alignment of device ticks with trace seconds."""
