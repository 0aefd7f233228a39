package dev.howdah.pg;

import java.util.Locale;
import java.util.Set;

/** What kind of statement SQL text is, as its first word says. */
final class LeadingKeyword {
  private static final Set<String> ROWS =
      Set.of("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "TABLE", "WITH");

  private LeadingKeyword() {}

  /**
   * Whether the statement reads or writes rows: it neither begins a transaction nor needs to be
   * outside one.
   */
  static boolean isOfRows(String sql) {
    int start = skip(sql);
    int end = start;
    while (end < sql.length() && Character.isLetter(sql.charAt(end))) {
      end++;
    }
    return ROWS.contains(sql.substring(start, end).toUpperCase(Locale.ROOT));
  }

  /** Behind white space, comments and opening parentheses. */
  private static int skip(String sql) {
    int at = 0;
    while (at < sql.length()) {
      char c = sql.charAt(at);
      if (Character.isWhitespace(c) || c == '(') {
        at++;
      } else if (sql.startsWith("--", at)) {
        int line = sql.indexOf('\n', at);
        at = line < 0 ? sql.length() : line;
      } else if (sql.startsWith("/*", at)) {
        at = comment(sql, at + 2);
      } else {
        break;
      }
    }
    return at;
  }

  /** Behind a comment, which may hold others. */
  private static int comment(String sql, int start) {
    int at = start;
    for (int depth = 1; depth > 0 && at < sql.length(); ) {
      if (sql.startsWith("*/", at)) {
        depth--;
        at += 2;
      } else if (sql.startsWith("/*", at)) {
        depth++;
        at += 2;
      } else {
        at++;
      }
    }
    return at;
  }
}
