// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace inferoscope::core {

// A file that appears under its name only when it is whole: it is written beside it, under another name, which is
// removed again if commit() is not reached. Every failure is an Error, with nothing left behind.
class OutputFile {
 public:
  // name: the path as messages show it. num_bytes: how many will be written; fails at once where the disk has too
  // little room for them.
  OutputFile(const std::filesystem::path& path, std::string name, std::uint64_t num_bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return m_name; }  // for messages
  void write(std::span<const std::byte> data);
  void commit();  // replaces what is there under the name

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path m_path;
  std::filesystem::path m_temporary;
  std::string m_name;
  int m_fd = -1;
};

}  // namespace inferoscope::core
