# SPDX-License-Identifier: Apache-2.0
"""This computer as the system under test."""
