# SPDX-License-Identifier: Apache-2.0
"""A folder of sessions: its list, tags, and what is taken away."""
