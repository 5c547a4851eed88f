# SPDX-License-Identifier: Apache-2.0
"""Trials -> metrics and verdicts, and results.json."""
