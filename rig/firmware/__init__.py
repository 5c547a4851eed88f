# SPDX-License-Identifier: Apache-2.0
"""Firmware projects: made, built, emulated, flashed."""
