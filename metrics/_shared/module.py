# SPDX-License-Identifier: Apache-2.0
"""What an evaluate module here is made of: words of its documentation, papers, the mixin that drives its scorer."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets
import evaluate

from .scoring import PROFILES, UNSCORED, Row, Scorer, drive, is_list


class Paper(NamedTuple):
    citation: str  # as BibTeX
    code: str
    address: str  # of the preprint


CRAG = Paper(
    """\
@inproceedings{yang2024crag,
  title     = {{CRAG} -- Comprehensive {RAG} Benchmark},
  author    = {Yang, Xiao and Sun, Kai and Xin, Hao and Sun, Yushi and Bhalla, Nikita and Chen, Xiangsen and others},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2406.04744}
}
""",
    "https://github.com/facebookresearch/CRAG",
    "https://arxiv.org/abs/2406.04744",
)
CRUD_RAG = Paper(
    """\
@article{lyu2025crud,
  title   = {{CRUD-RAG}: A Comprehensive {Chinese} Benchmark for Retrieval-Augmented Generation of Large Language
             Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao and
             Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  volume  = {43},
  number  = {2},
  year    = {2025},
  doi     = {10.1145/3701228}
}
""",
    "https://github.com/IAAR-Shanghai/CRUD_RAG",
    "https://arxiv.org/abs/2401.17043",
)
OMNIEVAL = Paper(
    """\
@inproceedings{wang2025omnieval,
  title     = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author    = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  booktitle = {Proceedings of the 2025 Conference on Empirical Methods in Natural Language Processing},
  pages     = {5737--5762},
  year      = {2025},
  url       = {https://arxiv.org/abs/2412.13018}
}
""",
    "https://github.com/RUC-NLPIR/OmniEval",
    "https://arxiv.org/abs/2412.13018",
)
RGB = Paper(
    """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  number    = {16},
  pages     = {17754--17762},
  year      = {2024}
}
""",
    "https://github.com/chen700564/RGB",
    "https://arxiv.org/abs/2309.01431",
)


TEXT = datasets.Value("string")
TEXTS = datasets.Sequence(TEXT)
_MOST = 0.2  # the share of verdicts that may fail where a value is to say something
_FAILED = (*UNSCORED, "misaligned")  # reasons why a judge that was asked gave no verdict

STATES = """states: list of n reasons, read where a prediction is None: "api_error", "raised", "unparsable",
        "truncated", "null" or None for "api_error"."""
JUDGE = """judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
        object with a `reason`; its `model` enters the signature, which has `judge:none` where it has none."""
QUESTIONS = "questions: list of n questions; required with a judge."
RESULT = """<key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on."""
JUDGED = f"""{RESULT}
    valid: with a judge; False, with a warning, where more than a fifth of its verdicts failed or could not be read:
        the values that rest on them say nothing of the answers. A row is `ruled` where a rule decided instead."""


def info(
    description: str, documentation: str, references: Any, *papers: Paper, predictions: Any = TEXT
) -> evaluate.MetricInfo:
    return evaluate.MetricInfo(
        description=description,
        citation="".join(paper.citation for paper in papers),
        inputs_description=documentation,
        features=datasets.Features({"predictions": predictions, "references": references}),
        codebase_urls=[paper.code for paper in papers],
        reference_urls=[paper.address for paper in papers],
    )


class Shared:
    """Goes before `evaluate.Metric` in a metric's bases: inputs, options and the result are every metric's alike.

    It is no `evaluate.Metric` itself: `evaluate` takes the first one that it finds.
    """

    SCORER: type[Scorer]
    config_name: Any

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        """Accept None, which `evaluate` does not; the scorer has checked every entry before."""

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its reference; None is a value of either where the metric says so."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and their references, in any documented shape."""
        super().add_batch(**self.SCORER.columns(predictions, references))  # type: ignore[misc]  # evaluate's

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        profile: str = "official",
        states: Any = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here; None where another process reports.

        With a judge, say whether the values are `valid`, and warn of verdicts that failed.
        """
        if profile not in PROFILES:
            raise ValueError(f"profile is {profile!r}; expected one of {', '.join(PROFILES)}")
        judges = self._take_judges(options)
        columns = {name: options.pop(name, None) for name in self.SCORER.COLUMNS}
        scorer = self.SCORER(profiles=(profile,), judges=len(judges), config=self.config_name, **options)
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
        added = super().compute()  # type: ignore[misc]  # evaluate's
        if added is None:
            return None
        items = scorer.items(**added, states=states, **columns)
        rows = drive(scorer, items, judges)
        scores = scorer.summarise(rows, profile, [getattr(judge, "model", None) for judge in judges])
        if judges:
            asked = [row for row, item in zip(scores["per_item"], items, strict=True) if not item["state"]]
            scores["valid"] = _check([row for row in asked if not row.get("ruled")])
        return scores

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, list[Any]]:
        """Return what was added: `evaluate` keeps its files locked where this raises, so scoring comes after it."""
        return {"predictions": predictions, "references": references}

    def _take_judges(self, options: dict[str, Any]) -> Sequence[Any]:
        least, most = self.SCORER.JUDGES
        judge = options.pop("judge", None) if most else None
        judges = options.pop("judges", None) if most > 1 else None
        if judges is None:
            judges = [judge] if least or judge is not None else []
        elif judge is not None or not is_list(judges) or not list(judges):
            raise ValueError(f"judges is {type(judges).__name__}; expected a list of callables, or judge alone")
        for member in judges:
            if not callable(member):
                kind = type(member).__name__
                raise ValueError(f"judge is {kind}; expected a callable from a list of chats to a list of replies")
        return list(judges)


def _check(rows: Sequence[Row]) -> bool:
    """Warn where verdicts failed; return whether no value rests on more than a fifth of such."""
    lost = Counter(key for row in rows for key, reason in row["reasons"].items() if reason in _FAILED)
    failed = max(lost.values(), default=0)
    valid = failed <= _MOST * len(rows)
    if failed:
        message = f"{failed} of {len(rows)} verdicts failed or could not be read"
        warnings.warn(message if valid else f"INVALID, {message}, more than a fifth", stacklevel=3)
    return valid
