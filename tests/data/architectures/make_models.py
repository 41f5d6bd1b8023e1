#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the tiny models here, one an architecture or kind of RoPE, and expected.json: what an independent engine
answers on them.

    pip install gguf numpy llama-cpp-python==0.3.36
    python3 make_models.py

All weights are f32 and random, norms and biases too. The engine runs with keys and values as f32 and without flash
attention; nothing is rounded to fewer bits, so that its logits are exact to about 0.00001.
"""

import json
import pathlib

import gguf
import llama_cpp
import numpy

FOLDER = pathlib.Path(__file__).parent
DIM, HIDDEN, HEADS, KV_HEADS, LAYERS = 32, 32, 4, 2, 2
CHARACTERS = [chr(c) for c in range(ord("A"), ord("Z") + 1)] + ["Ġ", "Ċ"]  # as byte-level BPE writes space and newline
TOKENS = CHARACTERS + ["<|begin|>", "<|end|>"]

# Long enough for RoPE to turn its slow pairs.
PROMPT = numpy.random.default_rng(1).integers(len(CHARACTERS), size=60).tolist()
NUM_STEPS = 8

MODELS = {
    "llama": {"architecture": "llama", "head_dim": 8},
    "llama_rope_factors": {"architecture": "llama", "head_dim": 8, "factors": [1.0, 1.0, 3.5, 8.0]},
    "llama_rope_linear": {"architecture": "llama", "head_dim": 8, "linear": 4.0},
    "qwen2": {"architecture": "qwen2", "head_dim": 8},
    "qwen3": {"architecture": "qwen3", "head_dim": 16},  # wider than DIM / HEADS
}


def write(path, model, random):
    head_dim = model["head_dim"]
    w = gguf.GGUFWriter(path, model["architecture"])
    w.add_name(path.stem)
    w.add_block_count(LAYERS)
    w.add_context_length(256)
    w.add_embedding_length(DIM)
    w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV_HEADS)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_rope_freq_base(10000.0)
    if "linear" in model:
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(model["linear"])
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(TOKENS)
    w.add_token_types([gguf.TokenType.NORMAL] * len(CHARACTERS) + [gguf.TokenType.CONTROL] * 2)
    w.add_token_merges(["A B"])  # the engine wants one; "AB" is no token, so that it never happens
    w.add_bos_token_id(len(CHARACTERS))
    w.add_eos_token_id(len(CHARACTERS) + 1)

    def add(name, *shape, mean=0.0, deviation=None):
        deviation = deviation or 1.0 / shape[-1] ** 0.5
        w.add_tensor(name, random.normal(mean, deviation, shape).astype(numpy.float32))

    q, kv = HEADS * head_dim, KV_HEADS * head_dim
    add("token_embd.weight", len(TOKENS), DIM, deviation=1.0)
    if "factors" in model:
        w.add_tensor("rope_freqs.weight", numpy.array(model["factors"], numpy.float32))
    for i in range(LAYERS):
        block = f"blk.{i}."
        add(block + "attn_norm.weight", DIM, mean=1.0, deviation=0.3)
        add(block + "attn_q.weight", q, DIM, deviation=0.5)  # far from flat attention
        add(block + "attn_k.weight", kv, DIM, deviation=0.5)
        add(block + "attn_v.weight", kv, DIM)
        if model["architecture"] == "qwen2":
            add(block + "attn_q.bias", q, deviation=1.0)
            add(block + "attn_k.bias", kv, deviation=1.0)
            add(block + "attn_v.bias", kv, deviation=0.5)
        if model["architecture"] == "qwen3":
            add(block + "attn_q_norm.weight", head_dim, mean=1.0, deviation=0.3)
            add(block + "attn_k_norm.weight", head_dim, mean=1.0, deviation=0.3)
        add(block + "attn_output.weight", DIM, q)
        add(block + "ffn_norm.weight", DIM, mean=1.0, deviation=0.3)
        add(block + "ffn_gate.weight", HIDDEN, DIM)
        add(block + "ffn_up.weight", HIDDEN, DIM)
        add(block + "ffn_down.weight", DIM, HIDDEN)
    add("output_norm.weight", DIM, mean=1.0, deviation=0.3)
    if model["architecture"] == "llama":
        add("output.weight", len(TOKENS), DIM, deviation=0.5)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def answer(path):
    model = llama_cpp.Llama(
        str(path), n_ctx=256, n_threads=1, n_threads_batch=1, flash_attn=False, logits_all=False,
        type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32, verbose=False,
    )  # fmt: skip

    def logits():
        row = llama_cpp.llama_get_logits_ith(model.ctx, -1)
        return numpy.ctypeslib.as_array(row, shape=(model.n_vocab(),)).astype(float)

    model.eval(PROMPT)
    first_logits, greedy = logits(), []
    for _ in range(NUM_STEPS):
        greedy.append(int(numpy.argmax(logits())))
        model.eval(greedy[-1:])
    return {"prompt": PROMPT, "first_logits": [round(x, 6) for x in first_logits], "greedy": greedy}


def main():
    expected = {"engine": f"llama-cpp-python {llama_cpp.__version__}"}
    for seed, (name, model) in enumerate(MODELS.items()):
        path = FOLDER / f"{name}.gguf"
        write(path, model, numpy.random.default_rng(seed))
        expected[name] = answer(path)
    lines = ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in expected.items())
    (FOLDER / "expected.json").write_text("{" + lines + "}\n", encoding="utf-8")


main()
