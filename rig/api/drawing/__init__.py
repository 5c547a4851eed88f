# SPDX-License-Identifier: Apache-2.0
"""Pictures of a scenario as plain data, for a window."""
