// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

// The rules of the house as pure functions of a file's path and text. Paths are relative to the top of the tree.
// Each ...Fault() is empty if the rule is kept, else says what is wrong.
namespace inferoscope::tests {

struct Include {
  int line = 0;
  std::string target;   // what stands between the quotes or angle brackets
  bool quoted = false;  // "..." rather than <...>
};

inline bool isOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

inline std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline std::vector<Include> includesOf(std::string_view source) {
  static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]*)[>\"]");
  std::vector<Include> includes;
  int line_number = 0;
  for (const std::string& line : linesOf(source)) {
    ++line_number;
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) includes.push_back({line_number, match[2], match[1] == "\""});
  }
  return includes;
}

// What a library header belongs to; "other" if no room may use it.
inline std::string_view libraryOf(const std::string& header) {
  static const std::regex kStd("[a-z0-9_]+|(math|stddef|stdint)\\.h");
  static const std::regex kQt("Q[A-Z][A-Za-z0-9]*(/Q[A-Z][A-Za-z0-9]*)?");
  static const std::regex kCuda("(cuda|cublas|cooperative_groups|nvtx|mma\\.h|cub/|thrust/).*");
  static const std::regex kPosix("sys/.*|linux/.*|(unistd|fcntl|dlfcn|pthread|pwd|sched|signal|time)\\.h");
  static const std::regex kSimd("(x86intrin|immintrin|cpuid)\\.h");
  if (std::regex_match(header, kStd)) return "std";
  if (std::regex_match(header, kQt) || header == "qcustomplot.h") return "Qt";
  if (std::regex_match(header, kCuda)) return "CUDA";
  if (std::regex_match(header, kPosix)) return "POSIX";
  if (std::regex_match(header, kSimd)) return "SIMD";
  if (header.starts_with("nlohmann/")) return "nlohmann-json";
  if (header.starts_with("fmt/")) return "fmt";
  if (header == "pcre2.h") return "PCRE2";
  if (header.starts_with("CLI/")) return "CLI11";
  return "other";
}

inline std::string libraryFault(std::string_view file, const std::string& header) {
  const std::string_view library = libraryOf(header);
  const bool allowed = library == "std" || (file.starts_with("kernels/") && library == "SIMD") ||
                       (file.starts_with("kernels/cuda/") && library == "CUDA") ||
                       (file.starts_with("kernels/cuda/emulation/") && library == "POSIX") ||
                       (file.starts_with("core/") && isOneOf(library, {"POSIX", "nlohmann-json", "fmt", "PCRE2"})) ||
                       (file.starts_with("core/cli/") && library == "CLI11") ||
                       (file.starts_with("gui/") && library == "Qt");
  return allowed ? "" : "may not use <" + header + ">";
}

// Position in the order of core's folders, files directly in core/ first; -1: no such folder.
inline int coreRank(std::string_view path) {
  static constexpr std::array<std::string_view, 9> kOrder = {"observe", "backend", "model",  "cache", "schedule",
                                                             "run",     "engine",  "verify", "cli"};
  path.remove_prefix(std::string_view("core/").size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return 0;
  const auto* folder = std::find(kOrder.begin(), kOrder.end(), path.substr(0, slash));
  return folder == kOrder.end() ? -1 : static_cast<int>(folder - kOrder.begin()) + 1;
}

// What core sees of kernels: the headers directly in kernels/, the CPU's pool and probe for the CPU backend, and the
// CUDA module's table for the module backend.
inline bool coreMayInclude(std::string_view file, std::string_view kernels_header) {
  const std::string_view name = kernels_header.substr(std::string_view("kernels/").size());
  if (name.starts_with("cpu/")) return file.starts_with("core/backend/cpu");
  if (name.starts_with("cuda/")) return name == "cuda/module.h" && file.starts_with("core/backend/module");
  return name.find('/') == std::string_view::npos;
}

inline std::string roomFault(std::string_view file, const std::string& header) {
  const std::string fault = "may not include \"" + header + "\"";
  if (header.starts_with("kernels/cuda/") && file.starts_with("kernels/"))
    return file.starts_with("kernels/cuda/") ? "" : fault;
  if (header.starts_with("kernels/")) {
    if (file.starts_with("kernels/")) return "";
    return file.starts_with("core/") && coreMayInclude(file, header) ? "" : fault;
  }
  if (header.starts_with("core/")) {
    if (file.starts_with("gui/")) return header.starts_with("core/cli/") ? fault : "";
    if (!file.starts_with("core/")) return fault;
    if (coreRank(file) < 0) return "is in a folder of core that has no place in the order";
    return coreRank(header) >= 0 && coreRank(header) <= coreRank(file) ? "" : fault + ": against the order of folders";
  }
  if (header.starts_with("gui/")) return file.starts_with("gui/") ? "" : fault;
  if (header.ends_with(".moc")) return file.starts_with("gui/") ? "" : fault;
  return fault + ": includes are written from the root, as \"core/ids.h\"";
}

// Rooms point one way, kernels <- core <- gui, and use their own libraries only.
inline std::string includeFault(std::string_view file, const Include& include) {
  return include.quoted ? roomFault(file, include.target) : libraryFault(file, include.target);
}

inline std::string topLevelFault(std::string_view name) {
  const bool allowed =
      name.starts_with(".") || name == "build" || name.starts_with("build-") ||
      isOneOf(name, {"CMakeLists.txt", "gui", "core", "kernels", "resources", "tests", "README.md", "LICENSE"});
  return allowed ? "" : "has no place at the top level";
}

// In the first two lines: a script's first is its interpreter.
inline std::string licenceFault(std::string_view source) {
  const std::vector<std::string> lines = linesOf(source);
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 2); ++i)
    if (lines[i].ends_with("SPDX-License-Identifier: GPL-3.0-or-later")) return "";
  return "does not begin with its SPDX-License-Identifier line";
}

// Nothing names a folder of one person's machine.
inline std::string machinePathFault(std::string_view text) {
  static const std::regex kMachinePath("(^|[^\\w./-])/(work|home|root)/\\w");
  std::smatch match;
  int line_number = 0;
  for (const std::string& line : linesOf(text)) {
    ++line_number;
    if (std::regex_search(line, match, kMachinePath))
      return "line " + std::to_string(line_number) + " names a folder of one machine: " + match.str();
  }
  return "";
}

}  // namespace inferoscope::tests
