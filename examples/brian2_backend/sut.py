# SPDX-License-Identifier: Apache-2.0
"""Brian2 as a system under test: a backend as a user writes one
(docs/how-to/BACKEND_GUIDE.md); docs/how-to/BRIAN2.md shows its use.

A step is the file's own: forward Euler or exact, written out as code that runs in each
step. A Brian2 synapse hands spikes on in the next step: the output is late by as many
steps as connections lie on the way, which `run` takes off.
"""

import sys
from dataclasses import dataclass

# ---- in the worker: an interpreter with Brian2 and numpy ----

NAMES = "drive current v share share_syn gain w_in leak threshold reset"
EQUATIONS = "\n".join(f"{name} : 1" for name in NAMES.split())
STEPS = {
    "IF": "v += share * gain * drive",
    "LIF": "v += share * (leak + gain * drive - v)",
    "CubaLIF": "current += share_syn * (w_in * drive - current)\n"
    "v += share * (leak + gain * current - v)",
}
RESETS = {"value": "v = reset", "subtract": "v -= threshold", "none": ""}


def open_network(job):
    """Build the network of a job in Brian2; ValueError where it cannot be."""
    from sut_backends.workers.inside import layers, plain_network

    network = layers.without_inner_ends(plain_network.read(job.plain))
    layers.refuse(network, "Brian2, as written here,")
    how = network.conventions
    if how.gains != "file" or how.spikes_max > 1 or how.reset not in RESETS:
        raise ValueError(
            "this backend runs gains of the file, one spike a step, and a reset to a"
            " value, by the threshold, or none"
        )
    if how.current != "new":
        raise ValueError("this backend drives membranes by the new current")
    leaks = [node.parameters.v_leak for node in network.nodes]
    if how.start != "leak" and any(leak is not None and leak.any() for leak in leaks):
        raise ValueError("a leak would move membranes before the input is there")
    late = layers.steps_late(network, "Brian2 synapse")
    return Brian2Runner(network, late[layers.last_neurons(network).name])


class Brian2Runner:
    """A network in Brian2, built once; each sample begins from the stored rest."""

    def __init__(self, network, lag):
        import brian2

        from sut_backends.workers.inside import layers

        brian2.prefs.codegen.target = "numpy"  # without a compiler
        brian2.defaultclock.dt = network.dt_s * brian2.second
        self._dt, self._lag = brian2.defaultclock.dt, lag
        inputs = brian2.NeuronGroup(
            layers.channels(network), "count : 1", threshold="count > 0", reset=""
        )
        groups = {network.inputs[0]: inputs}
        for node in network.nodes:
            if node.type in STEPS:
                groups[node.name] = neurons(brian2, node, network)
        objects = [*groups.values()]
        for node in network.nodes:
            for target in layers.targets(node, network):
                if node.type in layers.CONNECTIONS:
                    (source,) = (*node.sources, *node.late_sources)
                    count = "count_pre" if groups[source] is inputs else "1"
                    code = f"drive_post += w * {count}"
                    ends = groups[source], groups[target]
                    objects.append(brian2.Synapses(*ends, "w : 1", on_pre=code))
                    objects[-1].connect()
                    objects[-1].w = node.parameters.weight.T.ravel()
        self._last = groups[layers.last_neurons(network).name]
        self._fired = brian2.SpikeMonitor(self._last)
        feed = brian2.NetworkOperation(self._feed, when="start")
        self._inputs, self._spikes, self._at = inputs, [], 0
        self._network = brian2.Network(*objects, self._fired, feed)
        self._network.store("rest")
        self.about = {"brian2": brian2.__version__, "lag_steps": lag}

    def _feed(self):
        given = self._at < len(self._spikes)
        self._inputs.count = self._spikes[self._at] if given else 0
        self._at += 1

    def run(self, spikes):
        """Run from rest: spikes (steps, channels) -> spikes (steps, outputs), last
        membranes."""
        import numpy as np

        self._spikes, self._at = np.asarray(spikes), 0
        self._network.restore("rest")
        steps = len(spikes) + self._lag
        self._network.run(steps * self._dt)
        found = np.zeros((steps, len(self._last)))
        found[np.rint(self._fired.t / self._dt).astype(int), self._fired.i] = 1
        return found[self._lag :], np.asarray(self._last.v)

    def close(self):
        """Release no resource: it holds none."""


def neurons(brian2, node, network):
    """Return the neurons of a node; `drive` gathers the input of the next step."""
    import numpy as np

    from sut_backends.loihi.rules import share

    how, own = network.conventions, node.parameters
    above = ">" if how.above else ">="
    group = brian2.NeuronGroup(
        node.shape_out[0],
        EQUATIONS,
        threshold=f"v {above} threshold",
        reset=RESETS[how.reset],
    )
    tau = own.tau if own.tau_mem is None else own.tau_mem
    numbers = {
        "share": network.dt_s if tau is None else share(tau, network.dt_s, how.scheme),
        "gain": own.r,
        "leak": 0.0 if own.v_leak is None else own.v_leak,
        "threshold": own.v_threshold,
        "reset": 0.0 if own.v_reset is None else own.v_reset,
    }
    if node.type == "CubaLIF":
        numbers["share_syn"] = share(own.tau_syn, network.dt_s, how.scheme)
        numbers["w_in"] = own.w_in
    for name, value in numbers.items():
        setattr(group, name, np.asarray(value, np.float64))
    if how.start == "leak":
        group.v = numbers["leak"]
    group.run_regularly(f"{STEPS[node.type]}\ndrive = 0", when="groups")
    return group


# ---- on the rig's side ----

if "sut_backends.workers.inside.main" not in sys.modules:
    from rig.model.origin import Origin, Origins
    from sut_backends.workers.environments import interpreter_of
    from sut_backends.workers.network_sut import Runner, open_network_sut
    from sut_backends.workers.process import Place
    from sut_backends.workers.settings import Interpreter, StartLimit
    from sut_backends.workers.sut import WorkerSut

    class Brian2Sut(WorkerSut):
        """A task's network in Brian2, a simulator: its times are those of a program on
        this computer."""

        @dataclass(frozen=True, slots=True)
        class Settings:
            """The Python that has Brian2."""

            interpreter: Interpreter = ""
            start_s: StartLimit = 60.0

        @staticmethod
        def simulates(settings):
            """Return True: there is no chip."""
            return True

        @staticmethod
        def origins(settings):
            """Return that a simulator measures neither times nor energies."""
            return Origins(Origin.SIMULATED, Origin.SIMULATED)

        @classmethod
        def open(cls, settings, context):
            """Start the worker; ConfigError, DataError or BenchError if it fails."""
            runner = Runner("brian2", __name__, "Brian2", cls.origins(settings), {})
            interpreter = interpreter_of("brian2", settings.interpreter, context)
            place = Place(interpreter, start_s=settings.start_s, isolated=True)
            return open_network_sut(runner, place, context)
