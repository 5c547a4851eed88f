# SPDX-License-Identifier: Apache-2.0
"""The judge of submissions: each requirement of a benchmark's rules with its verdict
and its evidence. No module of it imports the builder of submissions.
"""
