# SPDX-License-Identifier: Apache-2.0
"""Traces in text tables (CSV) of any program."""
