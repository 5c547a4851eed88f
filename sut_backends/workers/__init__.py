# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own: those measured on this computer, and vendors'
SDKs."""
