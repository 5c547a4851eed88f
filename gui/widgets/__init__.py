# SPDX-License-Identifier: Apache-2.0
"""Widgets that several screens use."""
