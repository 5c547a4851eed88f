# SPDX-License-Identifier: Apache-2.0
"""Simulated ST X-NUCLEO-LPM01A."""
