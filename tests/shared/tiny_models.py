"""Models made on the spot: random weights, one layer, a token for each letter."""

from pathlib import Path
from typing import Any


def make_reranker(folder: Path, letters: str, *, labels: int = 1, head: bool = True) -> Path:
    from transformers import BertForSequenceClassification, BertModel

    # Wide, so that scores are far apart, beyond what a sigmoid can tell.
    config = _write_tokenizer(folder, letters, 96, num_labels=labels, initializer_range=1.0)
    (BertForSequenceClassification if head else BertModel)(config).save_pretrained(folder)
    return folder


def make_encoder(
    folder: Path, letters: str, *, prompts: dict[str, str] | None = None, seed: int = 0, positions: int = 64
) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import BertModel

    parts = folder.with_name(f"{folder.name}-parts")
    BertModel(_write_tokenizer(parts, letters, positions, seed)).save_pretrained(parts)
    body = modules.Transformer(str(parts))
    pooling = modules.Pooling(body.get_embedding_dimension(), "mean")
    SentenceTransformer(modules=[body, pooling], prompts=prompts, device="cpu").save(str(folder))
    return folder


CHAT_TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}\n{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def make_chat_model(folder: Path, positions: int = 512, template: str | None = CHAT_TEMPLATE) -> Path:
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "</s>"]
    vocabulary = {token: number for number, token in enumerate([*special, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    fast.chat_template = template
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=positions,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _write_tokenizer(folder: Path, letters: str, positions: int, seed: int = 0, **more: Any) -> Any:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, PreTrainedTokenizerFast

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(letters))]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=positions,
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    return BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=positions,
        **more,
    )
