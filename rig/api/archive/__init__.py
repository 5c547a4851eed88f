# SPDX-License-Identifier: Apache-2.0
"""A folder of sessions: its list, tags, and the removal of sessions."""
