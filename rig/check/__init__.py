# SPDX-License-Identifier: Apache-2.0
"""The check of a finished session: every number computed again, every file compared."""
