package dev.howdah.pg;

/** Checks that a server is of the kind that target_session_attrs wants. */
final class TargetSession {
  private TargetSession() {}

  /** Returns the session, or closes it and fails. */
  static Session check(Session session, String target) {
    if (target.equals("any")) {
      return session;
    }
    try {
      Result state = new Executor(session)
          .script("select pg_is_in_recovery()::text, current_setting('transaction_read_only')").get(0);
      boolean standby = state.get(0).getString(0).equals("true");
      boolean readOnly = standby || state.get(0).getString(1).equals("on");
      boolean fits = switch (target) {
        case "read-write" -> !readOnly;
        case "read-only" -> readOnly;
        case "primary" -> !standby;
        default -> standby;
      };
      if (!fits) {
        throw new ConnectionException("the server is " + (standby ? "a standby" : readOnly ? "read-only" : "a primary")
            + ", and target_session_attrs wants " + target);
      }
      return session;
    } catch (RuntimeException e) {
      session.close();
      throw e;
    }
  }
}
