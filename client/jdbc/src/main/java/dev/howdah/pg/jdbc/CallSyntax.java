package dev.howdah.pg.jdbc;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What JDBC writes for a call, as SQL.
 *
 * @param sql the statement
 * @param returns whether the first placeholder of what was written is what the function returns, and not in the statement
 */
record CallSyntax(String sql, boolean returns) {
  private static final Pattern CALL =
      Pattern.compile("\\s*\\{\\s*(\\?\\s*=\\s*)?call\\s+(.*?)\\s*\\}\\s*;?\\s*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** Reads {@code {call f(?)}} and {@code {? = call f(?)}}; anything else is SQL already. */
  static CallSyntax of(String sql) {
    Matcher call = CALL.matcher(sql);
    if (!call.matches()) {
      return new CallSyntax(sql, false);
    }
    String function = call.group(2);
    String called = function.endsWith(")") ? function : function + "()";
    return new CallSyntax("select * from " + called + " as result", call.group(1) != null);
  }
}
