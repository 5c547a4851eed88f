# SPDX-License-Identifier: Apache-2.0
"""Traces: written, read, integrated, and recovered."""
