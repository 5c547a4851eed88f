# SPDX-License-Identifier: Apache-2.0
"""What plug-ins implement, and what they are given."""
