# SPDX-License-Identifier: Apache-2.0
"""A faster summary for the trace library, to be offered to its maintainers."""
