# SPDX-License-Identifier: Apache-2.0
"""About the program: versions, the theme, the support bundle, the sheet of keys."""
