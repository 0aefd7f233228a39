package dev.howdah.pg;

import java.time.Duration;

/** How one query is run. Immutable: each setter returns another object. */
public final class Options {
  /** The connection's settings. */
  public static final Options DEFAULT =
      new Options(null, RowMaker.Factory.PLAIN, true, 0, 0, null, false, ParameterTypes.INFERRED);

  private final Duration timeout;
  private final RowMaker.Factory rows;
  private final boolean binary;
  private final int fetchSize;
  private final int mostRows;
  private final String opening;
  private final boolean closing;
  private final ParameterTypes types;

  private Options(
      Duration timeout,
      RowMaker.Factory rows,
      boolean binary,
      int fetchSize,
      int mostRows,
      String opening,
      boolean closing,
      ParameterTypes types) {
    this.timeout = timeout;
    this.rows = rows;
    this.binary = binary;
    this.fetchSize = fetchSize;
    this.mostRows = mostRows;
    this.opening = opening;
    this.closing = closing;
    this.types = types;
  }

  /**
   * How long the query may take before it is cancelled, or each fetch of a cursor; zero for no
   * limit; null for the connection's queryTimeout.
   */
  public Options timeout(Duration limit) {
    return new Options(limit, rows, binary, fetchSize, mostRows, opening, false, types);
  }

  /** Which objects the rows are. */
  public Options rows(RowMaker.Factory factory) {
    return new Options(timeout, factory, binary, fetchSize, mostRows, opening, closing, types);
  }

  /**
   * Whether values travel in the binary format where their types have one (the default), or all as
   * text.
   */
  public Options binary(boolean wanted) {
    return new Options(timeout, rows, wanted, fetchSize, mostRows, opening, closing, types);
  }

  /** How many rows a cursor fetches at a time; 0 lets it choose by the rows' size. */
  public Options fetchSize(int rowsAtATime) {
    return new Options(timeout, rows, binary, rowsAtATime, mostRows, opening, closing, types);
  }

  /**
   * How many rows a query returns at most, the rest being left in the server; 0 for all. Cursors,
   * portals and scripts return all.
   */
  public Options mostRows(int rowsAtMost) {
    return new Options(timeout, rows, binary, fetchSize, rowsAtMost, opening, closing, types);
  }

  /**
   * A statement to run before the query if no transaction is begun, such as BEGIN, in the same
   * write where the query is prepared already. If it fails the query does not run. Scripts and
   * pipelines ignore it.
   */
  public Options opening(String sql) {
    return new Options(timeout, rows, binary, fetchSize, mostRows, sql, closing, types);
  }

  /**
   * A limit after which the connection is closed at once, for a server that may not be there any
   * more to cancel anything.
   */
  public Options closeAfter(Duration limit) {
    return new Options(limit, rows, binary, fetchSize, mostRows, opening, true, types);
  }

  /** The types that are declared for the parameters; by default the server infers all of them. */
  public Options types(ParameterTypes declared) {
    return new Options(timeout, rows, binary, fetchSize, mostRows, opening, closing, declared);
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

  int mostRows() {
    return mostRows;
  }

  String opening() {
    return opening;
  }

  boolean closing() {
    return closing;
  }

  ParameterTypes types() {
    return types;
  }

  /** Whether a query that runs so cannot go beside those of other threads. */
  boolean needsSession() {
    return opening != null || mostRows > 0 || closing;
  }
}
