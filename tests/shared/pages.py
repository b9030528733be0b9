"""The pages for people: READMEs and docs/, read into sections with what a reader would type there, in his order."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md")
DOCS = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
PAGES = (*READMES, *DOCS)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    """A command (`sh`) or a whole script (`python`), and what the page says that it prints, where it says so."""

    kind: str
    text: str
    prints: str | None = None


class Section(NamedTuple):
    """What stands under a heading of a page, that before its first heading included."""

    page: str
    heading: str
    steps: list[Step]

    @property
    def name(self) -> str:
        return f"{self.page}: {self.heading}"

    @property
    def commands(self) -> list[str]:
        return [step.text for step in self.steps if step.kind == "sh"]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def commands(block: str) -> list[str]:
    """The commands of a shell block as a shell reads them: lines that go on joined, comments left out."""
    whole = block.replace("\\\n", "")
    found = [re.split(r"\s+# |^\s*#", line)[0].strip() for line in whole.splitlines()]
    return [re.sub(r"\s+", " ", command) for command in found if command]


def sections(page: str) -> list[Section]:
    parts = re.split(r"^## (.*)$", read(page), flags=re.MULTILINE)
    headings = ["", *parts[1::2]]
    return [Section(page, heading, _steps(part)) for heading, part in zip(headings, parts[::2], strict=True)]


def _steps(part: str) -> list[Step]:
    steps: list[Step] = []
    for language, block in FENCE.findall(part):
        if language == "sh":
            steps += [Step("sh", command) for command in commands(block)]
        elif language == "python":
            steps.append(Step("python", block))
        elif language == "text":
            steps[-1] = steps[-1]._replace(prints=block)
    return steps


def steps_of(page: str) -> list[Step]:
    return [step for section in sections(page) for step in section.steps]


def meaning(step: Step) -> str:
    """A step without what a translation changes: comments of a script, the language of configs, rows and prints."""
    text = ast.unparse(ast.parse(step.text)) if step.kind == "python" else step.text
    return (
        re.sub(r"\b([a-z]+_[a-z]+)_zh\b", r"\1_en", text)
        .replace(" --labels zh", "")
        .replace("language='zh'", "language='en'")
    )
