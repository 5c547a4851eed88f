# SPDX-License-Identifier: Apache-2.0
"""One model and one set of samples on several backends."""
