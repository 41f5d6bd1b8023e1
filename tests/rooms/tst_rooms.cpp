// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/rooms/room_rules.h"

#include <QtTest>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;
using namespace inferoscope::tests;

namespace {

const fs::path kTop = INFEROSCOPE_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Files below a folder of the tree, as paths from the top.
std::vector<std::string> filesIn(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(kTop / folder))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(kTop).generic_string());
  return files;
}

bool isSource(const fs::path& file) {
  return isOneOf(file.extension().string(), {".h", ".cpp", ".cu", ".cuh", ".py", ".sh"}) ||
         isOneOf(file.filename().string(), {"CMakeLists.txt", "run"});
}

bool isText(const fs::path& file) {
  return isSource(file) || isOneOf(file.extension().string(), {".md", ".txt", ".json", ".html", ".svg", ".ts", ".tsv"});
}

// A source file, one of its lines, and whether the house allows it.
void includeRows() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("line");
  QTest::addColumn<bool>("allowed");
  const auto row = [](const char* file, const char* line, bool allowed) {
    QTest::addRow("%s: %s", file, line) << QString(file) << QString(line) << allowed;
  };

  row("kernels/catalog.cpp", "#include <vector>", true);
  row("kernels/catalog.cpp", "#include \"kernels/kernel.h\"", true);
  row("kernels/cpu/linear_avx2.cpp", "#include <immintrin.h>", true);
  row("kernels/catalog.cpp", "#include \"core/ids.h\"", false);
  row("kernels/catalog.cpp", "#include \"gui/main_window.h\"", false);
  row("kernels/catalog.cpp", "#include <QString>", false);
  row("kernels/catalog.cpp", "#include <fmt/format.h>", false);
  row("kernels/catalog.cpp", "#include <sys/mman.h>", false);
  row("kernels/cuda/runtime.cpp", "#include <cuda_runtime.h>", true);
  row("kernels/cuda/gemm.cpp", "#include <cublas_v2.h>", true);
  row("kernels/cuda/emulation/race_detector.cpp", "#include <sys/mman.h>", true);
  row("kernels/cuda/gemm.cpp", "#include <sys/mman.h>", false);
  row("kernels/cpu/pool.cpp", "#include <cuda_runtime.h>", false);
  row("kernels/cpu/pool.cpp", "#include \"kernels/cuda/gpu.h\"", false);

  row("core/model/gguf.cpp", "#include <sys/mman.h>", true);
  row("core/model/gguf.cpp", "#include <nlohmann/json.hpp>", true);
  row("core/model/bpe.cpp", "#include <pcre2.h>", true);
  row("core/model/gguf.cpp", "#include <QFile>", false);
  row("core/model/gguf.cpp", "#include <QtCore/QFile>", false);
  row("core/model/gguf.cpp", "  #  include <cuda.h>", false);
  row("core/model/gguf.cpp", "#include <boost/regex.hpp>", false);
  row("core/model/gguf.cpp", "#include <CLI/CLI.hpp>", false);
  row("core/cli/main.cpp", "#include <CLI/CLI.hpp>", true);
  row("core/model/gguf.cpp", "#include \"gui/session/session.h\"", false);
  row("core/model/gguf.cpp", "#include \"kernels/format.h\"", true);
  row("core/model/gguf.cpp", "#include \"kernels/quant/q8_0.h\"", false);
  row("core/backend/cpu_backend.cpp", "#include \"kernels/cpu/pool.h\"", true);
  row("core/run/op_runner.cpp", "#include \"kernels/cpu/pool.h\"", false);
  row("core/backend/module_backend.cpp", "#include \"kernels/cuda/module.h\"", true);
  row("core/backend/module_backend.cpp", "#include \"kernels/cuda/gpu.h\"", false);

  row("core/run/forward.cpp", "#include \"core/ids.h\"", true);
  row("core/run/forward.cpp", "#include \"core/schedule/batch.h\"", true);
  row("core/schedule/scheduler.cpp", "#include \"core/run/forward.h\"", false);
  row("core/options.h", "#include \"core/engine/knobs.h\"", false);
  row("core/engine/engine.cpp", "#include \"core/cli/json.h\"", false);
  row("core/utils/strings.h", "#include \"core/ids.h\"", false);
  row("core/run/forward.cpp", "#include \"forward.h\"", false);
  row("core/run/forward.cpp", "#include \"../ids.h\"", false);

  row("gui/main.cpp", "#include <QApplication>", true);
  row("gui/views/roofline_view.cpp", "#include <qcustomplot.h>", true);
  row("gui/session/session.cpp", "#include \"core/engine/engine.h\"", true);
  row("gui/session/session.cpp", "#include \"session.moc\"", true);
  row("gui/session/session.cpp", "#include \"core/cli/json.h\"", false);
  row("gui/session/session.cpp", "#include \"kernels/ops.h\"", false);
  row("gui/session/session.cpp", "#include <cuda_runtime.h>", false);
}

}  // namespace

class TestRooms : public QObject {
  Q_OBJECT
 private slots:
  void theIncludeRule_data() { includeRows(); }
  void theIncludeRule() {
    QFETCH(QString, file);
    QFETCH(QString, line);
    QFETCH(bool, allowed);
    const std::vector<Include> includes = includesOf("\n" + line.toStdString() + "  // why\n");
    QCOMPARE(includes.size(), std::size_t{1});
    QCOMPARE(includes[0].line, 2);
    QCOMPARE(includeFault(file.toStdString(), includes[0]).empty(), allowed);
  }

  void commentedIncludesAreNone() { QVERIFY(includesOf("// #include <QString>\nint include;\n").empty()); }

  void theTopLevelRule() {
    for (const char* name : {"core", "README.md", ".clang-format", "build", "build-asan"})
      QVERIFY(topLevelFault(name).empty());
    for (const char* name : {"cmake", "src", "CMakePresets.json", "notes.txt"}) QVERIFY(!topLevelFault(name).empty());
  }

  void theLicenceRule() {
    QVERIFY(licenceFault("// SPDX-License-Identifier: GPL-3.0-or-later\n#pragma once\n").empty());
    QVERIFY(licenceFault("#!/bin/bash\n# SPDX-License-Identifier: GPL-3.0-or-later\n").empty());
    QVERIFY(!licenceFault("// SPDX-License-Identifier: MIT\n").empty());
    QVERIFY(!licenceFault("\n\n// SPDX-License-Identifier: GPL-3.0-or-later\n").empty());
    QVERIFY(!licenceFault("").empty());
  }

  void theMachinePathRule() {
    QVERIFY(machinePathFault("see core/work/plan, https://host.org/home/x and ~/.local/share\n").empty());
    for (const char* folder : {"work", "home", "root"})
      QVERIFY(!machinePathFault("first\nopen(\"/" + std::string(folder) + "/me/model.gguf\")\n").empty());
  }

  // From here on: the tree itself.

  void everyIncludeKeepsTheRule() {
    int num_includes = 0;
    QStringList faults;
    for (const char* room : {"kernels", "core", "gui"}) {
      for (const std::string& file : filesIn(room)) {
        for (const Include& include : includesOf(read(kTop / file))) {
          ++num_includes;
          const std::string fault = includeFault(file, include);
          if (!fault.empty()) faults += QString("%1:%2 %3").arg(file.c_str()).arg(include.line).arg(fault.c_str());
        }
      }
    }
    QVERIFY2(faults.isEmpty(), qPrintable("\n" + faults.join("\n")));
    QVERIFY2(num_includes > 50, "the scan saw hardly any include: is it looking at the tree?");
  }

  void nothingElseAtTheTopLevel() {
    for (const auto& entry : fs::directory_iterator(kTop)) {
      const std::string name = entry.path().filename().string();
      QVERIFY2(topLevelFault(name).empty(),
               qPrintable(QString("%1 %2").arg(name.c_str(), topLevelFault(name).c_str())));
    }
  }

  void everyFileIsInOrder() {
    QStringList faults;
    const auto check = [&](const std::string& file) {
      const std::string text = read(kTop / file);
      const std::string fault = isSource(file) ? licenceFault(text) : "";
      if (!fault.empty()) faults += QString("%1 %2").arg(file.c_str(), fault.c_str());
      const std::string path_fault = isText(file) ? machinePathFault(text) : "";
      if (!path_fault.empty()) faults += QString("%1 %2").arg(file.c_str(), path_fault.c_str());
    };
    for (const char* folder : {"kernels", "core", "gui", "resources", "tests", ".ci"})
      for (const std::string& file : filesIn(folder)) check(file);
    for (const char* file : {"CMakeLists.txt", "README.md"}) check(file);
    QVERIFY2(faults.isEmpty(), qPrintable("\n" + faults.join("\n")));
  }
};

QTEST_GUILESS_MAIN(TestRooms)
#include "tst_rooms.moc"
