#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `advise` predicts of each switch beside what `compare` measures of it.

usage: advice.py CLI SCENARIO [--measure N] [--repeats N] [--requests N] [--model M] [--knobs K=V,...]
"""
import argparse
import json
import subprocess


def call(*command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def gains(advice):
    """Of each knob the value that is said to help most; the knob that helps most first."""
    by_knob = {}
    for row in advice:  # the largest gain comes first
        by_knob.setdefault(row["knob"], row)
    return sorted(by_knob.values(), key=lambda row: row["throughput_ratio"], reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cli")
    parser.add_argument("scenario")
    parser.add_argument("--measure", type=int, default=5)
    parser.add_argument("--repeats", default="2")
    parser.add_argument("--requests", default="8")
    parser.add_argument("--model", default="default")
    parser.add_argument("--knobs", default="")
    args = parser.parse_args()

    work = [args.scenario, "--model", args.model, "--requests", args.requests, "--json"]
    knobs = [f"--{knob}" for knob in args.knobs.split(",") if knob]
    found = call(args.cli, "advise", *work, *knobs)
    now, then = found["measured"]["output_tok_s"], found["predicted"]["output_tok_s"]
    print(f"{args.scenario} {args.knobs}: measured {now:.1f}, predicted {then:.1f} tokens/s as it is")
    rows = gains(found["advice"])[:args.measure]
    for row in rows:
        setting = f"{row['knob']}={row['value']}"
        both = call(args.cli, "compare", *work, "--a", args.knobs, "--b", ",".join(filter(None, [args.knobs, setting])),
                    "--repeats", args.repeats, "--quality-tokens", "0", "--no-probe")
        measured = next(each for each in both["differences"] if each["metric"] == "output_tok_s")
        row["measured"] = measured["ratio"]
        print(f"  {setting:24} predicted {row['throughput_ratio']:5.2f}x  measured {row['measured']:5.2f}x"
              f"{'  (guessed)' if row['guessed'] else ''}", flush=True)
    order = sorted(rows, key=lambda row: row["measured"], reverse=True)
    for name, ranked in ("predicted", rows), ("measured", order):
        print(f"  what helps most, {name}: {', '.join(row['knob'] for row in ranked[:3])}")


if __name__ == "__main__":
    main()
