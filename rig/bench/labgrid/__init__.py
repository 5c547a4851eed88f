# SPDX-License-Identifier: Apache-2.0
"""Boards that labgrid hands out: a place is acquired for as long as a bench is open."""
