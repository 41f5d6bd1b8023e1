// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/convert.h"

#include "core/model/gguf.h"
#include "core/model/requantize.h"
#include "core/output_file.h"
#include "tests/support/data.h"
#include "tests/support/errors.h"
#include "tests/support/host_backend.h"
#include "tests/support/kernel_cases.h"

#include <sys/resource.h>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <fstream>
#include <iterator>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::dataPath;
using tests::errorOf;

namespace {

namespace fs = std::filesystem;

const kernels::Format& formatNamed(std::string_view name) {
  return *kernels::findFormat(name);
}

std::string contentsOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::byte> bytesOf(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  file.read(tensor, 0, bytes);
  return bytes;
}

std::vector<float> valuesOf(const GgufFile& file, const GgufTensor& tensor) {
  return tests::decoded(kernels::formatOf(tensor.format), bytesOf(file, tensor));
}

// While it lives, a file of this process cannot grow beyond so many bytes: to a writer it is a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : m_handler(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit limited = {bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &m_before);
    std::signal(SIGXFSZ, m_handler);
  }

 private:
  void (*m_handler)(int);
  rlimit m_before{};
};

}  // namespace

class TestConvert : public QObject {
  Q_OBJECT

 private slots:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }

  void everyFormat_data() {
    QTest::addColumn<QString>("name");
    for (const kernels::Format& format : kernels::formats()) {
      const auto name = QString::fromUtf8(format.name.data(), qsizetype(format.name.size()));
      QTest::newRow(qPrintable(name)) << name;
    }
  }
  // Norms stay f32; matrices are what the format's own encoder makes of them, in it or in what stands in for it.
  void everyFormat() {
    QFETCH(const QString, name);
    const std::string source = dataPath("valid/valid_tiny.gguf");
    const std::string out = path("out.gguf");
    const kernels::Format& format = formatNamed(name.toStdString());
    const Conversion done = convertModel(source, out, format, {}, {});
    QCOMPARE(done.file_bytes, fs::file_size(out));
    QCOMPARE(done.notices.empty(), 32 % format.block_elems == 0 && 48 % format.block_elems == 0);
    describeModel(out);  // is a model

    const GgufFile before = GgufFile::open(source);
    const GgufFile after = GgufFile::open(out);
    QCOMPARE(after.tensors().size(), before.tensors().size());
    for (std::size_t i = 0; i < after.tensors().size(); ++i) {
      const GgufTensor& from = before.tensors()[i];
      const GgufTensor& to = after.tensors()[i];
      QCOMPARE(to.name, from.name);
      QVERIFY(to.dims == from.dims);
      const kernels::Format& stored = kernels::formatOf(to.format);
      if (from.dims.size() == 1) QCOMPARE(stored.name, "f32");
      if (from.dims.size() == 2 && from.dims[0] % format.block_elems == 0) QCOMPARE(stored.name, format.name);
      QVERIFY(bytesOf(after, to) == tests::encoded(stored, valuesOf(before, from)));
    }
  }

  void metadataIsKept() {
    const std::string out = path("out.gguf");
    convertModel(dataPath("valid/valid_align64.gguf"), out, formatNamed("q8_0"), {}, {});
    const GgufFile before = GgufFile::open(dataPath("valid/valid_align64.gguf"));
    const GgufFile after = GgufFile::open(out);
    for (const auto& [key, value] : before.metadata().values()) {
      if (key == "general.file_type") continue;
      const GgufValue* kept = after.metadata().find(key);
      QVERIFY2(kept, key.c_str());
      QCOMPARE(kept->typeName(), value.typeName());
      if (const auto* numbers = std::get_if<std::vector<std::byte>>(&value.data)) {
        QVERIFY2(std::get<std::vector<std::byte>>(kept->data) == *numbers, key.c_str());
      }
      if (const auto* text = std::get_if<std::string>(&value.data)) QCOMPARE(std::get<std::string>(kept->data), *text);
    }
    const StringList& tokens = *after.metadata().strings("tokenizer.ggml.tokens");
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      QVERIFY(tokens[i] == (*before.metadata().strings("tokenizer.ggml.tokens"))[i]);
    }
    QCOMPARE(*after.metadata().integer("general.file_type"), 7);
    QCOMPARE(*after.metadata().integer("general.quantization_version"), 2);
    QCOMPARE(*after.metadata().integer("general.alignment"), 64);
    for (const GgufTensor& tensor : after.tensors()) QCOMPARE(tensor.position % 64, 0U);
  }

  void splitSetBecomesOneFile() {
    const std::string source = dataPath("valid/split-00001-of-00002.gguf");
    convertModel(source, path("out.gguf"), formatNamed("f32"), {}, {});
    const GgufFile before = GgufFile::open(source);
    const GgufFile after = GgufFile::open(path("out.gguf"));
    QVERIFY(!after.metadata().find("split.count"));
    QCOMPARE(after.tensors().size(), before.tensors().size());
    for (const GgufTensor& tensor : after.tensors()) {
      QVERIFY(valuesOf(after, tensor) == valuesOf(before, *before.findTensor(tensor.name)));
    }
  }

  // A synthetic model from a file is the one that is made in memory, whatever layout the device keeps weights in.
  void syntheticModelsAreExported() {
    convertModel("synthetic:tiny:q8_0", path("out.gguf"), formatNamed("q8_0"), {}, {});
    tests::HostBackend backend;
    const auto made = loadModel("synthetic:tiny:q8_0", backend, {}, {});
    const auto read = loadModel(path("out.gguf"), backend, {}, {});
    const auto weights = [](const Model& model) {
      const kernels::WeightMatrix& w = model.layers[1].ffn_up;
      return std::vector(w.data, w.data + kernels::matrixBytes(w));
    };
    QVERIFY(weights(*made) == weights(*read));
    QCOMPARE(read->config.rope_freq_base, made->config.rope_freq_base);
    QVERIFY(read->chat.family == ChatFamily::kChatMl);
    const std::string text = "caf\xC3\xA9 1234 <|im_start|>user\n\xF0\x9F\x8C\xB2<|im_end|>";
    QVERIFY(read->tokenizer->encode(text) == made->tokenizer->encode(text));
    for (TokenId id = 0; id < 512; ++id) QCOMPARE(read->tokenizer->bytes(id, true), made->tokenizer->bytes(id, true));
    QCOMPARE(read->tokenizer->eos(), made->tokenizer->eos());
  }

  // Rows that hold K-formats, more of them than cores.
  void rowsInParallel() {
    const std::vector<float> values = tests::Random(3).floats(7 * 512);
    const kernels::Format& f16 = formatNamed("f16");
    const std::vector<std::byte> stored = tests::encoded(f16, values);
    for (const kernels::Format& format : kernels::formats()) {
      std::vector<std::byte> out(static_cast<std::size_t>(kernels::storedBytes(format, 7 * 512)));
      QVERIFY(requantize({&f16, 7, 512}, stored, format, out));
      QVERIFY(out == tests::encoded(format, tests::decoded(f16, stored)));
    }
  }

  void whatCannotBeStoredIsRefused() {
    const std::string error = errorOf(
        [&] { convertModel(dataPath("cases/f01_weight_nan.gguf"), path("out.gguf"), formatNamed("q8_0"), {}, {}); });
    QVERIFY2(error.find("tensor blk.0.attn_q.weight: holds a value that is not finite") != std::string::npos,
             error.c_str());
    QVERIFY(isEmpty());
    const std::vector<float> large(64, 1e6F);
    std::vector<std::byte> out(1024);
    const kernels::Format& f32 = formatNamed("f32");
    QVERIFY(!requantize({&f32, 2, 32}, std::as_bytes(std::span(large)), formatNamed("f16"), std::span(out).first(128)));
    QVERIFY(requantize({&f32, 2, 32}, std::as_bytes(std::span(large)), formatNamed("bf16"), std::span(out).first(128)));
  }

  void refusesItsOwnInput_data() {
    QTest::addColumn<QString>("out");
    QTest::newRow("same name") << "in.gguf";
    QTest::newRow("link") << "link.gguf";
  }
  void refusesItsOwnInput() {
    QFETCH(const QString, out);
    fs::copy_file(dataPath("valid/valid_tiny.gguf"), path("in.gguf"));
    fs::create_symlink(path("in.gguf"), path("link.gguf"));
    const std::string before = contentsOf(path("in.gguf"));
    const std::string error =
        errorOf([&] { convertModel(path("in.gguf"), path(out.toStdString()), formatNamed("q8_0"), {}, {}); });
    QVERIFY2(error.ends_with("is what is to be converted; name another file"), error.c_str());
    QVERIFY(contentsOf(path("in.gguf")) == before);
    QVERIFY(fs::is_symlink(path("link.gguf")));
  }

  void replacesAnotherFile() {
    std::ofstream(path("out.gguf")) << "old";
    convertModel("synthetic:tiny", path("out.gguf"), formatNamed("q4_0"), {}, {});
    describeModel(path("out.gguf"));
    QCOMPARE(std::distance(fs::directory_iterator(m_folder->path().toStdString()), {}), 1);
  }

  void fullDisk() {
    std::ofstream(path("out.gguf")) << "old";
    std::string error;
    {
      const FileSizeLimit limit(50'000);
      error = errorOf([&] { convertModel("synthetic:tiny", path("out.gguf"), formatNamed("f32"), {}, {}); });
    }
    QVERIFY2(error.find("out.gguf: cannot be written: ") != std::string::npos, error.c_str());
    QCOMPARE(contentsOf(path("out.gguf")), "old");
    QCOMPARE(std::distance(fs::directory_iterator(m_folder->path().toStdString()), {}), 1);
  }

  void tooLittleRoom() {
    const std::string error = errorOf([&] { OutputFile(path("out.gguf"), "out.gguf", std::uint64_t{1} << 60); });
    QVERIFY2(error.find("needs 1152921504606.8 MB, but only ") != std::string::npos, error.c_str());
    QVERIFY(isEmpty());
  }

  void stopped() {
    std::stop_source stop;
    const LoadProgress stopWhenConverting = [&](std::string_view stage, double) {
      if (stage == "converting") stop.request_stop();
    };
    QVERIFY_EXCEPTION_THROWN(
        convertModel("synthetic:tiny", path("out.gguf"), formatNamed("q4_k"), stopWhenConverting, stop.get_token()),
        Cancelled);
    QVERIFY(isEmpty());
  }

  void whereNothingCanBeWritten() {
    const auto error = [](const std::string& out) {
      return errorOf([&] { convertModel("synthetic:tiny", out, formatNamed("f16"), {}, {}); });
    };
    QCOMPARE(error("/nowhere/out.gguf"), "/nowhere/out.gguf: cannot be written: No such file or directory");
    QVERIFY(error(m_folder->path().toStdString()).ends_with("is a folder, and cannot be written as a file"));
    QVERIFY(error("/dev/null").ends_with("is not a regular file, and cannot be written as a file"));
  }

 private:
  std::string path(const std::string& name) const { return m_folder->filePath(name.c_str()).toStdString(); }
  bool isEmpty() const { return fs::is_empty(m_folder->path().toStdString()); }

  std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestConvert)
#include "tst_convert.moc"
