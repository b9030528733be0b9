# SPDX-License-Identifier: Apache-2.0
"""How two of RGB's metrics ask a judge about an answer; what it is told and how it is read, each has of its own."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace as Options
from typing import ClassVar

from .module import (
    JUDGE,
    Option,
)
from .rgb_labels import (
    Rgb,
)
from .slots import (
    ask_user,
    fill,
    instructions,
)
from .tally import (
    ask,
    strings,
)

JUDGED = {
    "judge": Option(f"{JUDGE} Called once, for the items with an answer."),
    "questions": Option("list of n questions; required with judge."),
    "prompt": Option("the judge's instructions, a text with {answer} and {question}; default this module's own."),
}


class Judged(Rgb):
    """Goes before `evaluate.Metric` in the bases of a metric that may ask a judge."""

    VERSION = "1.1.0"
    PROMPTS: ClassVar[Mapping[str, str]]  # by language
    read: Callable[[str, str], float | None]  # a reply and the profile to its value, None where it cannot be read

    def complete(self, options: Options) -> None:
        """Put in the instructions that the language has."""
        options.prompt = instructions(options.prompt, self.PROMPTS[options.language], ["{answer}"])
        if not options.judge:
            options.prompt = None

    def verdicts(
        self, predictions: Sequence[str | None], reasons: Sequence[str], options: Options
    ) -> list[float | str]:
        """Ask the judge about every item that has an answer, in one batch.

        Args:
            predictions: n answers or None.
            reasons: n reasons, "" where there is an answer.
            options: the metric's, with a judge.

        Returns:
            n values, or the reasons why there is none.

        Raises:
            ValueError: questions are missing or not n, or the judge did not return one reply per request.
        """
        if options.questions is None:
            raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
        asked = strings(options.questions, "questions", len(predictions))
        texts, failed = ask(
            options.judge,
            [
                ask_user(fill(options.prompt, {"question": question, "answer": answer}))
                for question, answer in zip(asked, predictions, strict=True)
                if answer is not None
            ],
            options.profile,
            options.prompt,
        )

        def value(text: str | None, why: str) -> float | str:
            read_as = None if text is None else self.read(text, options.profile)
            return why or ("unparsable" if read_as is None else read_as)

        values = iter([value(text, why) for text, why in zip(texts, failed, strict=True)])
        return [why or next(values) for why in reasons]
