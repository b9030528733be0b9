"""What a user could type once and can no longer, and what to do instead; asked by the command line and by Python."""

GONE: dict[str, str] = {
    "--accept-name": "the runs are taken whatever their model is called; the notes name it",
    "--against": "certify each judge by itself: its interval says how far it agrees with people",
    "--allow-redirect": "no redirect is followed: name the address that the message shows",
    "--characters": "--verbose shows texts whole",
    "--form": "`quadrag construct review DATASET --sheet FILE` writes CSV, or grade on its page",
    "--format": "--json prints one object for scripts",
    "--ledger": "show, report and view read what judges said from the run folder",
    "--injections": "what is judged stays in its place in every prompt, so there is nothing to ask a judge about it",
    "--judge-large": "name one judge with --judge",
    "--judge-reads": "recall finds answers that stand in snippets and pages, and asks no judge",
    "--keep-agreement": "certify each judge alone",
    "--on torchrun": "processes of this machine do the same: --on 2; several GPUs: serve the model with vLLM or TGI",
    "--page-window": "recall finds answers that stand in snippets and pages, and asks no judge",
    "--entity-served-as": "--entity-name NAME says what the model is called, wherever it is served",
    "--entity-service": "--entity-name NAME says what the model is called, wherever it is served",
    "--judge-served-as": "--judge-name NAME says what the judge is called, wherever it is served",
    "--judge-service": "--judge-name NAME says what the judge is called, wherever it is served",
    "--passages": "retrieved.jsonl of the run has every passage under its own id",
    "--rag-body": "put what the service wants into its address, or ask it in a function: quadrag.evaluate",
    "--repeats": "ask once; what a judge says again is another certificate, of --fresh",
    "--reuse-unnamed": "a reply counts for the server that gave it; --llm-name NAME says which that was",
    "--served-as": "--llm-name NAME says what the model is called, wherever it is served",
    "--service": "--llm-name NAME says what the model is called, wherever it is served",
    "--statistics": "`quadrag list BENCHMARK` says how many rows each split has",
    "--verdicts": "--judge takes a file of verdicts too",
    "judge_failure": "a lacking verdict counts as a hallucination under official, and is unscored under corrected",
    "--where": "a folder of your own with those documents: --data-dir",
    "errors": "`quadrag label RUN --metric errors` sorts wrong answers: by --judge, or --out and --people",
    "entities": "a model names the entities of CRAG's questions: --entity-llm SPEC, else the one that answers",
    "time_limit": "a batch of a challenge's model file is let finish; run.json has what each answer took",
    "lighteval": "`quadrag harness lm-eval` and Inspect have the same tasks",
}


def instead(name: str) -> str | None:
    """Return what to do instead of an option, a command or an argument of Python that is gone; None for any other."""
    return GONE.get(name) or GONE.get(f"--{name.replace('_', '-')}")
