"""Writes a tiny model for llama.cpp whose answers are fixed: make-model.py <out.gguf>.

The weights are a table of "which token follows which". Each answer is a chain of tokens that
occur in no other answer, so the model repeats it exactly. The chat template ends the prompt
with the first token of a chain. It chooses the chain by a word in the last user message:
BYTES, THINK, JSON, FOREVER, CALL (with tools), or anything else for plain talk.

Every byte of a prompt is one token, so a test knows how long a prompt is.
"""
import os
import sys

import numpy as np
from gguf import GGUFWriter, LlamaFileType, TokenType

OUT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT = 32768

STARTS = ["<|talk|>", "<|bytes|>", "<|think|>", "<|json|>", "<|json_call|>", "<|forever|>", "<|call|>"]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *STARTS]
MARKS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
SPLIT_TEXT = "é水車😀ж"
CHAINS = {
    "<|talk|>": ["The wheel", " turns. ", "水車 and 👩‍👩‍👧‍👦", " are here."],
    "<|think|>": ["<think>", "\nLet me", " see.\n", "</think>", "\nI have", " thought."],
    "<|json|>": ['{"answer"', ": 42}"],
    # Some wires request JSON with a tool that has the name "answer".
    "<|json_call|>": [
        *['<tool_call>\n{"name": "answer"', ', "arguments": {"answer"', ": 42}}\n", "</tool_call>"],
    ],
    "<|call|>": [
        *["<tool_call>", '\n{"name": "weather"', ', "arguments": {"town"', ': "Bath 水車'],
        *['", "unit"', ': "C"', "}}\n", "</tool_call>"],
    ],
    "<|forever|>": ["Round ", "and round. "],
}


def byte_tokens():
    """The 256 byte tokens of GPT-2: printable bytes are themselves, others are moved up."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = iter(range(256, 512))
    return [chr(byte if byte in printable else next(moved)) for byte in range(256)]


BYTES = byte_tokens()
texts = list(dict.fromkeys(text for chain in CHAINS.values() for text in chain if text not in MARKS))
tokens = [*BYTES, *CONTROL, *MARKS, *texts, "th"]
assert len(set(tokens)) == len(tokens), "every token needs a text of its own"
kinds = [
    *[TokenType.NORMAL] * 256,
    *[TokenType.CONTROL] * len(CONTROL),
    *[TokenType.USER_DEFINED] * (len(MARKS) + len(texts)),
    TokenType.NORMAL,
]
size = len(tokens)
ids = {token: number for number, token in enumerate(tokens)}
end = ids["<|im_end|>"]

follows = np.full((size, size), 1e-9)
chains = [
    *[[start, *chain, "<|im_end|>"] for start, chain in CHAINS.items() if start != "<|forever|>"],
    ["<|bytes|>", *[BYTES[byte] for byte in SPLIT_TEXT.encode()], "<|im_end|>"],
    ["<|forever|>", *CHAINS["<|forever|>"], CHAINS["<|forever|>"][0]],
]
for chain in chains:
    for before, after in zip(chain, chain[1:]):
        follows[ids[before], ids[after]] = 1
# Any other token ends the answer. The grammars of a server can force such tokens.
for row in range(size):
    if follows[row].max() < 1:
        follows[row, end] = 1

HEAD, FEED_FORWARD = 32, 32
width = -(-size // 64) * 64
model = GGUFWriter(OUT, "llama")
model.add_name("millrace-test")
model.add_type("model")
model.add_context_length(CONTEXT)
model.add_embedding_length(width)
model.add_block_count(1)
model.add_feed_forward_length(FEED_FORWARD)
model.add_head_count(1)
model.add_head_count_kv(1)
model.add_key_length(HEAD)
model.add_value_length(HEAD)
model.add_layer_norm_rms_eps(1e-9)
model.add_rope_dimension_count(HEAD)
model.add_vocab_size(size)
model.add_file_type(LlamaFileType.ALL_F32)
model.add_tokenizer_model("gpt2")
model.add_tokenizer_pre("gpt-2")
model.add_token_list(tokens)
model.add_token_types(kinds)
# The tokenizer needs at least one merge.
model.add_token_merges(["t h"])
model.add_bos_token_id(ids["<|endoftext|>"])
model.add_eos_token_id(end)
model.add_pad_token_id(ids["<|endoftext|>"])
model.add_add_bos_token(False)
with open(os.path.join(HERE, "template.jinja"), encoding="utf-8") as template:
    model.add_chat_template(template.read())


def add(name, values):
    model.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))


# The embedding identifies the token. The layer adds nothing. The output looks up the next token in
# the table.
output = np.zeros((size, width))
output[:, :size] = np.log(follows).T / np.sqrt(width)
add("token_embd.weight", np.eye(size, width))
add("output_norm.weight", np.ones(width))
add("output.weight", output)
add("blk.0.attn_norm.weight", np.ones(width))
add("blk.0.ffn_norm.weight", np.ones(width))
for name in ["attn_q", "attn_k", "attn_v"]:
    add(f"blk.0.{name}.weight", np.zeros((HEAD, width)))
add("blk.0.attn_output.weight", np.zeros((width, HEAD)))
add("blk.0.ffn_gate.weight", np.zeros((FEED_FORWARD, width)))
add("blk.0.ffn_up.weight", np.zeros((FEED_FORWARD, width)))
add("blk.0.ffn_down.weight", np.zeros((width, FEED_FORWARD)))
model.write_header_to_file()
model.write_kv_data_to_file()
model.write_tensors_to_file()
model.close()
print(f"{OUT}: {size} tokens")
