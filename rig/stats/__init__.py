# SPDX-License-Identifier: Apache-2.0
"""Statistics of single values: means, counts, quantiles, intervals. Pure."""
