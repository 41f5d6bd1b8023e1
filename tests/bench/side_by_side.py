#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inferoscope beside other engines on the same GGUF file, in turn on one machine.

    tests/bench/side_by_side.py MODEL.gguf [--prompt-tokens 512] [--new-tokens 64] [--batch 1] [--threads 2]
        [--repeats 5] [--python PYTHON_WITH_LLAMA_CPP] [--llama-bench PATH ["FLAGS"]]...

A peer is llama-cpp-python, wherever a Python interpreter has it, or a llama-bench binary (llama.cpp, ik_llama.cpp),
which only knows one sequence. Every repeat runs each engine once, one after the other, so that a machine that drifts
does so for all of them; inferoscope-cli probes its ceilings around each of its repeats. Medians are printed, ratios are
to the peer. MBU and MFU of the peers are what the same tokens/s would be worth for us: the bytes and operations that
the model needs are the same.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Ours:
    name = "inferoscope"

    def __init__(self, options):
        self.command = [options.cli, "bench", options.model, "--json", "--repeats", "1",
                        "--prompt-tokens", str(options.prompt_tokens), "--new-tokens", str(options.new_tokens),
                        "--batch", str(options.batch), "--threads", str(options.threads)]
        self.command += options.flags.split()
        version = subprocess.run([options.cli, "--version"], capture_output=True, text=True, check=False)
        self.description = f"{version.stdout.strip() or 'inferoscope-cli'}, {' '.join(self.command[3:])}"
        self.ceilings = []

    def run(self):
        answer = json.loads(subprocess.run(self.command, capture_output=True, text=True, check=True).stdout)
        result = answer["results"][0]
        self.ceilings.append(answer["ceilings"])
        return {"prefill": result["prefill_tok_s"], "decode": result["decode_tok_s"],
                "mfu": result["prefill_mfu"], "mbu": result["decode_mbu"]}


class LlamaCppPython:
    """Runs side_by_side_llama.py in the interpreter that has llama_cpp; the model stays loaded between repeats."""

    name = "llama.cpp"

    def __init__(self, python, options):
        script = Path(__file__).with_name("side_by_side_llama.py")
        self.child = subprocess.Popen(
            [python, str(script), options.model, str(options.prompt_tokens), str(options.new_tokens),
             str(options.batch), str(options.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.description = self.read()["description"]

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            sys.exit("side_by_side: llama-cpp-python ended early; try the script side_by_side_llama.py by itself")
        return json.loads(line)

    def run(self):
        self.child.stdin.write("run\n")
        self.child.stdin.flush()
        return self.read()


class LlamaBench:
    def __init__(self, words, options):
        path, flags = words[0], " ".join(words[1:]).split()
        # ik_llama.cpp/build/bin/llama-bench is ik_llama.cpp
        self.name = next(name for name in reversed(Path(path).resolve().parts)
                         if name not in ("llama-bench", "bin", "build"))
        self.command = [path, "-m", options.model, "-p", str(options.prompt_tokens), "-n", str(options.new_tokens),
                        "-t", str(options.threads), "-r", "1", "-o", "json", *flags]
        self.description = None

    def run(self):
        output = subprocess.run(self.command, capture_output=True, text=True, check=True).stdout
        tests = json.loads(output[output.index("["):])
        if self.description is None:
            build = f"{tests[0].get('build_commit')} ({tests[0].get('build_number')})"
            self.description = f"llama-bench {build}, {' '.join(self.command[3:])}"
        speed = {"prefill" if test["n_prompt"] else "decode": test["avg_ts"] for test in tests}
        return {"prefill": speed["prefill"], "decode": speed["decode"]}


def pythonWithLlama(wanted):
    for python in [wanted] if wanted else [sys.executable, "python3"]:
        path = shutil.which(python)
        if path and subprocess.run([path, "-c", "import llama_cpp"], capture_output=True, check=False).returncode == 0:
            return path
    if wanted:
        sys.exit(f"side_by_side: {wanted} has no llama_cpp; pip install llama-cpp-python")
    return None


def parse():
    parser = argparse.ArgumentParser(description="Inferoscope beside other engines on the same GGUF file")
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1, help="sequences decoded together")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cli", default=str(ROOT / "build/bin/inferoscope-cli"), help="our program")
    parser.add_argument("--flags", default="", help="more flags for it, in one word")
    parser.add_argument("--python", help="an interpreter that has llama-cpp-python")
    parser.add_argument("--llama-bench", nargs="+", action="append", default=[], metavar="PATH [FLAGS]")
    options = parser.parse_args()
    if not Path(options.model).is_file():
        parser.error(f"{options.model}: there is no such file")
    return options


def main():
    options = parse()
    ours = Ours(options)
    peers = []
    if python := pythonWithLlama(options.python):
        peers.append(LlamaCppPython(python, options))
    if options.batch == 1:
        peers += [LlamaBench(words, options) for words in options.llama_bench]
    if not peers:
        sys.exit("side_by_side: no peer found: name an interpreter with --python, or a binary with --llama-bench")

    engines = [ours, *peers]
    runs = {engine: [] for engine in engines}
    for repeat in range(options.repeats):
        for engine in engines:
            runs[engine].append(engine.run())
            print(f"repeat {repeat + 1}: {engine.name}", file=sys.stderr)

    median = lambda engine, what: statistics.median(run[what] for run in runs[engine])
    print(f"{Path(options.model).name}, {options.threads} threads, prompt {options.prompt_tokens}, "
          f"{options.batch} x {options.new_tokens} new tokens, medians of {options.repeats}")
    print(f"{'':16}{'prefill tok/s':>14}{'we are':>9}{'MFU':>7}{'decode tok/s':>14}{'we are':>9}{'MBU':>7}")
    for engine in engines:
        words = []
        for what, share in (("prefill", "mfu"), ("decode", "mbu")):
            speed, our_speed = median(engine, what), median(ours, what)
            ratio = "" if engine is ours else f"{our_speed / speed:.2f} x"
            words.append(f"{speed:14.1f}{ratio:>9}{median(ours, share) * speed / our_speed:7.0%}")
        print(f"{engine.name:16}{''.join(words)}")
    for key, unit in (("read_gb_s", "GB/s read"), ("fp32_gflop_s", "GFLOP/s fp32"), ("int8_gop_s", "GOP/s int8 dots")):
        values = [ceilings[key] for ceilings in ours.ceilings]
        print(f"ceiling: {statistics.median(values):.1f} {unit} ({min(values):.1f} to {max(values):.1f})")
    for engine in engines:
        print(f"{engine.name}: {engine.description}")


if __name__ == "__main__":
    main()
