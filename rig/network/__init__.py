# SPDX-License-Identifier: Apache-2.0
"""Spiking networks from NIR files: read, checked, and run by a reference
interpreter."""
