# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML page with plots."""
