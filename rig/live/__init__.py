# SPDX-License-Identifier: Apache-2.0
"""The live side of a bench: what is measured and said, while it is."""
