#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes smollm2_135m_q4_1.json: what an independent engine answers on the default model.

    pip install llama-cpp-python==0.3.36
    python3 make_reference.py SmolLM2-135M-Instruct.Q4_1.gguf > smollm2_135m_q4_1.json

Each prompt is answered twice, with 64 tokens by the plain argmax; an end token does not end the loop:

- "ids": on the weights decoded to f32, with keys and values as f32. These are the right answers: the logits are exact to
  about 0.0001. For each of these tokens the ten best logits are kept, and what the engine makes of the same context on
  the file as it is ("engine_choice" and the second number of each logit).
- "engine_ids": on the file as it is. The engine then rounds activations to 8 bits before it multiplies, and keeps keys
  and values as f16, so that its logits carry an error of some tenths, and its answers differ from the right ones where
  two logits are close. "engine_gaps" are the distances between its two best logits.

The prompts were written down before any of them was run, and not changed for what came out.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import sys
import tempfile

import llama_cpp
import numpy

NUM_STEPS = 64
TOP_K = 10

# What the model's own template puts before a conversation that has no system message.
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

LONG_TEXT = (pathlib.Path(__file__).parent / "long_prompt.txt").read_text(encoding="utf-8").rstrip()

PROMPTS = [
    {"name": "short", "text": "The capital of France is"},
    {"name": "chat", "messages": [{"role": "user", "content": "What is the difference between weather and climate?"}]},
    {
        "name": "indonesian",
        "text": "Gotong royong adalah kebiasaan bekerja bersama tanpa upah di desa-desa Indonesia. Warga membangun rumah,",
    },
    {"name": "code", "text": 'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n'},
    {"name": "emoji", "text": "Good morning! ☀️ Today I baked bread 🍞 and walked along the river 🚶‍♀️ before"},
    {"name": "long", "text": LONG_TEXT + "\n\nIn short, this is the story of"},
]


def open_model(path, kv_type):
    return llama_cpp.Llama(
        str(path), n_ctx=2048, n_batch=512, n_threads=1, n_threads_batch=1, flash_attn=False, logits_all=False,
        type_k=kv_type, type_v=kv_type, verbose=False,
    )  # fmt: skip


@contextlib.contextmanager
def decoded_to_f32(path):
    """A temporary file with the same weights as f32."""
    with tempfile.TemporaryDirectory() as folder:
        decoded = pathlib.Path(folder) / "f32.gguf"
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = llama_cpp.LLAMA_FTYPE_ALL_F32
        params.allow_requantize = True
        assert llama_cpp.llama_model_quantize(os.fsencode(path), os.fsencode(decoded), params) == 0
        yield decoded


def render_chat(messages):
    turns = messages if messages[0]["role"] == "system" else [{"role": "system", "content": SYSTEM}, *messages]
    text = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns)
    return text + "<|im_start|>assistant\n"


def logits_of(model):
    return numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(model.ctx, -1), shape=(model.n_vocab(),)).copy()


def run(model, prompt_ids, forced=None):
    """64 tokens, chosen greedily or given, and the logits that each was chosen from."""
    model.reset()
    model.eval(prompt_ids)
    ids, logits = [], []
    for step in range(NUM_STEPS):
        logits.append(logits_of(model))
        ids.append(forced[step] if forced else int(numpy.argmax(logits[-1])))
        model.eval([ids[-1]])
    return ids, logits


def best_two_gap(logits):
    best = numpy.sort(logits)[-2:]
    return round(float(best[1] - best[0]), 4)


def describe_step(exact_logits, engine_logits):
    best = numpy.argsort(-exact_logits, kind="stable")[:TOP_K]  # stable: the lowest id on a tie
    return {
        "gap": best_two_gap(exact_logits),
        "engine_choice": int(numpy.argmax(engine_logits)),
        "top": [[int(i), round(float(exact_logits[i]), 4), round(float(engine_logits[i]), 4)] for i in best],
    }


def reference(model, exact_model, prompt):
    text = prompt["text"] if "text" in prompt else render_chat(prompt["messages"])
    # add_bos: asks for it, which the tokenizer heeds only if the model does.
    prompt_ids = model.tokenize(text.encode("utf-8"), add_bos=True, special="messages" in prompt)
    ids, exact_logits = run(exact_model, prompt_ids)
    _, engine_logits = run(model, prompt_ids, ids)
    engine_ids, own_logits = run(model, prompt_ids)
    steps = [describe_step(*pair) for pair in zip(exact_logits, engine_logits)]

    answer = model.detokenize(ids).decode("utf-8", "replace")
    error = max(abs(engine - exact) for step in steps for _, exact, engine in step["top"])
    num_other = sum(step["engine_choice"] != id for step, id in zip(steps, ids))
    num_same = next((i for i, (a, b) in enumerate(zip(ids, engine_ids)) if a != b), len(ids))
    print(f"{prompt['name']}: {len(prompt_ids)} tokens, error of the engine on the file at most {error:.3f}, "
          f"{num_other} of {len(ids)} choices other than the exact ones, its own answer is the same for {num_same} "
          f"tokens: {answer!r}", file=sys.stderr)  # fmt: skip
    return {
        **prompt,
        "rendered": text,
        "prompt_ids": prompt_ids,
        "ids": ids,
        "steps": steps,
        "engine_ids": engine_ids,
        "engine_gaps": [best_two_gap(logits) for logits in own_logits],
    }


def main():
    path = pathlib.Path(sys.argv[1])
    model = open_model(path, llama_cpp.GGML_TYPE_F16)
    with decoded_to_f32(path) as decoded:
        exact_model = open_model(decoded, llama_cpp.GGML_TYPE_F32)
        prompts = [reference(model, exact_model, prompt) for prompt in PROMPTS]
    result = {
        "model": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "engine": f"llama-cpp-python {llama_cpp.__version__}, CPU, no flash attention",
        "add_bos": model.metadata.get("tokenizer.ggml.add_bos_token") == "true",
        "top": ["id", "exact logit", "logit of the engine on the file"],
        "prompts": prompts,
    }
    json.dump(result, sys.stdout, ensure_ascii=False, separators=(",", ":"))


main()
