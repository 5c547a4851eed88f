# SPDX-License-Identifier: Apache-2.0
"""Interfaces that plug-ins implement, and the context that they are given."""
