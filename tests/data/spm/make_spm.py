#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes spm.gguf, a tiny model with a SentencePiece vocabulary, and spm.json: the ids that an independent engine gives.

    pip install gguf numpy llama-cpp-python==0.3.36
    python3 make_spm.py

The pieces are learned from TRAINING as SentencePiece learns BPE: the most frequent pair is joined, the score is minus
the order. Each text of TEXTS is tokenized as plain text ("plain"), and with BOS and special tokens ("special"), with
the space that is put before texts and, in "unprefixed", by the same vocabulary without it.
"""

import collections
import json
import pathlib
import tempfile

import gguf
import llama_cpp
import numpy

FOLDER = pathlib.Path(__file__).parent
NUM_MERGES = 300
DIM, HIDDEN, HEADS, LAYERS = 32, 32, 4, 1
MARK = "\u2581"

TRAINING = """
The water clock of the old bridge counts the hours of the night, and the people of the town say that it never sleeps.
When the river rises, the hours are short; when it falls, they are long. Nobody has counted the difference.
Gotong royong adalah kebiasaan bekerja bersama tanpa upah: warga membangun rumah dan membersihkan jalan bersama.
Setelah selesai, mereka makan bersama di bawah pohon sambil bercerita tentang hujan dan musim kemarau.
def area(self): return self.width * self.height    # the whole of the thing
for (int i = 0; i < n; ++i) sum += values[i] * weights[i];
Größe und Höhe, für alle Fälle: süße Äpfel. Ça va très bien, où êtes-vous? El niño comió piñas.
123 456 7890 2024 1999 3.14159 the the the and and of of in in to to
"""

TEXTS = [
    "", " ", "  ", "   a", "a", " a", "a ", "the", "The water clock", " the the", "theand", "hello world",
    "Hello,   world!  ", "\n", "\n\n", "a\nb", "\ttab\tand  spaces", "line\r\nline", "Größe", "süße Äpfel für alle",
    "où êtes-vous?", "你好，世界", "こんにちは", "Привет мир", "😀", "a😀b", "👨‍👩‍👧 family", "e\u0301 combining", "\u00a0nbsp",
    "\u2581mark", "a\u2581b", "\u2581\u2581", "1234567890", "3.14159265", "x = values[i] * weights[i];", "    indented", "end.  ",
    "<s>", "</s>", "<unk>", "<0x0A>", "<s>the</s>the", "<|im_start|>user\nhi<|im_end|>", "a <|im_end|> b", "<|mark|>the",
    "the<|mark|> the", "<|mark|><|mark|>", "<|im_start", "<|im_start|", "aaaaaaaaaaaaaaaa", "bersama-sama", "membersihkan",
    "the\u0000end", "\u0001\u001f\u007f", "mixed \u202e rtl \u0627\u0644", "ﬁ ligature ①", "The Water Clock Of The Old Bridge", "THE",
    "sum += values[i]", "...", "?!?!", "(int i = 0; i < n; ++i)", "thethethethethe", "of of  of   of", "ñ", "ÿ", "\ufffd",
]  # fmt: skip


def learned_pieces():
    words = collections.Counter()
    for word in TRAINING.split():
        words[tuple(MARK + word)] += 1
    merges = []
    for _ in range(NUM_MERGES):
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append("".join(best))
        words = collections.Counter({join(word, best): count for word, count in words.items()})
    characters = sorted({c for word in TRAINING.split() for c in word} | {MARK})
    return merges, characters


def join(word, pair):
    out = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return tuple(out)


def write(path, add_space_prefix):
    kinds = gguf.TokenType
    merges, characters = learned_pieces()
    vocabulary = [("<unk>", 0.0, kinds.UNKNOWN), ("<s>", 0.0, kinds.CONTROL), ("</s>", 0.0, kinds.CONTROL)]
    vocabulary += [(f"<0x{byte:02X}>", 0.0, kinds.BYTE) for byte in range(256)]
    vocabulary += [(piece, -float(i), kinds.NORMAL) for i, piece in enumerate(dict.fromkeys(merges))]
    vocabulary += [(piece, -float(NUM_MERGES + i), kinds.NORMAL) for i, piece in enumerate(characters)]
    vocabulary += [("<|im_start|>", 0.0, kinds.CONTROL), ("<|im_end|>", 0.0, kinds.CONTROL)]
    vocabulary += [("<|mark|>", 0.0, kinds.USER_DEFINED)]

    w = gguf.GGUFWriter(path, "llama")
    w.add_name("spm")
    w.add_block_count(LAYERS)
    w.add_context_length(256)
    w.add_embedding_length(DIM)
    w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list([piece for piece, _, _ in vocabulary])
    w.add_token_scores([score for _, score, _ in vocabulary])
    w.add_token_types([kind for _, _, kind in vocabulary])
    w.add_unk_token_id(0)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(True)
    if not add_space_prefix:
        w.add_add_space_prefix(False)
    w.add_chat_template(
        "{{ bos_token }}{% for message in messages %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% endfor %}"
    )
    random = numpy.random.default_rng(5)

    def add(name, *shape):
        w.add_tensor(name, random.normal(0, 1 / shape[-1] ** 0.5, shape).astype(numpy.float16))

    def add_ones(name):
        w.add_tensor(name, numpy.ones(DIM, numpy.float32))

    add("token_embd.weight", len(vocabulary), DIM)
    for i in range(LAYERS):
        add_ones(f"blk.{i}.attn_norm.weight")
        for name in ["attn_q", "attn_k", "attn_v", "attn_output"]:
            add(f"blk.{i}.{name}.weight", DIM, DIM)
        add_ones(f"blk.{i}.ffn_norm.weight")
        for name in ["ffn_gate", "ffn_up"]:
            add(f"blk.{i}.{name}.weight", HIDDEN, DIM)
        add(f"blk.{i}.ffn_down.weight", DIM, HIDDEN)
    add_ones("output_norm.weight")
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    write(FOLDER / "spm.gguf", add_space_prefix=True)
    with tempfile.TemporaryDirectory() as folder:
        unprefixed_path = pathlib.Path(folder) / "unprefixed.gguf"
        write(unprefixed_path, add_space_prefix=False)
        model = llama_cpp.Llama(str(FOLDER / "spm.gguf"), vocab_only=True, verbose=False)
        unprefixed = llama_cpp.Llama(str(unprefixed_path), vocab_only=True, verbose=False)
        cases = []
        for text in TEXTS:
            data = text.encode("utf-8")
            cases.append(
                {
                    "text_hex": data.hex(),
                    "plain": model.tokenize(data, add_bos=False, special=False),
                    "special": model.tokenize(data, add_bos=True, special=True),
                    "unprefixed": unprefixed.tokenize(data, add_bos=False, special=False),
                }
            )
    lines = ",\n".join(json.dumps(case) for case in cases)
    engine = f"llama-cpp-python {llama_cpp.__version__}"
    (FOLDER / "spm.json").write_text(f'{{"engine": "{engine}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")


main()
