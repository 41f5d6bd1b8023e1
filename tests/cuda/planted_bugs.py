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

# What is wrong, who must see it (checks whose name begins so, or a test function), the source that is compiled anew,
# the file that has the bug, the right text, the wrong one.
BUGS = [
    ("missing barrier behind a write to shared memory", "rms_norm", "rms_norm.cu", "gpu.h",
     "if (lane == 0) parts[warp] = value;\n  syncBlock();", "if (lane == 0) parts[warp] = value;"),
    ("missing barrier before shared memory is used again", "attention.naive_cuda", "attention_naive.cu", "gpu.h",
     "syncBlock();  // all have read before parts is written again", ""),
    ("missing wait for an asynchronous copy", "attention.flash_cuda prompt", "attention_prefill.cu",
     "attention_prefill.cu",
     "waitCopies<1>();\n    syncBlock();  // the keys are there", "syncBlock();"),
    ("missing barrier before a tile is overwritten", "attention.flash_cuda prompt", "attention_prefill.cu",
     "attention_prefill.cu",
     "syncBlock();  // the values may be overwritten", ""),
    ("copies in flight at the end", "attention.flash_cuda prompt", "attention_prefill.cu", "attention_prefill.cu",
     "waitCopies<0>();", ""),
    ("swapped registers of a fragment", "attention.flash_cuda prompt", "attention_prefill.cu", "attention_prefill.cu",
     "loadMatrices(b, keys.at(16 * pair + lane % 8 + lane / 16 * 8, 16 * k + lane / 8 % 2 * 8));\n"
     "      multiplyAdd(scores[2 * pair], state.q[k], b[0], b[1]);",
     "loadMatrices(b, keys.at(16 * pair + lane % 8 + lane / 16 * 8, 16 * k + lane / 8 % 2 * 8));\n"
     "      multiplyAdd(scores[2 * pair], state.q[k], b[1], b[0]);"),
    ("missing bound of rows", "linear.gemv", "linear_gemv.cu", "linear_gemv.cu",
     "if (row >= num_rows) return;\n  float sums[kColumns] = {};\n  for (auto b",
     "float sums[kColumns] = {};\n  for (auto b"),
    ("wrong page", "attention.flash_cuda decode", "attention_decode.cu", "paged.h", "position / kv.block_size];",
     "position / (kv.block_size + 1)];"),
    ("shuffle in a branch that only some lanes take", "attention.flash_cuda prompt", "attention_prefill.cu",
     "attention_prefill.cu",
     "largest = fmaxf(largest, shuffleXor(largest, 1));",
     "if (lane % 2 == 0) largest = fmaxf(largest, shuffleXor(largest, 1));"),
    ("misaligned rows of a tile", "attention.flash_cuda prompt", "attention_prefill.cu", "attention_prefill.cu",
     "kStride = kDim + 8;",
     "kStride = kDim + 4;"),
    ("stale copy of an index array", "indexArraysAreCopiedOnceAStep", "queue.cu", "queue.cu", "m_copies.clear();", ""),
    ("result read before the device is done", "rms_norm", "queue.cu", "queue.cu",
     "m_runtime.copyToHost(to.data(), from, to.size());\n  m_runtime.synchronize();",
     "m_runtime.copyToHost(to.data(), from, to.size());"),
    ("causal mask one token too far", "attention.flash_cuda prompt", "attention_prefill.cu", "attention_prefill.cu",
     "lane % 4 * 2 + i < visible", "lane % 4 * 2 + i <= visible"),
    ("wrong key-value head", "attention.flash_cuda group", "attention_prefill.cu", "attention_prefill.cu",
     "const int kv_head = head / (num_heads / kv.num_kv_heads);", "const int kv_head = head % kv.num_kv_heads;"),
    ("last part of a split forgotten", "attention.flash_cuda decode", "attention_decode.cu", "attention_decode.cu",
     "p < query.first + query.count;", "p < query.first + query.count - 1;"),
    ("part merged without its maximum", "attention.flash_cuda decode", "attention_decode.cu", "attention_decode.cu",
     "push(total, &o, 1, states[row].x,", "push(total, &o, 1, 0.0F,"),
    ("rounding to zero in the cache", "kv_append", "kv_append.cu", "kv_append.cu", "roundf(value * inverse)",
     "truncf(value * inverse)"),
    ("one pair too many", "rope", "rope.cu", "rope.cu", "if (pair >= num_pairs) return;",
     "if (pair > num_pairs) return;"),
    ("plane of scales at the wrong place", "linear.gemv", "linear_gemv.cu", "planes.h",
     "halfAt(w.data + 32 * w.num_blocks, b)", "halfAt(w.data + 34 * w.num_blocks - 2, b)"),
    ("padding of a row not cleared", "linear.cublas", "linear_cublas.cu", "linear_cublas.cu", "i < num_cols ? F::at",
     "true ? F::at"),
    ("stale argument of a graph", "otherArgumentsMakeAnotherGraph", "elementwise.cu", "queue.h",
     "shared_bytes, static_cast<Params>(args)...);\n  }\n  void multiply", "shared_bytes);\n  }\n  void multiply"),
    ("graph made at every step", "aGraphIsMadeOnceAndStartedAgain", "queue.cu", "queue.cu",
     "if (graph == nullptr) graph", "graph"),
    ("bins counted in while others still read them", "sample", "sample.cu", "sample.cu",
     "    if (threadIdx.x < 32) findBin(bins, target, reached);\n    syncBlock();",
     "    if (threadIdx.x < 32) findBin(bins, target, reached);"),
    ("minus zero less than zero", "sample of ties", "sample.cu", "sample.cu", "value = logit + 0.0F", "value = logit"),
    ("weights of a filter's rest still drawn from", "sample of", "sample.cu", "sample.cu",
     "last = rankThatReaches(row, false, share", "rankThatReaches(row, false, share"),
    ("sum of the residual not kept", "add and rms_norm", "rms_norm.cu", "rms_norm.cu",
     "sum[to + i] = value += add[to + i];", "value += add[to + i];"),
    ("fifth bit of another part", "linear.gemv q5_k", "linear_gemv.cu", "planes.h", "high[i] >> part &",
     "high[i] >> part / 2 &"),
]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def plant(folder, bug):
    *_, file, right, wrong = bug
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


def chosen_tests(program, where):
    """The arguments that make the program run just those."""
    if " " not in where and where in run([program, "-functions"]).stdout:
        return [where]
    tags = [line.split(" ", 2)[1:] for line in run([program, "-datatags"]).stdout.splitlines() if line.count(" ") > 1]
    return [f"{function}:{tag}" for function, tag in tags if tag.startswith(where)]


def first_failure(output):
    lines = output.splitlines()
    failures = [line for line in lines if line.startswith(("FAIL!", "QFATAL"))]
    return failures[0] if failures else "the program broke"


def main():
    missed = 0
    chosen = [bug for bug in BUGS if WORD in bug[0]]
    for bug in [("no bug", "rope", "rope.cu", "rope.cu", "", ""), *chosen]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(TOP / "kernels/cuda", folder / "kernels/cuda")
            plant(folder, bug)
            build(folder, bug[2])
            tests = chosen_tests(str(folder / "test"), bug[1])
            if not tests:
                sys.exit(f"there is no test \"{bug[1]}\"")
            tested = run([str(folder / "test"), *tests])
            caught = tested.returncode != 0
            as_wanted = caught == (bug[0] != "no bug")
            missed += not as_wanted
            verdict = first_failure(tested.stdout)[:150] if caught else "all tests pass"
            print(f"{'ok    ' if as_wanted else 'MISSED'} {bug[0]}: {verdict}", flush=True)
    print(f"{len(chosen)} bugs, {missed} not as wanted")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
