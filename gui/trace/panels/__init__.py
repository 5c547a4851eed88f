# SPDX-License-Identifier: Apache-2.0
"""Panels beside the picture: windows, markers, statistics, scales, problems, export."""
