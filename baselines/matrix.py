"""The task-by-topic matrix: a metric's value in every cell, by topic, by task and over all, micro and macro.

Rows are topics under their fields, columns tasks; the last column is each topic over all tasks. Under the topics stand
each task over all topics (micro: questions count alike) and the means over groups (macro: groups count alike).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import NOTHING, value_cell
from .grid import Cell, Grid, Line
from .notes import INTERVALS, denominator
from .score_rows import ALL

# Of each slug the English and the Chinese label; one of 13 columns at most leaves 80 to six intervals beside it.
FIELDS = {
    "banking": ("Banking", "银行业务"),
    "investment": ("Investment", "投资"),
    "insurance": ("Insurance", "保险"),
    "fintech": ("FinTech", "金融科技"),
    "regulation": ("Regulation", "监管与合规"),
}
TOPICS = {
    "banking/retail": ("retail", "零售银行"),
    "banking/commercial": ("commercial", "商业银行"),
    "banking/investment_banking": ("invest. bank", "投资银行"),
    "investment/stocks": ("stocks", "股票市场"),
    "investment/bonds": ("bonds", "债券市场"),
    "investment/funds": ("funds", "基金"),
    "investment/derivatives": ("derivatives", "衍生品市场"),
    "insurance/life": ("life", "人寿保险"),
    "insurance/property": ("property", "财产保险"),
    "insurance/health": ("health", "健康保险"),
    "fintech/blockchain": ("blockchain", "区块链"),
    "fintech/ai": ("AI", "人工智能"),
    "fintech/big_data": ("big data", "大数据"),
    "regulation/anti_money_laundering": ("AML", "反洗钱（AML）"),
    "regulation/compliance_audit": ("compliance", "合规审计"),
    "regulation/regulatory_reporting": ("reporting", "监管报告"),
}
TASKS = {
    "extractive_qa": ("extrac-\ntive", "抽取类\n问答"),
    "multi_hop_qa": ("multi-\nhop", "多跳推理\n类问答"),
    "contrast_qa": ("con-\ntrast", "对比类\n问答"),
    "long_form_qa": ("long\nform", "长答案\n形式问答"),
    "conversational_qa": ("conver-\nsational", "多轮对话\n能力"),
}
LOWER_IS_BETTER = ["Of hal lower is better."]
_WORDS = {"all": ("all", "全部"), "topic": ("topic", "主题"), "micro": ("all topics", "全部主题")}
_MACRO = {
    "topic": ("macro, topics", "宏平均（主题）"),
    "task": ("macro, tasks", "宏平均（任务）"),
    "cell": ("macro, cells", "宏平均（单元）"),
}


def matrix_grids(
    scores: Sequence[Mapping[str, Any]], title: str, profile: str, keys: Sequence[str], labels: str = "en"
) -> list[Grid]:
    """Make the matrix of each metric for each split; [] where there are no cells.

    Args:
        scores: rows of ``scores.json`` of one run, slices among them.
        title: of the run.
        profile: the one shown.
        keys: the metrics shown, a matrix each.
        labels: ``en`` or ``zh``.
    """
    at = 1 if labels == "zh" else 0
    rows = {(row["split"], row["key"], row["slice"]): row for row in scores if row["profile"] == profile}
    grids = []
    for split in dict.fromkeys(row["split"] for row in scores):
        for key in keys:
            found = {place[2]: row for place, row in rows.items() if place[:2] == (split, key)}
            if any(name.startswith("cell=") for name in found):
                grids.append(_grid(found, f"{title}, {split}: {key} by topic and task", profile, at))
    return grids


def _grid(found: Mapping[str, Mapping[str, Any]], title: str, profile: str, at: int) -> Grid:
    tasks = [task for task in TASKS if f"task={task}" in found]
    lines: list[Line] = []
    field = None
    for topic, label in TOPICS.items():
        if f"topic={topic}" not in found:
            continue
        if topic.partition("/")[0] != field:
            field = topic.partition("/")[0]
            lines.append(Line(FIELDS[field][at], [Cell("")] * (len(tasks) + 1), rule=bool(lines)))
        cells = [found.get(f"cell={topic}/{task}") for task in tasks]
        lines.append(Line(f" {label[at]}", [value_cell(row) for row in (*cells, found[f"topic={topic}"])]))
    whole = [*(found.get(f"task={task}") for task in tasks), found.get(ALL)]
    lines.append(Line(_WORDS["micro"][at], [value_cell(row) for row in whole], rule=True))
    counts = [denominator(row) if row else None for row in whole]
    lines.append(Line("  n", [Cell(NOTHING if count is None else str(count)) for count in counts]))
    for grouping, label in _MACRO.items():
        row = found.get(f"macro:{grouping}")
        if row is not None:
            lines.append(Line(label[at], [*[Cell("")] * len(tasks), value_cell(row)]))
    heads = [*(TASKS[task][at] for task in tasks), _WORDS["all"][at]]
    notes = [
        f"Percent, {profile} profile, {INTERVALS}.",
        "Topics and `all` are micro: questions count alike. Macro: groups that have a value do; stratified intervals.",
        *LOWER_IS_BETTER[: any(row["key"] == "hal" for row in found.values())],
    ]
    return Grid(title, _WORDS["topic"][at], heads, lines, notes)
