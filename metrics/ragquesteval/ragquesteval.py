# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval of CRUD-RAG: are the reference's key facts in the generated text, and are they right there?"""

from types import SimpleNamespace as Options
from typing import Any

import evaluate
import jieba

from .compose import declines as declines
from .fold import fold as fold
from .interview import interview, open_case, read_cache, values
from .json_reader import objects
from .module import JUDGE, STATES, TEXT, Option, Shared, document, info, profile, required_judge
from .papers import CRUD_RAG
from .prompts import (
    Reader,
    answers_corrected,
    answers_official,
    questions_corrected,
    questions_official,
    templates,
)
from .slots import fill as fill
from .tally import missing, strings
from .words import cut as cut

KEYS = ("precision", "recall")
READERS = {
    "official": Reader(questions_official, answers_official),
    "corrected": Reader(lambda reply: questions_corrected(objects(reply, mend=False, inner=True)), answers_corrected),
}

_DESCRIPTION = """\
RAGQuestEval of CRUD-RAG: a judge asks questions about the key facts of the reference and answers them from the
reference and from the generated text. Recall is the share that the generated text answers, precision the mean token
F1 (jieba) of those answers with the reference's.
"""

OPTIONS = {
    "judge": Option(
        f"""{JUDGE} Required. Called at most three times:
        once for all questions, once for all reference answers, once for the answers of all generated texts.""",
        read=required_judge,
    ),
    "profile": profile("""\
        "official" (default) scores as the authors' code does: strict parsing, answers matched by position,
        `无法推断` known only exactly, items whose reference answers nothing count as 0, and what cannot be read
        leaves the mean. "corrected" matches answers by the number of their question, reads replies patiently,
        leaves out what the reference does not answer, and counts unscored items as 0."""),
    "states": STATES,
    "ids": Option("list of n item ids; required with question_cache."),
    "question_cache": Option("""path of an upstream `*_quest_gt_save.json`, or a mapping from ids to mappings with
        `question` (or `questions`) and `answers`. Never written. Items not in it are asked about."""),
    "prompts": Option(
        """mapping that replaces the judge's instructions: "questions", a text with {text}, or "answers", a text
        with {text} and {questions}, or both.""",
        read=templates,
    ),
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": """list of n generated texts. None is an item without one. An empty text is left out by
        "official", as upstream does, and answers nothing for "corrected".""",
        "references": """list of n ground-truth texts. None, or a blank text, is an item without one: not
        applicable.""",
    },
    options=OPTIONS,
    values={
        "precision, recall": "in [0, 1], or None without a value.",
    },
    code="""
    >>> metric = evaluate.load("ragquesteval")
    >>> questions = ["哪个城市发放消费券？", "总额是多少？", "多少家场馆可用？"]
    >>> cache = {"a": {"question": questions, "answers": ["西安市", "500万元", "173家"]}}
    >>> def judge(requests):
    ...     answers = ["西安市", "500万元", "无法推断"]
    ...     blocks = [f"问题 {n}\\n<response>\\n{text}\\n</response>" for n, text in enumerate(answers, 1)]
    ...     return ["\\n".join(blocks) for request in requests]
    >>> text, truth = "西安市发放500万元消费券。", "西安市发放500万元消费券，173家场馆可用。"
    >>> asked = {"judge": judge, "ids": ["a"], "question_cache": cache}
    >>> result = metric.compute(predictions=[text], references=[truth], **asked)
    >>> result["precision"], round(result["recall"], 4)
    (1.0, 0.6667)
    """,
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Ragquesteval(Shared, evaluate.Metric):
    VERSION = "1.2.0"
    OPTIONS = OPTIONS

    def _info(self) -> evaluate.MetricInfo:
        code, papers = ["https://github.com/IAAR-Shanghai/CRUD_RAG"], ["https://arxiv.org/abs/2401.17043"]
        return info(_DESCRIPTION, CRUD_RAG, _KWARGS_DESCRIPTION, TEXT, code, papers)

    def columns(self, predictions: Any, references: Any) -> dict[str, list[str | None]]:
        texts = strings(predictions, "predictions", null=True)
        return {"predictions": texts, "references": strings(references, "references", len(texts), null=True)}

    def _compute(self, predictions: list[str | None], references: list[str | None], options: Options) -> dict[str, Any]:
        words, tokenizer = options.prompts, f"jieba-{jieba.__version__}"
        reasons = missing(predictions, options.states)
        items = [open_case(*texts, options.profile) for texts in zip(predictions, references, reasons, strict=True)]
        source = "judge"
        if options.question_cache is not None:
            if options.ids is None:
                raise ValueError("question_cache was given without ids; pass ids=[...], one per prediction")
            entries, digest = read_cache(options.question_cache)
            source = f"cache-{digest}"
            for item, key in zip(items, strings(options.ids, "ids", len(items)), strict=True):
                if key in entries:
                    item.take(entries[key], options.profile)
        interview(items, options.judge, words, READERS[options.profile], options.profile)
        cells = [dict(zip(KEYS, values(item, options.profile), strict=True)) for item in items]
        prompt = "\0".join(words[name] for name in sorted(words))
        ruled = [not item.asked for item in items]
        return self.result(KEYS, cells, options, prompt, options.judge, ruled, questions=source, tokenizer=tokenizer)
