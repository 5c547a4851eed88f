# SPDX-License-Identifier: Apache-2.0
"""Vendors' SDKs: which there are, their environments, what lacks."""
