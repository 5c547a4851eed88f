# SPDX-License-Identifier: Apache-2.0
"""Torch on a GPU, or on the processor, as a system under test."""
