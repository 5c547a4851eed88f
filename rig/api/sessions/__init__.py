# SPDX-License-Identifier: Apache-2.0
"""A session as users see it: metrics, problems, verdict, tables."""
