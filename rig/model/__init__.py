# SPDX-License-Identifier: Apache-2.0
"""Frozen values between the device and the result."""
