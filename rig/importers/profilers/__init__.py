# SPDX-License-Identifier: Apache-2.0
"""Traces of Nordic's Power Profiler, Qoitech's Otii and EEMBC's runner."""
