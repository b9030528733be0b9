"""CRAG's questions, prompts, windows, options and metrics, as far as no run is needed."""

import json

import pytest
from specs import spec_of
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from quadrag.baselines.crag import benchmark as crag
from quadrag.baselines.crag.context_builder import fill_window, windows
from quadrag.data.builders import open_builder
from quadrag.errors import QuadragError
from quadrag.loading import script_options
from quadrag.prompts import load_prompts
from quadrag.records import Passage
from quadrag.run.plan import recipes

PROMPTS = load_prompts("crag")


def questions(config="task_1_2", split="public"):
    builder, _ = open_builder("crag", config, "sample", None, split)
    return list(crag.questions(builder, split, {}))


def asked(retriever, *passages):
    question = next(one for one in questions() if one.query.startswith("how many grammy"))
    (message,) = crag.messages(question, passages, PROMPTS, retriever)
    assert message["role"] == "user"
    return question, message["content"]


def test_a_question_knows_its_snippets_its_time_its_slices_and_every_accepted_answer():
    found = {question.query: question for question in questions()}
    question = found["how much did quillmark systems pay per share in dividends over the whole of 2023?"]
    assert question.references[0] == "$1.12"
    assert question.slots == {"query_time": "02/23/2024, 07:55:00 PT"}
    assert question.slices["domain"] == "finance" and question.slices["popularity"] == "head"
    assert set(question.slices) == {"domain", "question_type", "dynamism", "popularity"}
    assert [passage.id for passage in question.passages] == [f"web/{n}" for n in range(5)]
    assert any(len(one.references) > 1 for one in found.values())
    web = found["what was the title of the 2018 sequel to the glass orchard?"]
    assert web.slices["popularity"] == "web"


def test_questions_without_pages_are_the_same_questions():
    assert [one.id for one in questions("qa")] == [one.id for one in questions()]
    assert all(one.passages == () for one in questions("qa"))


def test_prompts_give_time_and_protocol_and_neither_domain_nor_type_nor_answer():
    for retriever in crag.BENCHMARK.retrievers:
        question, text = asked(retriever)
        assert question.query in text and "Query Time: 02/28/2024, 10:45:12 PT" in text and "{" not in text
        assert '"invalid question"' in text and '"I don\'t know"' in text
        assert question.slices["domain"] not in text.lower().replace(question.query, "") and "\n3\n" not in text
        assert question.slices["question_type"] not in text.lower()


def test_facts_and_pieces_stand_in_their_own_places():
    fact, piece = Passage("kg/0", "f", "FACT {query}"), Passage("web/1", "p", "PIECE {web}")
    _, both = asked("snippets-kg", fact, piece)
    assert both.index("Facts:\nFACT {query}") < both.index("References:\nPIECE {web}")
    _, web = asked("snippets", piece, piece)
    assert "References:\nPIECE {web}\nPIECE {web}\n" in web and "Facts:" not in web
    _, alone = asked("none")
    assert "References" not in alone and "Facts" not in alone


def test_windows_are_the_papers_or_the_released_baselines_unless_given():
    tokens = {"window_tokenizer": "t"}
    sizes = {"snippets": (4000, 0), "snippets-kg": (4000, 2000), "pages": (1000, 0), "pages-kg": (500, 500)}
    for retriever, (web, graph) in sizes.items():
        assert windows(retriever, tokens) == (web, graph) and windows(retriever, {}) == (4 * web, 4 * graph)
    assert windows("snippets-kg", {"web_window": 1000, "kg_window": 0}) == (4000, 0)
    assert windows("snippets-kg", {"web_window": 1000, "kg_window": 500, **tokens}) == (1000, 500)


def task(retriever="snippets", config="task_1_2", **options):
    return spec_of("crag", config, "public", "sample", retriever, crag.BENCHMARK.retrieval, options)


def test_what_needs_pages_or_a_graph_says_so(tmp_path):
    with pytest.raises(QuadragError, match="--retriever none"):
        crag.finder(task(config="qa"))
    assert crag.finder(task("none", "qa")) is None
    with pytest.raises(QuadragError, match="quadrag kg build"):
        crag.finder(task("snippets-kg").changed(data_dir=str(tmp_path)))


def test_weights_are_a_mapping_of_types_or_of_domains(tmp_path):
    kinds = {question.slices["question_type"] for question in questions("qa")}
    flat = dict.fromkeys(kinds, 2)
    for weights in (flat, {question.slices["domain"]: flat for question in questions("qa")}):
        path = tmp_path / f"{len(weights)}.yaml"
        path.write_text(json.dumps(weights))
        spec = spec_of("crag", "qa", retriever="none", options={"weights": str(path)})
        truth, _ = crag.metrics(spec)
        assert "truthfulness_weighted" in truth.keys and "missing_weighted" not in truth.judged
        keywords = crag.keywords(truth, questions("qa"), spec)
        assert len(keywords["domains"]) == len(keywords["question_types"]) == 15
    path.write_text("{simple: 2}")
    with pytest.raises(QuadragError, match="no weight"):
        crag.keywords(truth, questions("qa"), spec)
    for text in ("[]", "{}", "{simple: -1}", "{simple: x}", "{finance: {}}", "3", "{a: 1, b: {c: 1}}"):
        path.write_text(text)
        with pytest.raises(QuadragError):
            script_options(task("none", weights=str(path)), crag.BENCHMARK)


def test_answers_are_cut_to_75_tokens_by_a_named_tokenizer(tmp_path):
    vocabulary = {"<s>": 0, "<unk>": 1, "word": 2}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    import evaluate

    from quadrag.catalogue import metric_folder

    module = evaluate.load(str(metric_folder("truthfulness")))
    spec = spec_of("crag", "qa", retriever="none", options={"trim": str(tmp_path)})
    keywords = crag.keywords(crag.metrics(spec)[0], questions()[:1], spec)
    gold = " ".join(["word"] * 75)
    for count, accuracy in ((75, 1.0), (90, 1.0), (74, None)):
        result = module.compute(
            predictions=[" ".join(["word"] * count)], references=[[gold]], tokenizer=keywords["tokenizer"]
        )
        assert result["accuracy"] == accuracy, "74 words are another answer, which needs a judge"


def passages(*texts):
    return [Passage(f"web/{n}", "t", text) for n, text in enumerate(texts)]


def shown(*texts, size, tokenizer=None):
    return [(passage.id, passage.text) for passage in fill_window(passages(*texts), size, tokenizer)]


def test_passages_are_taken_in_order_and_the_last_one_is_cut():
    assert shown("abcd", "efgh", "ijkl", size=6) == [("web/0", "abcd"), ("web/1", "ef")]
    assert shown("abcd", "efgh", size=8) == shown("abcd", "efgh", size=100) == [("web/0", "abcd"), ("web/1", "efgh")]
    assert shown("abcd", size=0) == [] and shown("", " \n", "abcd", size=4) == [("web/2", "abcd")]


def test_sizes_are_in_tokens_of_a_named_tokenizer(words):
    assert shown("one two three", "two two", size=4, tokenizer=words) == [("web/0", "one two three"), ("web/1", "two ")]
    assert shown("one two three", size=2, tokenizer=words) == [("web/0", "one two ")]


# Section 5.1, in tokens: of the web and of the graph. Of Mixtral it says nothing; its recipe has those of Llama 3.
PAPERS = {"falcon": (1000, 500), "flan-t5": (1000, 500), "llama-2": (2000, 1000)}


@pytest.mark.parametrize("name", [name for name in recipes() if name.startswith("crag-")])
def test_recipes_hold_the_papers_tokens_and_who_found_the_entities(name):
    recipe = recipes()[name]
    web, graph = next((sizes for model, sizes in PAPERS.items() if model in name), (4000, 2000))
    options = [run.get("options", {}) for run in recipe["runs"]]
    assert [one.get("web_window") for one in options] == [None, web, web, web]
    assert [one.get("kg_window") for one in options] == [None, None, graph, graph]
    assert recipe["entity_model"] == {"model": "meta-llama/Meta-Llama-3-8B-Instruct"}
