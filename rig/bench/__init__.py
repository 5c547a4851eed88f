# SPDX-License-Identifier: Apache-2.0
"""The bench: its file, its parts, and whether they suit each other."""
