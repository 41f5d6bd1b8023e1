#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The llama-cpp-python side of side_by_side.py: MODEL PROMPT NEW BATCH THREADS.

Says what it is, then for every line read runs once and prints tokens/s of the prompts and of the decoding that follows.
Defaults are the library's, but for the threads and a context that holds the sequences.
"""

import ctypes
import json
import sys
import time

import llama_cpp
from llama_cpp import llama_cpp as api

PROMPT_BATCH = 512


class Engine:
    def __init__(self, path, prompt, new, batch, threads):
        self.prompt, self.new, self.batch = prompt, new, batch
        api.llama_log_set(LOG_NOTHING, None)
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(path.encode(), api.llama_model_default_params())
        params = api.llama_context_default_params()
        # Each sequence has its share of the context, in whole blocks of 256.
        params.n_ctx = batch * ((prompt + new + 255) // 256 * 256)
        params.n_batch = params.n_ubatch = PROMPT_BATCH
        params.n_seq_max = batch
        params.n_threads = params.n_threads_batch = threads
        self.context = api.llama_init_from_model(self.model, params)
        self.tokens = api.llama_batch_init(max(PROMPT_BATCH, batch), 0, 1)
        self.num_ids = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))

    def decode(self, entries):
        """entries: (sequence, position, whether logits are wanted)"""
        for i, (sequence, position, wanted) in enumerate(entries):
            self.tokens.token[i] = (position * 7919 + sequence * 104729) % (self.num_ids // 2) + 100
            self.tokens.pos[i] = position
            self.tokens.n_seq_id[i] = 1
            self.tokens.seq_id[i][0] = sequence
            self.tokens.logits[i] = wanted
        self.tokens.n_tokens = len(entries)
        if api.llama_decode(self.context, self.tokens) != 0:
            sys.exit("llama_decode failed")
        api.llama_synchronize(self.context)

    def run(self):
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        start = time.perf_counter()
        for sequence in range(self.batch):
            for begin in range(0, self.prompt, PROMPT_BATCH):
                end = min(begin + PROMPT_BATCH, self.prompt)
                self.decode([(sequence, p, p == self.prompt - 1) for p in range(begin, end)])
        prompts_done = time.perf_counter()
        for position in range(self.prompt, self.prompt + self.new):
            self.decode([(sequence, position, True) for sequence in range(self.batch)])
        done = time.perf_counter()
        return {"prefill": self.batch * self.prompt / (prompts_done - start),
                "decode": self.batch * self.new / (done - prompts_done)}


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def LOG_NOTHING(level, text, data):
    pass


def main():
    numbers = [int(word) for word in sys.argv[2:6]]
    engine = Engine(sys.argv[1], *numbers)
    engine.run()  # warms up
    description = f"llama-cpp-python {llama_cpp.__version__}, n_batch and n_ubatch {PROMPT_BATCH}, threads {numbers[3]}"
    print(json.dumps({"description": description}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(engine.run()), flush=True)


if __name__ == "__main__":
    main()
