# SPDX-License-Identifier: Apache-2.0
"""What commands print: tables, labels, findings, verdicts, progress."""
