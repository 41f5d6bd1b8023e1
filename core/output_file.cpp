// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/output_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <utility>

namespace inferoscope::core {
namespace {

namespace fs = std::filesystem;

void checkRoom(const std::string& name, const fs::path& folder, std::uint64_t num_bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= num_bytes) return;  // what cannot be asked shows when it is written
  throw Error(fmt::format("{}: needs {:.1f} MB, but only {:.1f} MB are free there", name,
                          static_cast<double>(num_bytes) / 1e6, static_cast<double>(space.available) / 1e6));
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, std::string name, std::uint64_t num_bytes)
    : m_path(path), m_name(std::move(name)) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(fmt::format("{}: is {}, and cannot be written as a file", m_name,
                            fs::is_directory(status) ? "a folder" : "not a regular file"));
  }
  m_temporary = path;
  m_temporary += fmt::format(".{}.part", ::getpid());
  m_fd = ::open(m_temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (m_fd < 0) fail(errno);
  try {
    checkRoom(m_name, m_temporary.parent_path().empty() ? "." : m_temporary.parent_path(), num_bytes);
  } catch (...) {
    ::close(m_fd);
    ::unlink(m_temporary.c_str());
    throw;
  }
}

OutputFile::~OutputFile() {
  if (m_fd < 0) return;
  ::close(m_fd);
  ::unlink(m_temporary.c_str());
}

void OutputFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = ::write(m_fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    data = data.subspan(static_cast<std::size_t>(count));
  }
}

void OutputFile::commit() {
  // On the disk before it has the name, so that a crash leaves the old file or the whole new one.
  if (::fsync(m_fd) != 0) fail(errno);
  if (::rename(m_temporary.c_str(), m_path.c_str()) != 0) fail(errno);
  ::close(m_fd);
  m_fd = -1;
}

void OutputFile::fail(int error) const {
  throw Error(fmt::format("{}: cannot be written: {}", m_name, std::generic_category().message(error)));
}

}  // namespace inferoscope::core
