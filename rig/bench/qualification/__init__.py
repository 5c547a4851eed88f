# SPDX-License-Identifier: Apache-2.0
"""Qualification of a monitor on its owner's bench: errors, a calibration file."""
