# SPDX-License-Identifier: Apache-2.0
"""This computer: its serial ports, its clock, its processes."""
