# SPDX-License-Identifier: Apache-2.0
"""Output of commands: tables, labels, findings, verdicts, progress."""
