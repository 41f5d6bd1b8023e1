#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes smollm2_135m_q4_1.json: what an independent engine answers on the default model.

    pip install llama-cpp-python==0.3.36
    python3 make_reference.py SmolLM2-135M-Instruct.Q4_1.gguf > smollm2_135m_q4_1.json

Each answer is the plain argmax of 64 steps. An end token would be appended and the loop would go on; the prompts are
such that none occurs. The engine rounds activations to 8 bits before it multiplies and keeps keys and values as f16, so
its logits carry an error of their own: "gap" is the distance between a step's two best logits, and tells how easily
the choice could have gone the other way.
"""

import hashlib
import json
import pathlib
import sys

import llama_cpp
import numpy

NUM_STEPS = 64
TOP_K = 10

# What the model's own template puts before a conversation that has no system message.
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

PROMPTS = [
    {"name": "short", "text": "The capital of France is"},
    {
        "name": "chat",
        "messages": [
            {"role": "user", "content": "Explain to a ten-year-old why the sky is blue, and why sunsets are red."}
        ],
    },
    {
        "name": "indonesian",
        "text": "Gotong royong adalah kebiasaan bekerja bersama tanpa upah di desa-desa Indonesia: warga membangun rumah, "
        "memanen padi, dan membersihkan jalan dengan senang hati. In English, this means that",
    },
    {
        "name": "code",
        "text": "def binary_search(items, target):\n"
        '    """Return the index of target in the sorted list items, or -1."""\n'
        "    low, high = 0, len(items) - 1\n"
        "    while low <= high:\n",
    },
    {"name": "emoji", "text": "My trip in emoji: 🚂🏔️☕📷 and then 🌧️🌈! Here is what happened each day 😀:\n\n"},
    {"name": "long", "text": (pathlib.Path(__file__).parent / "long_prompt.txt").read_text(encoding="utf-8").rstrip()},
]


def render_chat(messages):
    turns = messages if messages[0]["role"] == "system" else [{"role": "system", "content": SYSTEM}, *messages]
    text = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns)
    return text + "<|im_start|>assistant\n"


def top_logits(model):
    logits = numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(model.ctx, -1), shape=(model.n_vocab(),))
    best = numpy.argsort(-logits, kind="stable")[:TOP_K]  # stable: the lowest id on a tie
    return [[int(i), round(float(logits[i]), 4)] for i in best]


def answer(model, prompt_ids):
    """One forced greedy run: ids, and the best logits before each of them."""
    model.reset()
    model.eval(prompt_ids)
    ids, tops = [], []
    for _ in range(NUM_STEPS):
        tops.append(top_logits(model))
        ids.append(tops[-1][0][0])
        model.eval([ids[-1]])
    return ids, tops


def reference(model, prompt):
    text = prompt["text"] if "text" in prompt else render_chat(prompt["messages"])
    # add_bos: asks for it, which the tokenizer heeds only if the model does.
    prompt_ids = model.tokenize(text.encode("utf-8"), add_bos=True, special="messages" in prompt)
    ids, tops = answer(model, prompt_ids)
    assert not any(llama_cpp.llama_vocab_is_eog(model._model.vocab, i) for i in ids), prompt["name"] + " ends early"
    steps = [{"gap": round(top[0][1] - top[1][1], 4), "top": top} for top in tops]
    return {**prompt, "rendered": text, "prompt_ids": prompt_ids, "ids": ids, "steps": steps}


def main():
    path = pathlib.Path(sys.argv[1])
    model = llama_cpp.Llama(
        str(path), n_ctx=2048, n_batch=512, n_threads=2, n_threads_batch=2, flash_attn=False, logits_all=False, verbose=False
    )
    result = {
        "model": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "engine": f"llama-cpp-python {llama_cpp.__version__}, CPU, f16 keys and values, no flash attention",
        "add_bos": model.metadata.get("tokenizer.ggml.add_bos_token") == "true",
        "prompts": [reference(model, prompt) for prompt in PROMPTS],
    }
    for prompt in result["prompts"]:
        text = model.detokenize(prompt["ids"]).decode("utf-8", "replace")
        gap = min(step["gap"] for step in prompt["steps"])
        print(f"{prompt['name']}: {len(prompt['prompt_ids'])} tokens, least gap {gap}: {text!r}", file=sys.stderr)
    json.dump(result, sys.stdout, ensure_ascii=False, separators=(",", ":"))


main()
