// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/kv_cache.h"
#include "tests/support/errors.h"
#include "tests/support/host_backend.h"

#include <QTest>
#include <cstring>

using namespace inferoscope::core;
using namespace inferoscope::kernels;
using inferoscope::tests::errorOf;
using inferoscope::tests::HostBackend;

namespace {

ModelConfig smallModel(int head_dim) {
  ModelConfig config;
  config.num_layers = 3;
  config.num_kv_heads = 2;
  config.head_dim = head_dim;
  return config;
}

}  // namespace

class TestKvCache : public QObject {
  Q_OBJECT

 private slots:
  void holdsKeysAndValuesOfEveryLayer_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<int>("vector_bytes");
    QTest::newRow("f32") << "f32" << 32 * 4;
    QTest::newRow("f16") << "f16" << 32 * 2;
    QTest::newRow("q8_0") << "q8_0" << 34;
  }
  void holdsKeysAndValuesOfEveryLayer() {
    QFETCH(QString, format);
    QFETCH(int, vector_bytes);
    HostBackend backend;
    const ModelConfig config = smallModel(32);
    {
      const KvCache cache(config, backend, format.toStdString(), 5, 4);
      const std::int64_t block_bytes = 2 * 3 * 2 * 4 * vector_bytes;  // K and V, layers, heads, slots
      QCOMPARE(cache.blockBytes(), block_bytes);
      QCOMPARE(std::int64_t(backend.heldBytes()), 5 * block_bytes);
      QCOMPARE(cache.layer(0).vector_bytes, vector_bytes);
      QCOMPARE(cache.numBlocks(), 5);
      QCOMPARE(cache.blockSize(), 4);
    }
    QCOMPARE(backend.heldBytes(), std::size_t(0));
  }

  // Each slot of each layer is written with a value of its own and found again: none lies over another.
  void slotsDoNotOverlap() {
    HostBackend backend;
    const KvCache cache(smallModel(2), backend, "f32", 3, 4);
    const auto eachSlot = [&cache](auto&& visit) {
      float value = 1;
      for (int layer = 0; layer < 3; ++layer) {
        const PagedKvView view = cache.layer(layer);
        for (std::byte* base : {view.keys, view.values}) {
          for (int block = 0; block < view.num_blocks; ++block) {
            for (int head = 0; head < view.num_kv_heads; ++head) {
              for (int slot = 0; slot < view.block_size; ++slot) {
                visit(reinterpret_cast<float*>(base + kvOffset(view, block, head, slot)), value++);
              }
            }
          }
        }
      }
    };
    eachSlot([](float* vector, float value) { vector[0] = vector[1] = value; });
    eachSlot([](const float* vector, float value) {
      QCOMPARE(vector[0], value);
      QCOMPARE(vector[1], value);
    });
  }

  void refusesWhatItCannotStore() {
    HostBackend backend;
    QVERIFY(!errorOf([&] { KvCache(smallModel(16), backend, "q8_0", 2, 4); }).empty());
    QVERIFY(!errorOf([&] { KvCache(smallModel(16), backend, "f17", 2, 4); }).empty());
    QCOMPARE(backend.heldBytes(), std::size_t(0));
  }

  // Memory that ends in the middle of the layers: the error passes, and nothing stays taken.
  void givesAllBackIfMemoryEnds() {
    class FullBackend final : public HostBackend {
     public:
      std::shared_ptr<Buffer> allocate(std::size_t bytes, std::string_view what) override {
        if (heldBytes() >= 3 * bytes) throw Error("no memory for " + std::string(what));
        return HostBackend::allocate(bytes, what);
      }
    } backend;
    QCOMPARE(errorOf([&] { KvCache(smallModel(32), backend, "f16", 2, 4); }),
             std::string("no memory for KV cache, layer 2 of 3"));
    QCOMPARE(backend.heldBytes(), std::size_t(0));
  }
};

QTEST_GUILESS_MAIN(TestKvCache)
#include "tst_kv_cache.moc"
