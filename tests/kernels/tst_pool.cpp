// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/pool.h"

#include <QTest>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using inferoscope::kernels::cpu::Pool;

class TestPool : public QObject {
  Q_OBJECT

 private slots:
  void everyTaskRunsOnce_data() { threadCounts(); }
  void everyTaskRunsOnce() {
    QFETCH(const int, num_threads);
    Pool pool(num_threads);
    QCOMPARE(pool.numThreads(), num_threads);
    for (const int num_tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(num_tasks));
      std::atomic<bool> thread_ok = true;
      pool.parallelFor(num_tasks, {}, [&](int task, int thread) {
        ++runs[task];
        if (thread < 0 || thread >= num_threads) thread_ok = false;
      });
      for (const auto& count : runs) QCOMPARE(count.load(), 1);
      QVERIFY(thread_ok);
    }
  }

  // No two threads share an index, so that each may own a part of the scratch memory.
  void threadIndicesAreExclusive_data() { threadCounts(); }
  void threadIndicesAreExclusive() {
    QFETCH(const int, num_threads);
    Pool pool(num_threads);
    std::vector<std::atomic<int>> inside(static_cast<std::size_t>(num_threads));
    std::atomic<bool> alone = true;
    pool.parallelFor(2000, {}, [&](int, int thread) {
      if (++inside[thread] != 1) alone = false;
      --inside[thread];
    });
    QVERIFY(alone);
  }

  // Results written by tasks are visible afterwards, and what was written before is visible to tasks: plain memory,
  // job after job, so that a worker that wakes late meets the next job.
  void jobAfterJob_data() { threadCounts(); }
  void jobAfterJob() {
    QFETCH(const int, num_threads);
    Pool pool(num_threads);
    std::vector<long> values(37, 0);
    long added = 0;
    for (int job = 1; job <= 2000; ++job) {
      added += job;
      pool.parallelFor(static_cast<int>(values.size()), {}, [&values, job](int task, int) { values[task] += job; });
      if (job % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // let them fall asleep
    }
    for (const long value : values) QCOMPARE(value, added);
  }

  void tasksBeginInOrder() {
    Pool pool(1);
    std::vector<int> order;
    pool.parallelFor(5, {}, [&](int task, int thread) {
      QCOMPARE(thread, 0);
      order.push_back(task);
    });
    QCOMPARE(order, (std::vector<int>{0, 1, 2, 3, 4}));
  }

  void noTaskBeginsAfterAStop_data() { threadCounts(); }
  void noTaskBeginsAfterAStop() {
    QFETCH(const int, num_threads);
    Pool pool(num_threads);
    std::stop_source stop;
    std::atomic<int> num_run = 0;
    std::atomic<int> num_late = 0;
    std::atomic<bool> stopped = false;
    pool.parallelFor(100000, stop.get_token(), [&](int, int thread) {
      if (stopped && thread == 0) ++num_late;  // the thread that asked for the stop
      if (++num_run == 10) {
        stop.request_stop();
        if (thread == 0) stopped = true;
      }
    });
    QVERIFY(num_run >= 10);
    QVERIFY(num_run < 10 + num_threads);
    QCOMPARE(num_late.load(), 0);

    int again = 0;  // the pool is as good as new
    pool.parallelFor(1, {}, [&](int, int) { ++again; });
    QCOMPARE(again, 1);
  }

  void unusedPoolsEnd() {
    for (int i = 0; i < 50; ++i) Pool pool(1 + i % 5);
  }

  // Four lanes of work need four threads that meet.
  void threadsReallyRunTogether() {
    Pool pool(4);
    std::atomic<int> arrived = 0;
    pool.parallelFor(4, {}, [&](int, int) {
      ++arrived;
      while (arrived != 4) std::this_thread::yield();
    });
    QCOMPARE(arrived.load(), 4);
  }

 private:
  static void threadCounts() {
    QTest::addColumn<int>("num_threads");
    for (const int n : {1, 2, 3, 64}) QTest::addRow("%d threads", n) << n;
  }
};

QTEST_GUILESS_MAIN(TestPool)
#include "tst_pool.moc"
