package dev.howdah.pg;

import java.time.Duration;

/** How one query is run. Immutable: each setter returns another object. */
public final class Options {
  /** The connection's settings. */
  public static final Options DEFAULT = new Options(null, RowMaker.Factory.PLAIN, true, 0);

  private final Duration timeout;
  private final RowMaker.Factory rows;
  private final boolean binary;
  private final int fetchSize;

  private Options(Duration timeout, RowMaker.Factory rows, boolean binary, int fetchSize) {
    this.timeout = timeout;
    this.rows = rows;
    this.binary = binary;
    this.fetchSize = fetchSize;
  }

  /** How long the query may take before it is cancelled; zero for no limit; null for the connection's queryTimeout. */
  public Options timeout(Duration limit) {
    return new Options(limit, rows, binary, fetchSize);
  }

  /** Which objects the rows are. */
  public Options rows(RowMaker.Factory factory) {
    return new Options(timeout, factory, binary, fetchSize);
  }

  /** Whether values travel in the binary format where their types have one (the default), or all as text. */
  public Options binary(boolean wanted) {
    return new Options(timeout, rows, wanted, fetchSize);
  }

  /** How many rows a cursor fetches at a time; 0 lets it choose by the rows' size. */
  public Options fetchSize(int rowsAtATime) {
    return new Options(timeout, rows, binary, rowsAtATime);
  }

  Duration timeout() {
    return timeout;
  }

  RowMaker.Factory rows() {
    return rows;
  }

  boolean binary() {
    return binary;
  }

  int fetchSize() {
    return fetchSize;
  }
}
