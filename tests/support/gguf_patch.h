// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace inferoscope::tests {

// A GGUF file with something changed in its header. What is added is made up to a multiple of the alignment, so that
// the tensor data stays where its offsets say.
class GgufPatch {
 public:
  explicit GgufPatch(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    m_bytes.assign(std::istreambuf_iterator<char>(in), {});
  }

  // The first string of the header (a key, a value, a name) that is `from`.
  GgufPatch& renamed(std::string_view from, std::string_view to) { return replaced(text(from), text(to)); }

  GgufPatch& replaced(std::string_view from, std::string_view to) {
    const std::size_t at = m_bytes.find(from);
    assert(at != std::string::npos);
    m_bytes.replace(at, from.size(), to);
    m_added += static_cast<std::int64_t>(to.size()) - static_cast<std::int64_t>(from.size());
    return *this;
  }

  GgufPatch& withUint32(std::string_view key, std::uint32_t value) { return with(key, number(4) + number(value)); }
  GgufPatch& withFlag(std::string_view key, bool value) { return with(key, number(7) + (value ? '\1' : '\0')); }
  GgufPatch& withText(std::string_view key, std::string_view value) { return with(key, number(8) + text(value)); }

  void write(const std::string& path) {
    constexpr std::int64_t kAlignment = 32;
    const std::int64_t filler_bytes = static_cast<std::int64_t>((text("filler") + number(8) + text("")).size());
    const std::int64_t odd = (m_added + filler_bytes) % kAlignment;
    withText("filler", std::string(static_cast<std::size_t>((2 * kAlignment - odd) % kAlignment), 'x'));
    std::ofstream(path, std::ios::binary).write(m_bytes.data(), static_cast<std::streamsize>(m_bytes.size()));
  }

  static std::string number(std::uint32_t value) { return raw(&value, sizeof value); }
  static std::string text(std::string_view value) {
    const std::uint64_t size = value.size();
    return raw(&size, sizeof size).append(value);
  }

 private:
  static std::string raw(const void* value, std::size_t size) { return {static_cast<const char*>(value), size}; }

  GgufPatch& with(std::string_view key, const std::string& type_and_value) {
    constexpr std::size_t kCountAt = 16, kEntriesAt = 24;
    std::uint64_t count;
    std::memcpy(&count, m_bytes.data() + kCountAt, sizeof count);
    ++count;
    std::memcpy(m_bytes.data() + kCountAt, &count, sizeof count);
    const std::string entry = text(key) + type_and_value;
    m_bytes.insert(kEntriesAt, entry);
    m_added += static_cast<std::int64_t>(entry.size());
    return *this;
  }

  std::string m_bytes;
  std::int64_t m_added = 0;
};

}  // namespace inferoscope::tests
