// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf.h"

#include "core/model/model_store.h"
#include "tests/support/data.h"
#include "tests/support/errors.h"
#include "tests/support/host_backend.h"

#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <iterator>
#include <random>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::dataPath;
using tests::errorOf;

namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct Case {
  const char* file;
  const char* verdict;
  const char* message;  // REJECT: what the error says; NOTICE: what a notice says
};

// The verdicts of tests/data/cases/cases.tsv, and what a person must be told.
constexpr Case kCases[] = {
    {"a01_empty.gguf", "REJECT", "the file is empty"},
    {"a01_magic_only.gguf", "REJECT", "the file ends inside the version (byte 4)"},
    {"a03_version_1.gguf", "REJECT", "GGUF version 1 is not supported"},
    {"a03_big_endian.gguf", "REJECT", "written for the other byte order"},
    {"a05_alignment_0.gguf", "REJECT", "key general.alignment: the alignment is 0; it must be a power of two"},
    {"a05_alignment_3.gguf", "REJECT", "key general.alignment: the alignment is 3; it must be a power of two"},
    {"a05_alignment_wrong_type.gguf", "REJECT", "key general.alignment: expected uint32, found int32"},
    {"a06_key_length_2p48.gguf", "REJECT",
     "the key of metadata entry 0 claims 281474976710655 bytes, but only 0 are left"},
    {"a06_string_length_max.gguf", "REJECT", "claims 18446744073709551615 bytes, but only"},
    {"a09_token_type_u8.gguf", "REJECT",
     "key tokenizer.ggml.token_type: expected array of int32, found array of uint8"},
    {"a09_block_count_string.gguf", "REJECT", "key llama.block_count: expected integer, found string"},
    {"a09_block_count_u64.gguf", "ACCEPT", ""},
    {"a11_n_dims_5.gguf", "REJECT", "5 dimensions; 1 to 4 are allowed"},
    {"a11_dim_zero.gguf", "REJECT", "impossible dimensions [32, 0]"},
    {"a11_dim_negative.gguf", "REJECT", "impossible dimensions [32, -16]"},
    {"a11_dims_product_wraps.gguf", "REJECT", "impossible dimensions [32, 576460752303423504]"},
    {"f04_q8_row_16.gguf", "REJECT", "a row has 16 elements, which is not a whole number of q8_0 blocks of 32"},
    {"a13_offset_past_end.gguf", "REJECT", "at offset 1099511627776) ends past the end of the file"},
    {"a13_offset_misaligned.gguf", "REJECT", "is not a multiple of the alignment 32"},
    {"a13_overlap.gguf", "REJECT", "overlap"},
    {"a14_kv_heads_0.gguf", "REJECT", "key llama.attention.head_count_kv: is 0; it must be from 1"},
    {"a14_kv_heads_3.gguf", "REJECT", "3 key-value heads do not divide the 4 query heads"},
    {"a14_head_count_0.gguf", "REJECT", "key llama.attention.head_count: is 0; it must be from 1"},
    {"a14_block_count_0.gguf", "REJECT", "key llama.block_count: is 0; it must be from 1"},
    {"a14_block_count_3.gguf", "REJECT", "tensor blk.2.attn_norm.weight: is missing"},
    {"a17_tokens_more_than_rows.gguf", "REJECT",
     "the tokenizer has 281 tokens, but token_embd.weight has only 280 rows"},
    {"a19_missing_tensor.gguf", "REJECT", "tensor blk.1.ffn_down.weight: is missing"},
    {"a19_duplicate_tensor.gguf", "REJECT", "tensor blk.0.attn_k.weight: appears twice"},
    {"a19_name_65_bytes.gguf", "REJECT", "has 65 bytes, more than the limit of 64"},
    {"a19_shape_transposed.gguf", "REJECT", "has the shape [16, 32], but this model needs [32, 16]"},
    {"a19_extra_tensor.gguf", "NOTICE", "tensor zzz.weight is not used"},
    {"a22_split_missing_part/m-00001-of-00002.gguf", "REJECT", "m-00002-of-00002.gguf"},
    {"a22_split_count_disagrees/m-00001-of-00002.gguf", "REJECT",
     "key split.count: is 3, but by its name this is part 2 of 2"},
    {"f01_weight_nan.gguf", "NONFINITE", ""},
    {"b10_template_recursive.gguf", "NOTICE", "the chat template is of an unknown family"},
    {"b10_template_unclosed.gguf", "NOTICE", "the chat template is broken"},
    {"a20_tied_q8.gguf", "ACCEPT", ""},
};

// Writes the fields of a GGUF header one by one.
struct Header {
  std::string bytes = "GGUF";
  Header& u32(std::uint32_t v) { return raw(&v, sizeof v); }
  Header& u64(std::uint64_t v) { return raw(&v, sizeof v); }
  Header& text(std::string_view v) { return u64(v.size()).raw(v.data(), v.size()); }
  Header& raw(const void* v, std::size_t size) {
    bytes.append(static_cast<const char*>(v), size);
    return *this;
  }
};

}  // namespace

class TestGguf : public QObject {
  Q_OBJECT

 private slots:
  void everyListedFileIsACase();
  void verdict_data();
  void verdict();
  void validFilesLoad_data();
  void validFilesLoad();
  void anyPartOpensASplitSet();
  void aFileCutAnywhereIsRefused();
  void damagedHeadersNeverCrash();
  void gettersCheckTypes();
  void refusedBeforeAnyAllocation_data();
  void refusedBeforeAnyAllocation();
  void whatIsNoModelFileIsNamed();

 private:
  QTemporaryDir m_folder;
  std::string path(const char* name) const { return m_folder.filePath(name).toStdString(); }
};

void TestGguf::everyListedFileIsACase() {
  std::istringstream lines(readFile(dataPath("cases/cases.tsv")));
  std::string line;
  std::getline(lines, line);  // the headings
  std::size_t num_listed = 0;
  while (std::getline(lines, line)) {
    const QStringList fields = QString::fromStdString(line).split('\t');
    if (fields[2] == "(part)") continue;
    ++num_listed;
    const auto found = std::ranges::find_if(kCases, [&](const Case& c) { return fields[0] == c.file; });
    QVERIFY2(found != std::end(kCases), line.c_str());
    QCOMPARE(QString(found->verdict), fields[2]);
  }
  QCOMPARE(num_listed, std::size(kCases));
}

void TestGguf::verdict_data() {
  QTest::addColumn<QString>("verdict");
  QTest::addColumn<QString>("message");
  for (const Case& c : kCases) QTest::newRow(c.file) << c.verdict << c.message;
}

void TestGguf::verdict() {
  QFETCH(QString, verdict);
  QFETCH(QString, message);
  const std::string file = dataPath(std::string("cases/") + QTest::currentDataTag());
  tests::HostBackend backend;
  std::shared_ptr<const Model> model;
  const QString error = QString::fromStdString(errorOf([&] { model = loadModel(file, backend, {}, {}); }));

  if (verdict == "REJECT") {
    QVERIFY2(error.contains(message), qPrintable(error));
    QVERIFY2(error.contains(QTest::currentDataTag()) || error.contains(".gguf: "), qPrintable(error));
    QVERIFY(!error.contains('\n'));
    QCOMPARE(backend.heldBytes(), 0U);
  } else {
    QCOMPARE(error, QString());
    QStringList notices;
    for (const std::string& notice : model->notices) notices << QString::fromStdString(notice);
    QCOMPARE(notices.isEmpty(), verdict != "NOTICE");
    QVERIFY2(notices.join('\n').contains(message), qPrintable(notices.join('\n')));
  }
  QCOMPARE(errorOf([&] { loadModel(dataPath("valid/valid_tiny.gguf"), backend, {}, {}); }), std::string());
}

void TestGguf::validFilesLoad_data() {
  QTest::addColumn<int>("num_notices");
  QTest::newRow("valid_tiny") << 0;
  QTest::newRow("valid_q8_0_untied") << 0;
  QTest::newRow("valid_q4_0") << 0;
  QTest::newRow("valid_hd32_mqa") << 0;
  QTest::newRow("valid_align64") << 0;
  QTest::newRow("valid_pre_llama_bpe") << 0;
  QTest::newRow("valid_pre_qwen2") << 0;
  QTest::newRow("valid_pre_smollm") << 0;
  QTest::newRow("valid_kv_heads_array") << 0;
  QTest::newRow("valid_no_kv_heads_mha") << 0;
  QTest::newRow("valid_rope_defaults") << 0;
  QTest::newRow("valid_no_eos_no_template") << 2;
}

void TestGguf::validFilesLoad() {
  QFETCH(int, num_notices);
  const auto model = describeModel(dataPath(std::string("valid/") + QTest::currentDataTag() + ".gguf"));
  QCOMPARE(static_cast<int>(model->notices.size()), num_notices);
  QCOMPARE(model->config.num_tokens, 280);
}

void TestGguf::anyPartOpensASplitSet() {
  const GgufFile whole = GgufFile::open(dataPath("valid/valid_tiny.gguf"));
  for (const char* part : {"valid/split-00001-of-00002.gguf", "valid/split-00002-of-00002.gguf"}) {
    const GgufFile set = GgufFile::open(dataPath(part));
    QCOMPARE(set.tensors().size(), whole.tensors().size());
    for (const GgufTensor& tensor : whole.tensors()) {
      const GgufTensor* same = set.findTensor(tensor.name);
      QVERIFY(same != nullptr);
      std::vector<std::byte> expected(static_cast<std::size_t>(tensor.bytes)), found(expected.size());
      whole.read(tensor, 0, expected);
      set.read(*same, 0, found);
      QVERIFY(found == expected);
    }
    QCOMPARE(describeModel(dataPath(part))->config.num_layers, 2);
  }
}

void TestGguf::aFileCutAnywhereIsRefused() {
  const std::string whole = readFile(dataPath("valid/valid_tiny.gguf"));
  for (std::size_t size = 0; size < whole.size(); size += size < 7000 ? 13 : 997) {
    writeFile(path("cut.gguf"), whole.substr(0, size));
    const std::string error = errorOf([&] { GgufFile::open(path("cut.gguf")); });
    QVERIFY2(error.find("cut.gguf") != std::string::npos, std::to_string(size).c_str());
  }
}

// Whatever bytes a header holds, it is read or refused. Sanitizers watch.
void TestGguf::damagedHeadersNeverCrash() {
  const std::string whole = readFile(dataPath("valid/valid_tiny.gguf"));
  constexpr std::size_t kHeaderBytes = 6439;
  std::mt19937 random(1);
  int num_refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k)
      damaged[random() % kHeaderBytes] = static_cast<char>(random() % 4 == 0 ? 0xFF : random());
    writeFile(path("damaged.gguf"), damaged);
    num_refused += !errorOf([&] { describeModel(path("damaged.gguf")); }).empty();
  }
  QVERIFY(num_refused > 300);
}

void TestGguf::gettersCheckTypes() {
  const GgufFile file = GgufFile::open(dataPath("valid/valid_tiny.gguf"));
  const GgufMetadata& metadata = file.metadata();
  QCOMPARE(*metadata.integer("llama.block_count"), 2);
  QCOMPARE(*metadata.number("llama.rope.freq_base"), 10000.0);
  QCOMPARE(*metadata.number("llama.block_count"), 2.0);
  QVERIFY(*metadata.flag("tokenizer.ggml.add_bos_token"));
  QVERIFY(*metadata.text("general.architecture") == "llama");
  QVERIFY((*metadata.strings("tokenizer.ggml.tokens"))[279] == "<|im_end|>");
  QCOMPARE(metadata.integers("tokenizer.ggml.token_type")->size(), 280U);
  QVERIFY(!metadata.integer("absent") && !metadata.strings("absent"));

  const auto error = [&](auto&& getter) { return QString::fromStdString(errorOf(getter)); };
  QVERIFY(error([&] { (void)metadata.integer("general.name"); }).contains("expected integer, found string (byte "));
  QVERIFY(error([&] { (void)metadata.flag("llama.block_count"); }).contains("expected bool, found uint32"));
  QVERIFY(
      error([&] { (void)metadata.text("tokenizer.ggml.tokens"); }).contains("expected string, found array of string"));
  QVERIFY(error([&] { (void)metadata.integers("tokenizer.ggml.tokens"); }).contains("expected array of integer"));
  QVERIFY(error([&] { (void)metadata.strings("general.name"); }).contains("expected array of string, found string"));
}

void TestGguf::refusedBeforeAnyAllocation_data() {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60U;
  constexpr std::uint32_t kUint8 = 0, kString = 8, kArray = 9;
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("message");
  const auto add = [](const char* name, const Header& header, const char* message) {
    QTest::newRow(name) << QByteArray::fromStdString(header.bytes + std::string(64, '\0')) << message;
  };
  add("tensor count", Header().u32(3).u64(kHuge).u64(0), "the number of tensors is 1152921504606846976");
  add("key length", Header().u32(3).u64(0).u64(1).u64(kHuge), "the key of metadata entry 0 claims 1152921504606846976");
  add("string length", Header().u32(3).u64(0).u64(1).text("k").u32(kString).u64(kHuge), "key k claims");
  add("array count", Header().u32(3).u64(0).u64(1).text("k").u32(kArray).u32(kUint8).u64(kHuge),
      "the count of key k is");
  add("array count wraps", Header().u32(3).u64(0).u64(1).text("k").u32(kArray).u32(kString).u64(kHuge * 2),
      "the count of key k is");
  add("nested array", Header().u32(3).u64(0).u64(1).text("k").u32(kArray).u32(kArray).u64(1), "an array of arrays");
  add("unknown type", Header().u32(3).u64(0).u64(1).text("k").u32(13), "key k has the unknown type 13");
  add("key twice", Header().u32(3).u64(0).u64(2).text("k").u32(kString).text("v").text("k").u32(kString).text("v"),
      "key k: appears twice");
  add("odd name", Header().u32(3).u64(0).u64(1).text("a\nb\xFF").u32(99), "key a\\x0ab\\xff has the unknown type 99");
  const auto tensor = [](std::uint64_t num_cols, std::uint64_t num_rows, std::uint32_t type) {
    return Header().u32(3).u64(1).u64(0).text("w").u32(2).u64(num_cols).u64(num_rows).u32(type).u64(0);
  };
  add("iq4_xs", tensor(256, 1, 23), "tensor w: tensor type iq4_xs is not supported (f32, f16");
  add("type 77", tensor(256, 1, 77), "tensor w: tensor type number 77 is not supported (f32, f16");
  for (const kernels::Format& format : kernels::formats()) {
    const std::string name(format.name);
    const auto type = static_cast<std::uint32_t>(format.id);
    const auto block = static_cast<std::uint64_t>(format.block_elems);
    add((name + ", too short").c_str(), tensor(block * 200, 1, type), "tensor w: its data (");
    add((name + ", too many").c_str(), tensor(block, (kHuge * 8 - 1) / block, type),
        format.block_elems > format.block_bytes ? "tensor w: its data (" : "impossible dimensions");
    if (block == 1) continue;
    const std::string part = "is not a whole number of " + name + " blocks of " + std::to_string(block);
    add((name + ", half a block").c_str(), tensor(block / 2, 2, type), part.c_str());
    add((name + ", a block and one").c_str(), tensor(block + 1, block, type), part.c_str());
  }
}

void TestGguf::refusedBeforeAnyAllocation() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, message);
  writeFile(path("odd.gguf"), bytes.toStdString());
  const QString error = QString::fromStdString(errorOf([&] { GgufFile::open(path("odd.gguf")); }));
  QVERIFY2(error.contains(message), qPrintable(error));
}

void TestGguf::whatIsNoModelFileIsNamed() {
  const auto error = [](const std::string& file) {
    return QString::fromStdString(errorOf([&] { describeModel(file); }));
  };
  QCOMPARE(error("/nowhere/m.gguf"), QString("/nowhere/m.gguf: cannot be opened: No such file or directory"));
  QVERIFY(error(m_folder.path().toStdString()).endsWith(": is a folder, not a model file"));
  QVERIFY(error("/dev/null").endsWith(": is not a regular file, not a model file"));
  writeFile(path("text.gguf"), "hello, this is text");
  QVERIFY(error(path("text.gguf")).contains("this is not a GGUF file: it begins with \"hell\""));
  QVERIFY(error("").contains("no model is named"));
}

QTEST_GUILESS_MAIN(TestGguf)
#include "tst_gguf.moc"
