// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/input_file.h"

#include "core/error.h"
#include "core/model/utf8.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <utility>

namespace inferoscope::core {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::int64_t modifiedNs(const struct stat& status) {
  return status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : m_name(shown(path.string(), 4096)) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  m_fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (m_fd < 0) throw Error(fmt::format("{}: cannot be opened: {}", m_name, reason(errno)));
  struct stat status {};
  const int failed = ::fstat(m_fd, &status);
  if (failed != 0 || !S_ISREG(status.st_mode)) {
    ::close(m_fd);
    throw Error(fmt::format("{}: is {}, not a model file", m_name,
                            failed == 0 && S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  }
  m_size = static_cast<std::uint64_t>(status.st_size);
  m_modified_ns = modifiedNs(status);
}

InputFile::~InputFile() {
  if (m_fd >= 0) ::close(m_fd);
}

InputFile::InputFile(InputFile&& other) noexcept
    : m_name(std::move(other.m_name)),
      m_fd(std::exchange(other.m_fd, -1)),
      m_size(other.m_size),
      m_modified_ns(other.m_modified_ns) {}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(m_fd, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(fmt::format("{}: cannot be read at byte {}: {}", m_name, offset, reason(errno)));
    if (count == 0) throw Error(fmt::format("{}: was cut off at byte {} while it was being read", m_name, offset));
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

bool InputFile::is(const std::filesystem::path& path) const {
  struct stat own {
  }, other{};
  return ::fstat(m_fd, &own) == 0 && ::stat(path.c_str(), &other) == 0 && own.st_dev == other.st_dev &&
         own.st_ino == other.st_ino;
}

void InputFile::checkUnchanged() const {
  struct stat status {};
  if (::fstat(m_fd, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != m_size ||
      modifiedNs(status) != m_modified_ns) {
    throw Error(fmt::format("{}: was changed while it was being read; load it again", m_name));
  }
}

}  // namespace inferoscope::core
