# SPDX-License-Identifier: Apache-2.0
"""Trials -> metrics, verdicts, and the check of a finished session."""
