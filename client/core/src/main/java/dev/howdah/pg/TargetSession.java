package dev.howdah.pg;

import java.time.Duration;

/** Checks that a server is of the kind that target_session_attrs wants. */
final class TargetSession {
  private TargetSession() {}

  /**
   * Returns the session, or closes it and fails: with a PgTimeoutException where the server has not
   * answered by the deadline.
   */
  static Session check(Session session, String target, long deadline) {
    if (target.equals("any")) {
      return session;
    }
    try {
      Result state = ask(session, deadline);
      boolean standby = state.get(0).getString(0).equals("true");
      boolean readOnly = standby || state.get(0).getString(1).equals("on");
      boolean fits =
          switch (target) {
            case "read-write" -> !readOnly;
            case "read-only" -> readOnly;
            case "primary" -> !standby;
            default -> standby;
          };
      if (!fits) {
        throw new ConnectionException(
            "the server is "
                + (standby ? "a standby" : readOnly ? "read-only" : "a primary")
                + ", and target_session_attrs wants "
                + target);
      }
      return session;
    } catch (RuntimeException e) {
      session.close();
      throw e.getCause() instanceof PgTimeoutException late ? late : e;
    }
  }

  private static Result ask(Session session, long deadline) {
    Duration left =
        deadline == Long.MAX_VALUE
            ? Duration.ZERO
            : Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
    return new Script(new Executor(session))
        .run(
            "select pg_is_in_recovery()::text, current_setting('transaction_read_only')",
            Options.DEFAULT.closeAfter(left))
        .get(0);
  }
}
