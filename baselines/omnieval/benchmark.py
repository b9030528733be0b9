"""OmniEval: Chinese questions on finance, searched for in one corpus, judged by topic and by task.

Wang et al. 2024 (arXiv:2412.13018), sections 3 and 4. The corpus is cut upstream, so a passage is a whole node; the
paper shows five of them. In a conversation the turns before a question are turns of the chat, and the search is given
their questions in the protocol's form. The authors' code means to give both that form, ``--option conversation=text``,
but does so without passages alone; with them both are the text of a Python list: ``conversation=repr``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.benchmark import Benchmark, CorpusSpec, Document, JudgePreset, MetricUse, OptionSpec
from quadrag.data.builders import rows
from quadrag.metrics._shared.slots import fill
from quadrag.parts import Retrieval
from quadrag.prompts import Message, Prompts, chat_messages
from quadrag.records import Passage, Question
from quadrag.retrieval.search import CORPUS_RETRIEVERS
from quadrag.spec import NONE, WHOLE, RunSpec

NAME = "omnieval"
_BY_PASSAGES = ("hal", "utl")
_OVERLAP = MetricUse("omnieval_overlap", ("em", "f1", "rouge_l"))
# Where a file of answers does not say which passages were shown.
_UNSHOWN = MetricUse("omnieval", _BY_PASSAGES, unmeasured="the passages shown are not known")
_CONVERSATION = OptionSpec("turns", ("turns", "text", "repr"))


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    form = _CONVERSATION.read("conversation", options)
    for row in rows(builder, split):
        turns = tuple((turn["question"], turn["answer"]) for turn in row["history"])
        asked = row["question"]
        # A round's id ends in its number after that of its line; the first round has no turns before it, but is one.
        talk = row["id"].rpartition(".")[0] if "." in row["id"].rpartition("/")[2] else ""
        spelled = _spell([question for question, _ in turns], asked, form) if talk else asked
        yield Question(
            benchmark=NAME,
            config=builder.config.name,
            split=split,
            id=row["id"],
            query=spelled,
            references=row["answers"] or None,
            language="zh",
            relevant=tuple(dict.fromkeys(row["relevant_node_ids"])),
            # What a prompt asks: the turns themselves stand before it, or the whole conversation is one text.
            slots={"question": asked if form == "turns" else spelled, "asked": asked},
            slices={"topic": row["topic"], "task": row["task"], "cell": f"{row['topic']}/{row['task']}"},
            history=turns,
            talk=talk,
        )


def _spell(before: Sequence[str], question: str, form: str) -> str:
    if form == "repr":
        return repr([*before, question])
    if form == "turns" and not before:
        return question
    rounds = "\n".join(f"{number}-round: {asked}" for number, asked in enumerate(before))
    return f"\n历史对话问题记录：{rounds}\n当前问题：{question}"


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[Message]:
    words = prompts["close_book" if retriever == NONE else "rag"]
    slots = {**question.slots, "reference": "".join(_reference(n, passage) for n, passage in enumerate(passages, 1))}
    history = question.history if question.slots["question"] == question.slots["asked"] else ()
    system = {"role": "system", "content": fill(words["system"], slots)}
    return [system, *chat_messages(history, fill(words["user"], slots))]


def _reference(number: int, passage: Passage) -> str:
    """Return the protocol's line of one passage; its title is the first line of the text, whatever the corpus says."""
    title, _, rest = passage.text.partition("\n")
    return f"Doc {number}(Title: {title}) {rest}\n"


def metrics(spec: RunSpec) -> list[MetricUse]:
    """Return overlap, the judged metrics, and ranks; without passages those alone that need none."""
    if spec.top_k:
        ranks = ("map", "mrr", f"recall@{spec.top_k}")
        judged = [_judged(key) for key in ("acc", "hal", "com", "utl", "nac")]
        return [_OVERLAP, *judged, MetricUse("retrieval_ranking", ranks, ranks=True)]
    unshown = [] if spec.retriever == NONE else [_UNSHOWN]
    return [_OVERLAP, *map(_judged, ("acc", "com", "nac")), *unshown]


def _judged(key: str) -> MetricUse:
    """Return one judged metric; the paper has a judge of its own for hallucination, which is then named second."""
    return MetricUse("omnieval", (key,), contexts=key in _BY_PASSAGES, config=key, judge=1 if key == "hal" else 0)


def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
    if metric.ranks:
        return {"k": [spec.top_k]}
    if metric.module != "omnieval":
        return {}
    history = [[{"question": asked, "answer": said} for asked, said in question.history] for question in questions]
    return {"questions": [question.slots["asked"] for question in questions], "history": history}


BENCHMARK = Benchmark(
    name=NAME,
    paper="arXiv:2412.13018",
    sample="OmniEval on the bundled sample: 208 made-up questions in 80 cells over 144 passages, found by BM25",
    retrievers=CORPUS_RETRIEVERS,
    temperature=0.3,
    questions=questions,
    messages=messages,
    metrics=metrics,
    keywords=keywords,
    paper_runs=lambda original: [("all", None)],
    retrieval=Retrieval(chunk_size=WHOLE, embedding="gte-qwen2-1.5b", top_k=5),
    default_split="auto",
    corpus=CorpusSpec("corpus", ("corpus_file",), lambda row: Document(row["id"], row["title"] or "", row["contents"])),
    options={"conversation": _CONVERSATION},
    option_help="conversation=turns|text|repr, train_dir, auto_dir, human_file, corpus_file, min_evaluation",
    headlines=("acc", "hal", "rouge_l", "f1", "map", "mrr"),
    macro=("topic", "task", "cell"),
    parts=("extractive_qa", "multi_hop_qa", "contrast_qa", "long_form_qa", "conversational_qa"),
    gold=("relevant_node_ids", "relevant_passages"),
    # LoRA adapters of Qwen2.5-7B-Instruct: vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules
    # RUC-NLPIR/OmniEval-ModelEvaluator=RUC-NLPIR/OmniEval-ModelEvaluator (and the other likewise).
    judges={
        "omnieval-evaluator": JudgePreset(
            "RUC-NLPIR/OmniEval-ModelEvaluator", {"seed": 0}, "OmniEval, all metrics but hallucination; a LoRA", 0
        ),
        "omnieval-hallucination": JudgePreset(
            "RUC-NLPIR/OmniEval-HallucinationEvaluator",
            {"seed": 0},
            "OmniEval, hallucination: the second --judge; a LoRA",
            1,
        ),
    },
)
