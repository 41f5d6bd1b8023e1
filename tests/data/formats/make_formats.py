#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes formats.json: what independent implementations make of the stored formats.

    pip install gguf==0.19.0 llama-cpp-python==0.3.36
    python3 make_formats.py > formats.json

"decoded": blocks of random bytes (their halves are of usual size) and the values that gguf's numpy code reads from them.
"encoded": the values at "values", as gguf's numpy code stores them, where it can.
"rmse": the root mean square error of the same values once stored by ggml's own code and read back.
Numbers are f32 and little-endian, in hexadecimal.
"""

import ctypes
import json
import pathlib
import sys

import gguf
import llama_cpp
import numpy

NUM_BLOCKS = 3
# Where a block has halves: each is a scale or a minimum.
HALVES = {
    "q5_0": [0], "q5_1": [0, 2], "q2_k": [80, 82], "q3_k": [108], "q4_k": [0, 2], "q5_k": [0, 2], "q6_k": [208],
}
ENCODED = ["bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1"]
RMSE = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"]


def type_of(name):
    return gguf.GGMLQuantizationType[name.upper()]


def hex_of(array):
    return numpy.ascontiguousarray(array).tobytes().hex()


def random_blocks(name, random):
    block_bytes = gguf.GGML_QUANT_SIZES[type_of(name)][1]
    blocks = random.integers(0, 256, (NUM_BLOCKS, block_bytes), dtype=numpy.uint8)
    for offset in HALVES.get(name, []):
        halves = random.uniform(-0.1, 0.1, NUM_BLOCKS).astype(numpy.float16)
        blocks[:, offset:offset + 2] = halves.view(numpy.uint8).reshape(NUM_BLOCKS, 2)
    return blocks


def decoded(random):
    for name in HALVES:
        blocks = random_blocks(name, random)
        values = gguf.quants.dequantize(blocks, type_of(name)).astype(numpy.float32)
        yield {"format": name, "blocks": hex_of(blocks), "values": hex_of(values)}


def ggml_rmse(name, values):
    library = pathlib.Path(llama_cpp.__file__).parent / "lib/libggml-base.so"
    ggml = ctypes.CDLL(str(library))
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    block_elems, block_bytes = gguf.GGML_QUANT_SIZES[type_of(name)]
    stored = numpy.zeros(values.size // block_elems * block_bytes, dtype=numpy.uint8)
    ggml.ggml_quantize_chunk(
        ctypes.c_int(type_of(name)), values.ctypes.data_as(ctypes.c_void_p), stored.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(0), ctypes.c_int64(1), ctypes.c_int64(values.size), None)
    read = gguf.quants.dequantize(stored.reshape(1, -1), type_of(name)).reshape(-1)
    return float(numpy.sqrt(numpy.mean((read.astype(numpy.float64) - values) ** 2)))


def main():
    random = numpy.random.default_rng(20)
    # As weights are: normal, each row of another size, a few far out.
    values = random.normal(0, 1, (6, 256)) * random.uniform(0.01, 0.1, (6, 1))
    values[random.uniform(0, 1, values.shape) < 0.01] *= 4
    values = values.astype(numpy.float32).reshape(-1)
    json.dump({
        "decoded": list(decoded(random)),
        "values": hex_of(values),
        "encoded": {name: hex_of(gguf.quants.quantize(values.reshape(1, -1), type_of(name))) for name in ENCODED},
        "rmse": {name: ggml_rmse(name, values) for name in RMSE},
    }, sys.stdout, indent=1)
    print()


main()
