"""What a user could type once and can no longer, and what to do instead; asked by the command line and by Python."""

GONE: dict[str, str] = {
    "--characters": "--verbose shows texts whole",
    "--format": "--json prints one object for scripts",
    "lighteval": "`quadrag harness lm-eval` and Inspect have the same tasks",
}


def instead(name: str) -> str | None:
    """Return what to do instead of an option, a command or an argument of Python that is gone; None for any other."""
    return GONE.get(name) or GONE.get(f"--{name.replace('_', '-')}")
