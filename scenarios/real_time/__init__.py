# SPDX-License-Identifier: Apache-2.0
"""Real-time: streams whose scene changes."""
