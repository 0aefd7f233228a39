package dev.howdah.pg.jdbc;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What JDBC writes for a call, as SQL.
 *
 * @param sql the statement
 * @param returns whether the first placeholder of what was written is what the function returns,
 *     and not in the statement
 * @param called function or procedure with its arguments, if what was written is an escape
 */
record CallSyntax(String sql, boolean returns, String called) {
  private static final Pattern CALL =
      Pattern.compile(
          "\\s*\\{\\s*(\\?\\s*=\\s*)?call\\s+(.*?)\\s*\\}\\s*;?\\s*",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private static final String IDENTIFIER = "(?:\"(?:[^\"]|\"\")+\"|[\\p{L}_][\\p{L}\\p{N}_$]*)";
  private static final Pattern NAME =
      Pattern.compile(
          "(" + IDENTIFIER + "(?:\\s*\\.\\s*" + IDENTIFIER + ")?)\\s*\\(.*", Pattern.DOTALL);

  /** Reads {@code {call f(?)}} and {@code {? = call f(?)}}; anything else is SQL already. */
  static CallSyntax of(String sql) {
    Matcher call = CALL.matcher(sql);
    if (!call.matches()) {
      return new CallSyntax(sql, false, null);
    }
    String function = call.group(2);
    String called = function.endsWith(")") ? function : function + "()";
    return new CallSyntax("select * from " + called + " as result", call.group(1) != null, called);
  }

  /**
   * The name of what may be a procedure: what is called by an escape that returns nothing; null if
   * there is none.
   */
  String name() {
    if (called == null || returns) {
      return null;
    }
    Matcher name = NAME.matcher(called);
    return name.matches() ? name.group(1) : null;
  }

  /** The same call, of a procedure. */
  CallSyntax ofProcedure() {
    return new CallSyntax("call " + called, false, called);
  }
}
