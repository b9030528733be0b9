"""Files of OmniEval's form, made for tests: records, nodes, the places where upstream has them, and what is read."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import sample_rows

rows, refusal = partial(sample_rows.rows, "omnieval"), partial(sample_rows.refusal, "omnieval")
TASKS = {
    "extractive_qa": "抽取类问答",
    "multi_hop_qa": "多跳推理类问答",
    "contrast_qa": "对比类问答",
    "long_form_qa": "长答案形式问答",
    "conversational_qa": "多轮对话能力",
}
# specs/omnieval.md, section A, and the slugs of the contract
TOPICS = {
    "银行业务": {
        "零售银行": "banking/retail",
        "商业银行": "banking/commercial",
        "投资银行": "banking/investment_banking",
    },
    "投资": {
        "股票市场": "investment/stocks",
        "债券市场": "investment/bonds",
        "基金": "investment/funds",
        "衍生品市场": "investment/derivatives",
    },
    "保险": {"人寿保险": "insurance/life", "财产保险": "insurance/property", "健康保险": "insurance/health"},
    "金融科技": {"区块链": "fintech/blockchain", "人工智能": "fintech/ai", "大数据": "fintech/big_data"},
    "监管与合规": {
        "反洗钱（AML）": "regulation/anti_money_laundering",
        "合规审计": "regulation/compliance_audit",
        "监管报告": "regulation/regulatory_reporting",
    },
}
PLACES = {slug: (upper, lower) for upper, below in TOPICS.items() for lower, slug in below.items()}
FINAL = "gen_datas_test_final"
HUMAN = "human_annotated/v1022/v1022.jsonl"
NODES = "gen_datas_all-2048-256_nodes/corpus.jsonl"


def record(question: str = "年费是多少？", **changes: Any) -> dict[str, Any]:
    return {
        **{"thought_process": "先看原文。", "question": question, "answer": ["30元", "三十元"]},
        **{"relevant_passage": ["年费30元。"], "relevant_node": ["n-1"], "evaluation": 2},
        **changes,
    }


def named(topic: str = "banking/retail", task: str = "extractive_qa", **changes: Any) -> dict[str, Any]:
    return record(topic_name=" - ".join(("金融", *PLACES[topic])), task_name=TASKS[task], **changes)


def node(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": f"n-{number}", "title": f"题{number}", "contents": f"题{number}\n正文{number}", **changes}


def put(root: Path, name: str, *lines: Any) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, (str, bytes)) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_bytes(b"".join((text if isinstance(text, bytes) else text.encode()) + b"\n" for text in texts))
    return root


def cell(root: Path, *lines: Any, topic: str = "banking/retail", task: str = "extractive_qa", of: str = FINAL) -> Path:
    return put(root, "/".join((of, *PLACES[topic], f"{TASKS[task]}.jsonl")), *lines)


def one(tmp_path: Path, *lines: Any, task: str = "extractive_qa", **options: Any) -> list[dict[str, Any]]:
    return rows("all", "auto", cell(tmp_path, *lines, task=task), **options)


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in found]
