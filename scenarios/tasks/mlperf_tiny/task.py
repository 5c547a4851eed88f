# SPDX-License-Identifier: Apache-2.0
"""The task: any data folder of MLPerf Tiny (ad01, ic01, kws01, vww01), a list of labels
and binary tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Interval, doc

from rig.errors import ConfigError, DataError
from rig.files.user_folders import cache, expanded
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Regeneration, Task
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.results import labels
from rig.settings.declare import Count, FolderText, Or, PathText, Seed
from rig.store.session_folder import BENCH
from rig.units import plural
from scenarios.tasks.mlperf_tiny import answer, generate, kept, model
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS, Benchmark, Name
from scenarios.tasks.mlperf_tiny.dataset import TinyDataset, open_dataset
from scenarios.tasks.mlperf_tiny.model import TinyModel
from scenarios.tasks.mlperf_tiny.replica import TinyReplica
from scenarios.tasks.tflite import kept as model_kept
from scenarios.tasks.user_files import outside_session

GENERATED = "generated"
_FOLDER = "folder"
#: Conversions around a model are untimed.
_WITH_MODEL = ("infer",)
#: More files than these are not generated to check an untrusted session.
_FILES_MAX = 2000
_LASTING = ("data_sha256", "tensors", "classes", "same_content")
_OF_MODEL = ("model", "model_file_sha256", "values")


class MlperfTiny(Task):
    """MLPerf Tiny: a folder of tensors and labels; a payload is the bytes of a file, or
    of a window slid over it.
    """

    name = "mlperf_tiny"
    phases: tuple[str, ...] = ("preprocess", "infer")

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The benchmark, its data and model, and how the device writes its answers."""

        data: Annotated[FolderText, doc('Folder of its data, or "generated".')] = (
            GENERATED
        )
        labels: Annotated[
            str, doc("File in that folder with the list of the samples.")
        ] = generate.LABELS
        benchmark: Annotated[
            Name, doc("Benchmark that the data are of; empty: as the folder is called.")
        ] = ""
        source: Annotated[
            str,
            doc('The source of a folder; "generated ..." where it was not recorded.'),
        ] = ""
        model: Annotated[
            PathText,
            doc(
                "The .tflite file that the device runs, as `rig tiny` builds it; empty:"
                " any firmware."
            ),
        ] = ""
        output: Annotated[
            answer.Format,
            doc("How the device writes its numbers; with a model: as that does."),
        ] = "thousandths"
        outputs: Annotated[
            Count, Or(0, "as the benchmark has it"), Ge(1), doc("Numbers in an answer.")
        ] = 0
        workload: Annotated[
            str,
            doc(
                "Workload name that the device reports, unless it is the task's or the"
                " benchmark's."
            ),
        ] = ""
        files: Annotated[Count, Interval(ge=2, le=1000), doc("Generated files.")] = 24
        seed: Annotated[Seed, doc("Seed of generated data.")] = 1
        cache: Annotated[
            FolderText,
            doc("Folder that keeps generated data; empty: $XDG_CACHE_HOME/neurorig."),
        ] = ""

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> TinyReplica:
        """Return a stand-in that has labels, files and scores, and no tensors."""
        source = _source(settings)
        files = len({entry.recording for entry in entries})
        labels.refuse_other(
            facts,
            data=settings.data,
            source=source,
            files=files,
        )
        known = BENCHMARKS.get(str(facts.get("benchmark")))
        labels.refuse_other(
            facts,
            official=known is not None
            and source == _FOLDER
            and facts.get("files") in known.files,
        )
        phases = _WITH_MODEL if settings.model else cls.phases
        replica = TinyReplica.of(cls.name, phases, facts, entries)
        form = settings.output
        if settings.model and known is not None:
            form = model.form_of(known)
        if replica.form != form or settings.outputs not in (0, replica.outputs):
            raise DataError(
                f"bench.toml has {settings.output}, provenance.json"
                f" {facts.get('output')!r}",
                file=BENCH,
            )
        return replica

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return generated data; those of a folder are not known."""
        data = "" if settings.data == GENERATED else settings.data
        if data or settings.model:
            return Regeneration({}, unknown=outside_session(data, settings.model))
        if settings.files > _FILES_MAX:
            many = f"more than {_FILES_MAX} generated files are not made again"
            return Regeneration({}, unknown=many)
        task = cls.open(replace(settings, cache=""), BenchContext())
        return Regeneration(task.provenance(), task.catalogue(), task, lasting=_LASTING)

    @classmethod
    def reopened(
        cls,
        settings: Settings,
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
        folder: Path,
    ) -> Regeneration:
        """Return the model and the tensors that a session kept."""
        benchmark = settings.benchmark or str(facts.get("benchmark"))
        run = model.opened(model_kept.model_in(folder), benchmark)
        known = BENCHMARKS[benchmark]
        data = kept.dataset(folder, settings.labels, known, len(entries))
        if data is None:
            return Regeneration(run.facts(), unknown=kept.LEFT_OUT, lasting=_OF_MODEL)
        if large := model_kept.too_large(run.network, len(entries)):
            unknown = f"{large} are more than a check runs"
            return Regeneration(run.facts(), unknown=unknown, lasting=_OF_MODEL)
        task = cls(settings, benchmark, data, run)
        return Regeneration(
            task.provenance(),
            task.catalogue(),
            task,
            lasting=(*_LASTING, *_OF_MODEL),
            answered_max=len(task),
        )

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> MlperfTiny:
        """Open the data; DataError names file and line of a fault in them, ConfigError
        the setting."""
        if settings.data != GENERATED:
            folder = context.folder / expanded(settings.data)
            name = settings.benchmark or (
                folder.name if folder.name in BENCHMARKS else ""
            )
            run = None
            if settings.model:
                run = model.opened(context.folder / expanded(settings.model), name)
            data = open_dataset(folder, settings.labels, BENCHMARKS.get(name))
            return cls(settings, name, data, run)
        if settings.model:
            raise ConfigError(
                "generated tensors begin with their answer, which is no model's",
                path="task.mlperf_tiny.data",
                try_next="a folder of tensors; rig tiny makes one without",
            )
        if settings.output != "thousandths" or settings.outputs:
            raise ConfigError(
                "generated data are answered as thousandths",
                path="task.mlperf_tiny.output",
                try_next="the default",
            )
        folder = generate.ensure(
            _cache(settings.cache, context),
            settings.benchmark,
            settings.files,
            settings.seed,
        )
        return cls(
            settings,
            settings.benchmark,
            open_dataset(folder, generate.LABELS, generate.shape(settings.benchmark)),
        )

    def __init__(
        self,
        settings: Settings,
        benchmark: str,
        dataset: TinyDataset,
        run: TinyModel | None = None,
    ) -> None:
        self._settings = settings
        self._model = run
        self._form = settings.output
        self.programs: Mapping[str, Program] = {}
        if run is not None:
            self.phases = _WITH_MODEL
            self.programs = run.programs()
            self._form = model.form_of(BENCHMARKS[benchmark])
        self._benchmark = benchmark
        self._dataset = dataset
        first = dataset.rows[0]
        known: Benchmark | None = BENCHMARKS.get(benchmark)
        # Windows are what anomalies are looked for in: one score each, how unusual it
        # is.
        usual = known.outputs if known else 1 if first.window_b else first.classes
        self._outputs = settings.outputs or usual
        if self._outputs not in (first.classes, 1) or (
            self._outputs == 1 and first.classes != 2
        ):
            raise ConfigError(
                f"{self._outputs} numbers for {first.classes} classes",
                path="task.mlperf_tiny.outputs",
                try_next=(
                    f"{first.classes}, one for each class; or 1 where there are two"
                    " classes"
                ),
            )
        self._sha256 = ""

    def __len__(self) -> int:
        """Return the number of tensors: files, or the windows of all files."""
        return len(self._dataset.tensors)

    def payload(self, index: int) -> bytes:
        """Return the bytes as they are in the file, or as the model takes them."""
        tensor = self._dataset.read(self._dataset.tensors[index])
        return tensor if self._model is None else self._model.payload(tensor)

    @property
    def score_count(self) -> int:
        """One score for each class, or one alone."""
        return self._outputs

    def catalogue(self) -> list[Entry]:
        """Return label and file of every tensor: the windows of one file belong
        together."""
        rows = [tensor.row for tensor in self._dataset.tensors]
        return [Entry(str(row.label), row.file) for row in rows]

    def score(self, index: int, output: bytes) -> Score:
        """Take the highest of several numbers, of equal ones the first; a single one is
        a score without an answer by itself.
        """
        row = self._dataset.tensors[index].row
        return answer.scored(
            Entry(str(row.label), row.file),
            output,
            self._form,
            self._outputs,
        )

    @property
    def reference(self) -> Callable[[bytes], bytes] | None:
        """Return a function that answers a payload as due: by the model, or as
        generated data state; None where neither is at hand.
        """
        if self._model is not None:
            return self._model.answer
        if self._settings.data != GENERATED:
            return None
        return lambda payload: generate.right_answer(self._benchmark, payload)

    def accepts(self, info: SutInfo) -> bool:
        """Check whether a device is for this task: by its workload, or in the text
        layer of any maker by the model it names.
        """
        name = info.task or info.model
        if self._model is not None:
            return info.task in (model.WORKLOAD, "any")
        if self._settings.workload:
            return name in (self._settings.workload, "any")
        known = BENCHMARKS.get(self._benchmark)
        if info.task:
            return info.task in (
                "any",
                self.name,
                *(known.reported_by if known else ()),
            )
        # Other firmware names its benchmark where ours names a model; where it names
        # none, the length of its answers must do.
        return known is None or name in ("", *known.reported_by)

    def kept(self) -> Mapping[str, bytes]:
        """Return the model, and the tensors that it answers, where there is one."""
        if self._model is None:
            return {}
        return kept.files(self._model, self._dataset)

    def provenance(self) -> dict[str, Any]:
        """Return what identifies the data: hashes, counts, what of the benchmark they
        are; JSON-able.
        """
        settings = self._settings
        data = self._dataset
        generated = settings.data == GENERATED
        known = BENCHMARKS.get(self._benchmark)
        self._sha256 = self._sha256 or data.sha256()
        source = _source(settings)
        is_evaluation_set = known is not None and len(data.rows) in known.files
        first = data.rows[0]
        window = "the whole file"
        if first.window_b:
            window = f"{first.window_b} bytes, stride {first.stride_b}"
        facts: dict[str, Any] = {
            "source": source,
            "data": settings.data,
            "labels": data.labels.name,
            "benchmark": self._benchmark,
            "official": source == _FOLDER and is_evaluation_set,
            "unofficial": "NOT THE EVALUATION SET",
            "statement": self._statement(),
            "files": len(data.rows),
            "tensors": len(data.tensors),
            "tensor_b": data.tensors[0].length_b,
            "window": window,
            "unused_b": data.unused_b,
            "classes": first.classes,
            "output": f"{self._outputs} x {self._form}",
            "same_content": data.same_content(),
            "data_sha256": self._sha256,
        }
        if self._model is not None:
            facts |= self._model.facts()
        if known and source == _FOLDER:
            facts["quality"] = {
                "metric": known.quality[0],
                "minimum": known.quality[1],
                "division": "closed",
            }
        if generated:
            facts["generator"] = {
                "version": generate.GENERATOR_VERSION,
                "files": settings.files,
                "seed": settings.seed,
            }
        return facts

    def _statement(self) -> str:
        known = BENCHMARKS.get(self._benchmark)
        if self._settings.data == GENERATED:
            return "generated data, no data set of MLPerf Tiny"
        if self._settings.source:
            return self._settings.source
        if known is None:
            return "a folder of another data set than the benchmarks have"
        count = len(self._dataset.rows)
        if count in known.files:
            return f"as many files as the evaluation set of {self._benchmark} has"
        return (
            f"{plural(count, 'file')}, the evaluation set of {self._benchmark} has "
            f"{' or '.join(map(str, known.files))}"
        )


def _source(settings: MlperfTiny.Settings) -> str:
    """Return the source of the data: labels of results follow from it."""
    return GENERATED if settings.data == GENERATED else settings.source or _FOLDER


def _cache(setting: str, context: BenchContext) -> Path:
    """Return where generated data are kept: the setting, or neurorig in the user's
    cache."""
    if setting:
        return context.folder / expanded(setting)
    return cache()
