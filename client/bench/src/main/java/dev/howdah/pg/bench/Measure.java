package dev.howdah.pg.bench;

import java.lang.management.ManagementFactory;

/** Times and allocations of one way of access. */
final class Measure {
  private static final com.sun.management.ThreadMXBean THREADS =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

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
    allocated =
        (double) (THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - bytes)
            / Queries.ROWS;
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
      least =
          Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
    }
    return least;
  }

  /** Whether the result of this way is all rows, so that what it keeps alive means something. */
  boolean keepsItsResult() {
    return testCase.endsWith("_untouched") && (system.equals("howdah") || system.equals("vertx"))
        || testCase.endsWith("_all")
        || testCase.endsWith("_map");
  }

  void report() throws java.io.IOException {
    Report.add(testCase, system, "ms", millis);
    // What the client's own thread worked: the server's share and the machine's other load are not
    // in it.
    Report.add(testCase, system, "client_cpu_ms", cpu);
    Report.add(testCase, system, "bytes_allocated_per_row", allocated);
    if (!Double.isNaN(retained)) {
      Report.add(testCase, system, "bytes_retained_per_row", retained);
    }
  }
}
