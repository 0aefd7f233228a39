package dev.howdah.pg.bench;

import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** Times and allocations of one way of access. */
final class Measure {
  private static final com.sun.management.ThreadMXBean THREADS = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

  final String testCase;
  final String system;
  private final Contender.Work work;
  private final double[] millis;
  private double cpu = Double.MAX_VALUE;
  private int runs;
  private double allocated;
  private double retained = Double.NaN;

  Measure(String testCase, String system, Contender.Work work, int runs) {
    this.testCase = testCase;
    this.system = system;
    this.work = work;
    this.millis = new double[runs];
  }

  void warm() throws Exception {
    work.run();
  }

  /** One run that counts. */
  void run() throws Exception {
    long bytes = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    long busy = THREADS.getCurrentThreadCpuTime();
    long start = System.nanoTime();
    Object result = work.run();
    millis[runs++] = (System.nanoTime() - start) / 1e6;
    cpu = Math.min(cpu, (THREADS.getCurrentThreadCpuTime() - busy) / 1e6);
    allocated = (double) (THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - bytes) / Queries.ROWS;
    if (result == this) {
      throw new IllegalStateException("unreachable; the result must be used");
    }
  }

  /** What a result that is kept keeps alive, for each row. */
  void retain() throws Exception {
    long before = used();
    Object result = work.run();
    retained = (double) (used() - before) / Queries.ROWS;
    if (result == this) {
      throw new IllegalStateException("unreachable; the result must be used");
    }
  }

  private static long used() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; i++) {
      System.gc();
      least = Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
    }
    return least;
  }

  private double[] sorted() {
    double[] sorted = Arrays.copyOf(millis, runs);
    Arrays.sort(sorted);
    return sorted;
  }

  double min() {
    return sorted()[0];
  }

  void report(Report report) {
    double[] sorted = sorted();
    report.add(testCase, system, "min_ms", sorted[0], sorted[0], sorted[0], runs);
    report.add(testCase, system, "median_ms", sorted[runs / 2], sorted[0], sorted[runs - 1], runs);
    // What the client's own thread worked: the server's share and the machine's other load are not in it.
    report.add(testCase, system, "client_cpu_ms", cpu, cpu, cpu, runs);
    report.add(testCase, system, "bytes_allocated_per_row", allocated, allocated, allocated, 1);
    if (!Double.isNaN(retained)) {
      report.add(testCase, system, "bytes_retained_per_row", retained, retained, retained, 1);
    }
  }
}
