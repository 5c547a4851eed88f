# SPDX-License-Identifier: Apache-2.0
"""Frozen values on their way from the device to the result."""
