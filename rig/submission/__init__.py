# SPDX-License-Identifier: Apache-2.0
"""Folders for submission to a benchmark, built from finished sessions."""
