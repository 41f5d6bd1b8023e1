#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes smollm2_135m_q4_1.json: what an independent engine answers on the default model.

    pip install llama-cpp-python==0.3.36
    python3 make_reference.py SmolLM2-135M-Instruct.Q4_1.gguf > smollm2_135m_q4_1.json

Each prompt is answered greedily with 64 tokens, by the plain argmax: an end token would not end the loop, but none of
these answers holds one. For every token the ten best logits are kept, from two runs:

- on the file as it is. The engine then rounds activations to 8 bits before it multiplies, and keeps keys and values as
  f16, so that its logits carry an error of about 0.2;
- on the same weights decoded to f32, with keys and values as f32, over the same tokens: exact to about 0.0001.

Because of that error the prompts are such that the engine is sure of its choice: "gap" is the distance between a step's
two best logits, and its least value is printed. Several of them have the model copy something it saw long before.
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

INDONESIAN_TEXT = (
    "Gotong royong adalah kebiasaan bekerja bersama tanpa upah di desa-desa Indonesia: warga membangun rumah, memanen "
    "padi, dan membersihkan jalan dengan senang hati. Setelah selesai, mereka makan bersama di bawah pohon beringin "
    "sambil bercerita tentang hujan dan musim kemarau.\n\n"
)

CODE_TEXT = """\
import math


class Circle:
    def __init__(self, x, y, radius):
        self.x = x
        self.y = y
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2

    def contains(self, x, y):
        return math.hypot(x - self.x, y - self.y) <= self.radius


"""

PROMPTS = [
    {"name": "short", "text": "The capital of France is"},
    {"name": "chat", "messages": [{"role": "user", "content": "Count from 1 to 30."}]},
    {"name": "indonesian", "text": 2 * INDONESIAN_TEXT + "Gotong royong adalah kebiasaan"},
    {"name": "code", "text": 2 * CODE_TEXT + CODE_TEXT[:60]},
    {"name": "emoji", "text": "🍎 apple\n🍌 banana\n🍇 grapes\n🍎 apple\n🍌"},
    {"name": "long", "text": LONG_TEXT + "\n\nThe Water Clock of Harrow Bridge\n\nWhen the old"},
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


def describe_step(logits, exact_logits):
    best = numpy.argsort(-logits, kind="stable")[:TOP_K]  # stable: the lowest id on a tie
    return {
        "gap": round(float(logits[best[0]] - logits[best[1]]), 4),
        "top": [[int(i), round(float(logits[i]), 4), round(float(exact_logits[i]), 4)] for i in best],
    }


def reference(model, exact_model, prompt):
    text = prompt["text"] if "text" in prompt else render_chat(prompt["messages"])
    # add_bos: asks for it, which the tokenizer heeds only if the model does.
    prompt_ids = model.tokenize(text.encode("utf-8"), add_bos=True, special="messages" in prompt)
    ids, logits = run(model, prompt_ids)
    _, exact_logits = run(exact_model, prompt_ids, ids)
    steps = [describe_step(*pair) for pair in zip(logits, exact_logits)]

    assert not any(llama_cpp.llama_vocab_is_eog(model._model.vocab, i) for i in ids), prompt["name"] + " ends early"
    answer = model.detokenize(ids).decode("utf-8", "replace")
    error = max(abs(quantized - exact) for step in steps for _, quantized, exact in step["top"])
    print(f"{prompt['name']}: {len(prompt_ids)} tokens, least gap {min(step['gap'] for step in steps)}, "
          f"error at most {error:.3f}: {answer!r}", file=sys.stderr)  # fmt: skip
    return {**prompt, "rendered": text, "prompt_ids": prompt_ids, "ids": ids, "steps": steps}


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
        "top": ["id", "logit", "logit with f32 weights, keys and values"],
        "prompts": prompts,
    }
    json.dump(result, sys.stdout, ensure_ascii=False, separators=(",", ":"))


main()
