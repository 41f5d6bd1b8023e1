// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace inferoscope::core {

// A regular file open for reading. It is read, never mapped: a file that another program cuts off meanwhile is then an
// Error, where a mapping would end the process with a signal.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);  // throws Error: missing, a folder, unreadable
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& name() const { return m_name; }  // for messages
  std::uint64_t size() const { return m_size; }

  void read(std::uint64_t offset, std::span<std::byte> to) const;
  bool is(const std::filesystem::path& path) const;  // whether that names this very file
  void checkUnchanged() const;                       // throws Error if the file was written to since it was opened

 private:
  std::string m_name;
  int m_fd = -1;
  std::uint64_t m_size = 0;
  std::int64_t m_modified_ns = 0;
};

}  // namespace inferoscope::core
