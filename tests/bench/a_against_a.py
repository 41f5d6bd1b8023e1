#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A setting against itself, for 20 seeds: how often does `compare` see a difference that isn't there?

usage: a_against_a.py CLI [--seeds N] [COMPARE-OPTION...]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

SCENARIO = pathlib.Path(__file__).parents[2] / "resources/scenarios/1-chat.json"
SAME = "no clear difference"


def compare(cli, seed, options):
    scenario = json.loads(SCENARIO.read_text())
    scenario["seed"] = seed
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        command = [cli, "compare", file.name, "--json", *options]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cli")
    parser.add_argument("--seeds", type=int, default=20)
    args, options = parser.parse_known_args()
    num_seeds_without = num_rows = num_clear = num_exact = 0
    for seed in range(1, args.seeds + 1):
        found = compare(args.cli, seed, options)
        clear = [row for row in found["differences"] if row["ratio"] is not None and row["verdict"] != SAME]
        headline = next(row for row in found["differences"] if row["metric"] == "output_tok_s")
        num_seeds_without += headline["verdict"] == SAME
        num_rows += sum(row["ratio"] is not None for row in found["differences"])
        num_clear += len(clear)
        num_exact += found["kl_mean"] == 0
        low, high = headline["ci95"]
        print(f"seed {seed:2}: tokens/s B/A {headline['ratio']:.3f} [{low:.3f}, {high:.3f}] {headline['verdict']};"
              f" KL {found['kl_mean']}; clear: {', '.join(row['metric'] for row in clear) or 'none'}", flush=True)
    print(f'"{SAME}" of tokens/s for {num_seeds_without} of {args.seeds} seeds, of all figures for'
          f" {num_rows - num_clear} of {num_rows}; KL exactly 0 for {num_exact}")


if __name__ == "__main__":
    main()
