"""The lists of tasks that harnesses read from disk: YAML files for lm-eval, names for lighteval.

``python -m quadrag.harnesses.task_files`` (`make tasks`) writes them; a test compares what lies there.
"""

from collections.abc import Iterator
from pathlib import Path

from quadrag.baselines.core.benchmark import known, load
from quadrag.harnesses import path
from quadrag.harnesses.task_list import ListedTask, display_name, list_tasks, table_tasks

_TEMPLATE = """\
# {name} with lm-eval: {shown}.
# --metadata names the split, the data and options too; quadrag/harnesses/examination.py says which.
# This file has no ending because lm-eval takes every *.yaml for a task.
class: !function utils.QuadragTask
dataset_path: {benchmark}
test_split: {split}
output_type: generate_until
generation_kwargs:
  until: []  # a reply ends where the model ends it
  do_sample: true
  temperature: {temperature}  # as `quadrag run` asks
  max_gen_toks: 1024  # lm-eval always sends a limit, 256 where a task has none
metadata:
  version: 1.0
"""
_WITH = """with the passages that come with the questions, or --metadata '{"retriever": "none"}'"""
_WITHOUT = """without passages, or with those of --metadata '{"retrieved": "runs/a/retrieved.jsonl"}'"""
_GROUP = """\
# The configs of the paper's tables; --tasks 'quadrag_{benchmark}_*' takes all.
group: quadrag_{benchmark}
task:
{members}metadata:
  version: 1.0
"""


def task_files() -> Iterator[tuple[Path, str]]:
    """Yield every file with its text: for lm-eval a template, a group and its tasks, for lighteval a list of names."""
    lm_eval, lighteval = path("lm-eval"), path("lighteval")
    for benchmark in known():
        tasks = list_tasks(benchmark)
        some = any(task.supplied for task in tasks)
        split = tasks[-1].split  # a task of another one names it
        yield (
            lm_eval / f"_{benchmark}",
            _TEMPLATE.format(
                name=display_name(benchmark),
                shown=_WITH if some else _WITHOUT,
                benchmark=benchmark,
                split=split,
                temperature=load(benchmark).temperature,
            ),
        )
        for task in tasks:
            yield lm_eval / f"{task.name}.yaml", _task(task, task.split != split, some and task.supplied is None)
        names = [f"quadrag_{task.name}\n" for task in table_tasks(benchmark)]
        members = "".join(f"  - {name}" for name in names)
        yield lm_eval / f"{benchmark}.yaml", _GROUP.format(benchmark=benchmark, members=members)
        yield lighteval / f"{benchmark}.txt", "".join(names)


def _task(task: ListedTask, split: bool, bare: bool) -> str:
    lines = [f"include: _{task.benchmark}", f"task: quadrag_{task.name}", f"dataset_name: {task.config}"]
    lines += [f"test_split: {task.split}"] if split else []
    lines += ["metadata:", "  version: 1.0", "  retriever: none  # no passages come with it"] if bare else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    for file, text in task_files():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
