"""What a user could type once and can no longer, each with what to do instead; asked by commands and by Python."""

GONE: dict[str, str] = {
    "--on torchrun": "processes of this machine do the same: --on 2; several GPUs: serve the model with vLLM or TGI",
    "lighteval": "`quadrag harness lm-eval` and Inspect have the same tasks",
    "--reuse-unnamed": "a reply counts for the server that gave it; --service NAME says which that was",
    "--judge-large": "name one judge with --judge",
    "--keep-agreement": "certify each judge alone",
    "--statistics": "`quadrag list BENCHMARK` says how many rows each split has",
    "--form": "`quadrag construct review DATASET --sheet FILE` writes CSV, or grade on its page",
    "entities": "a model names the entities of CRAG's questions: --entity-llm SPEC, else the one that answers",
    "--judge-reads": "recall finds answers that stand in snippets and pages, and asks no judge",
    "--page-window": "recall finds answers that stand in snippets and pages, and asks no judge",
}


def instead(name: str) -> str | None:
    """Return what to do instead of an option, a command or an argument of Python that is gone; None for any other."""
    return GONE.get(name) or GONE.get(f"--{name.replace('_', '-')}")
