# SPDX-License-Identifier: Apache-2.0
"""The support bundle, and how its texts are redacted."""
