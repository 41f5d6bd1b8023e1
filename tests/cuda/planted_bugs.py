#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plants one bug after the other in a copy of kernels/cuda and checks that the kernel tests see each.

    tests/cuda/planted_bugs.py [BUILD_FOLDER [WORD]]

BUILD_FOLDER: where tst_cuda_kernels is built; default: build. WORD: only the bugs whose description has it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "build").resolve()
WORD = sys.argv[2] if len(sys.argv) > 2 else ""

# What is wrong, the source that is compiled anew, the file that has the bug, the right text, the wrong one.
BUGS = [
    ("missing barrier behind a write to shared memory", "rms_norm.cu", "gpu.h",
     "if (lane == 0) parts[warp] = value;\n  syncBlock();", "if (lane == 0) parts[warp] = value;"),
    ("missing barrier before shared memory is used again", "attention_naive.cu", "gpu.h",
     "syncBlock();  // all have read before parts is written again", ""),
    ("missing wait for an asynchronous copy", "attention_prefill.cu", "attention_prefill.cu",
     "waitCopies<1>();\n    syncBlock();  // the keys are there", "syncBlock();"),
    ("missing barrier before a tile is overwritten", "attention_prefill.cu", "attention_prefill.cu",
     "syncBlock();  // the values may be overwritten", ""),
    ("copies in flight at the end", "attention_prefill.cu", "attention_prefill.cu", "waitCopies<0>();", ""),
    ("swapped registers of a fragment", "attention_prefill.cu", "attention_prefill.cu",
     "loadMatrices(b, keys.at(16 * pair + lane % 8 + lane / 16 * 8, 16 * k + lane / 8 % 2 * 8));\n"
     "      multiplyAdd(scores[2 * pair], state.q[k], b[0], b[1]);",
     "loadMatrices(b, keys.at(16 * pair + lane % 8 + lane / 16 * 8, 16 * k + lane / 8 % 2 * 8));\n"
     "      multiplyAdd(scores[2 * pair], state.q[k], b[1], b[0]);"),
    ("missing bound of rows", "linear_gemv.cu", "linear_gemv.cu", "if (row >= num_rows) return;\n  float sums[kColumns] = {};\n  for (auto b",
     "float sums[kColumns] = {};\n  for (auto b"),
    ("wrong page", "attention_decode.cu", "paged.h", "position / kv.block_size];", "position / (kv.block_size + 1)];"),
    ("shuffle in a branch that only some lanes take", "attention_prefill.cu", "attention_prefill.cu",
     "largest = fmaxf(largest, shuffleXor(largest, 1));",
     "if (lane % 2 == 0) largest = fmaxf(largest, shuffleXor(largest, 1));"),
    ("misaligned rows of a tile", "attention_prefill.cu", "attention_prefill.cu", "kStride = kDim + 8;",
     "kStride = kDim + 4;"),
    ("stale copy of an index array", "queue.cu", "queue.cu", "m_copies.clear();", ""),
    ("result read before the device is done", "queue.cu", "queue.cu",
     "m_runtime.copyToHost(to.data(), from, to.size());\n  m_runtime.synchronize();",
     "m_runtime.copyToHost(to.data(), from, to.size());"),
    ("causal mask one token too far", "attention_prefill.cu", "attention_prefill.cu",
     "lane % 4 * 2 + i < visible", "lane % 4 * 2 + i <= visible"),
    ("wrong key-value head", "attention_prefill.cu", "attention_prefill.cu",
     "const int kv_head = head / (num_heads / kv.num_kv_heads);", "const int kv_head = head % kv.num_kv_heads;"),
    ("last part of a split forgotten", "attention_decode.cu", "attention_decode.cu",
     "p < query.first + query.count;", "p < query.first + query.count - 1;"),
    ("part merged without its maximum", "attention_decode.cu", "attention_decode.cu",
     "push(total, &o, 1, states[row].x,", "push(total, &o, 1, 0.0F,"),
    ("rounding to zero in the cache", "kv_append.cu", "kv_append.cu", "roundf(value * inverse)", "truncf(value * inverse)"),
    ("one pair too many", "rope.cu", "rope.cu", "if (pair >= num_pairs) return;", "if (pair > num_pairs) return;"),
    ("plane of scales at the wrong place", "linear_gemv.cu", "planes.h",
     "halfAt(w.data + 32 * w.num_blocks, b)", "halfAt(w.data + 34 * w.num_blocks - 2, b)"),
    ("padding of a row not cleared", "linear_cublas.cu", "linear_cublas.cu", "i < num_cols ? F::at", "true ? F::at"),
]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def plant(folder, bug):
    _, _, file, right, wrong = bug
    path = folder / "kernels/cuda" / file
    text = path.read_text()
    if text.count(right) < 1:
        sys.exit(f"the text to plant \"{bug[0]}\" in is not in {file}: {right}")
    path.write_text(text.replace(right, wrong, 1))


def build(folder, source):
    """The test program with one source of the copy in place of the library's own."""
    flags = ["-std=c++20", "-O1", "-g1", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off", "-w"]
    built = run(["g++", *flags, f"-I{folder}", f"-I{TOP}", "-x", "c++", "-c", str(folder / "kernels/cuda" / source),
                 "-o", str(folder / "bug.o")])
    if built.returncode != 0:
        sys.exit(f"{source} does not compile:\n{built.stderr}")
    objects = sorted((BUILD / "CMakeFiles/tst_cuda_kernels.dir").rglob("*.o"))
    linked = run(["g++", "-o", str(folder / "test"), *map(str, objects), str(folder / "bug.o"),
                  str(BUILD / "libinferoscope_cuda_emulation.a"), str(BUILD / "libinferoscope_kernels.a"),
                  "-lQt6Test", "-lQt6Core", "-lpthread"])
    if linked.returncode != 0:
        sys.exit(f"the test with {source} does not link:\n{linked.stderr}")


def first_failure(output):
    lines = output.splitlines()
    failures = [line for line in lines if line.startswith(("FAIL!", "QFATAL"))]
    return failures[0] if failures else "the program broke"


def main():
    missed = 0
    chosen = [bug for bug in BUGS if WORD in bug[0]]
    for bug in [("no bug", "rope.cu", "rope.cu", "", ""), *chosen]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(TOP / "kernels/cuda", folder / "kernels/cuda")
            plant(folder, bug)
            build(folder, bug[1])
            tested = run([str(folder / "test")])
            caught = tested.returncode != 0
            as_wanted = caught == (bug[0] != "no bug")
            missed += not as_wanted
            verdict = first_failure(tested.stdout)[:150] if caught else "all tests pass"
            print(f"{'ok    ' if as_wanted else 'MISSED'} {bug[0]}: {verdict}", flush=True)
    print(f"{len(chosen)} bugs, {missed} not as wanted")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
