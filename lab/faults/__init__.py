# SPDX-License-Identifier: Apache-2.0
"""Fault campaigns: sessions changed on purpose, runs that are killed."""
