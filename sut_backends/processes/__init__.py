# SPDX-License-Identifier: Apache-2.0
"""Processes of this host that stand for a device."""
