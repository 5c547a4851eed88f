# SPDX-License-Identifier: Apache-2.0
"""A system under test in virtual time."""
