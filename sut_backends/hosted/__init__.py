# SPDX-License-Identifier: Apache-2.0
"""Firmware as a process of this host, or in an emulator."""
