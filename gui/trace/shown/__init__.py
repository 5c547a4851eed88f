# SPDX-License-Identifier: Apache-2.0
"""The state of the trace screen, and its requests to the engine; no painting."""
