package dev.howdah.pg;

/** How a statement ended. */
final class Outcome {
  String tag = "";
  ServerMessage error;
  RuntimeException failure;
  boolean interrupted;

  /**
   * How often the server has said that something was bound: a statement, and each of its witnesses.
   */
  int bound;

  /** What to do about the error, or null. */
  String advice;

  boolean isSuccess() {
    return error == null && failure == null;
  }

  String tagOrThrow(String sql, Deadline deadline) {
    if (failure != null) {
      throw failure;
    }
    if (error == null) {
      return tag;
    }
    ServerException cause = new ServerException(error, sql, advice);
    if (error.sqlState().equals("57014") && deadline.cancelled()) {
      throw new PgTimeoutException(
          "the query passed its limit of "
              + deadline.limit()
              + " (query_timeout or the query's own timeout) and was cancelled",
          cause);
    }
    if (error.sqlState().equals("57014") && interrupted) {
      throw new PgException(
          "57014", "the thread was interrupted, and its query was cancelled", cause);
    }
    throw cause;
  }
}
