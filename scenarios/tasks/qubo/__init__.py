# SPDX-License-Identifier: Apache-2.0
"""Maximum independent sets as QUBO: workloads by (nodes, density, seed), costs,
targets, the reference solver.
"""
