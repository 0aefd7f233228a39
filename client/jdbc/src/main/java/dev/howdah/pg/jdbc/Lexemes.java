package dev.howdah.pg.jdbc;

/**
 * Where in a statement its strings, dollar quotes, quoted names, comments and words end: what can
 * hide a question mark, a semicolon or a brace.
 */
final class Lexemes {
  private final String sql;
  private final boolean backslashes;

  /**
   * The lexemes of a text.
   *
   * @param backslashes whether a backslash escapes in every string, as it does with
   *     standard_conforming_strings off
   */
  Lexemes(String sql, boolean backslashes) {
    this.sql = sql;
    this.backslashes = backslashes;
  }

  /**
   * The index behind the lexeme that begins at an index; all that hides nothing is of one
   * character.
   */
  int end(int at) {
    char c = sql.charAt(at);
    if (isComment(at)) {
      return c == '-' ? lineEnd(at) : commentEnd(at);
    } else if (c == '\'') {
      return stringEnd(at + 1, backslashes);
    } else if (c == '"') {
      return closing('"', at + 1);
    } else if (c == '$') {
      return dollarEnd(at);
    }
    return isIdentifierPart(c) ? wordEnd(at) : at + 1;
  }

  /** Whether a comment begins at an index. */
  boolean isComment(int at) {
    return sql.startsWith("--", at) || sql.startsWith("/*", at);
  }

  /**
   * Whether a word, or a number, begins at an index. An E before a quote is none, but the beginning
   * of a string.
   */
  boolean isWord(int at) {
    return sql.charAt(at) != '$' && isIdentifierPart(sql.charAt(at)) && !isEscapeString(at);
  }

  private boolean isEscapeString(int at) {
    return (sql.charAt(at) == 'e' || sql.charAt(at) == 'E') && sql.startsWith("'", at + 1);
  }

  private int wordEnd(int at) {
    if (isEscapeString(at)) {
      return stringEnd(at + 2, true);
    }
    int stop = at;
    while (stop < sql.length() && isIdentifierPart(sql.charAt(stop))) {
      stop++;
    }
    return stop;
  }

  /** What PostgreSQL takes for space. Another character of that kind is a part of a name to it. */
  static boolean isSpace(char c) {
    return c == ' ' || c >= '\t' && c <= '\r';
  }

  private static boolean isIdentifierPart(char c) {
    return c == '_' || c == '$' || c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private int lineEnd(int at) {
    int stop = at;
    while (stop < sql.length() && sql.charAt(stop) != '\n' && sql.charAt(stop) != '\r') {
      stop++;
    }
    return stop;
  }

  private int commentEnd(int at) {
    int open = 1;
    int next = at + 2;
    while (next < sql.length() && open > 0) {
      if (sql.startsWith("/*", next)) {
        open++;
        next += 2;
      } else if (sql.startsWith("*/", next)) {
        open--;
        next += 2;
      } else {
        next++;
      }
    }
    return next;
  }

  /**
   * Behind the next quote of a kind. A doubled one ends one string and begins the next, which comes
   * to the same.
   */
  private int closing(char quote, int from) {
    int found = sql.indexOf(quote, from);
    return found < 0 ? sql.length() : found + 1;
  }

  /** Behind the string whose content begins at an index, with what continues it on another line. */
  private int stringEnd(int from, boolean escapes) {
    int next = from;
    while (true) {
      next = escapes ? escapedEnd(next) : closing('\'', next);
      int continued = continuation(next);
      if (continued < 0) {
        return next;
      }
      next = continued;
    }
  }

  private int escapedEnd(int from) {
    int next = from;
    while (next < sql.length()) {
      char c = sql.charAt(next);
      if (c == '\'') {
        return next + 1;
      }
      next += c == '\\' ? 2 : 1;
    }
    return sql.length();
  }

  /**
   * Where a string goes on: at once, behind a doubled quote, or behind space and comments with a
   * line's end among them.
   */
  private int continuation(int from) {
    int next = from;
    boolean line = false;
    while (next < sql.length() && (isSpace(sql.charAt(next)) || sql.startsWith("--", next))) {
      line |= sql.charAt(next) == '\n' || sql.charAt(next) == '\r';
      next = sql.charAt(next) == '-' ? lineEnd(next) : next + 1;
    }
    boolean quote = next < sql.length() && sql.charAt(next) == '\'';
    return quote && (line || next == from) ? next + 1 : -1;
  }

  /** Behind a dollar-quoted string, or behind the dollar sign if none begins here, as with $1. */
  private int dollarEnd(int at) {
    int next = at + 1;
    while (next < sql.length()
        && sql.charAt(next) != '$'
        && isIdentifierPart(sql.charAt(next))
        && (next > at + 1 || !Character.isDigit(sql.charAt(next)))) {
      next++;
    }
    if (next == sql.length() || sql.charAt(next) != '$') {
      return at + 1;
    }
    String tag = sql.substring(at, next + 1);
    int found = sql.indexOf(tag, next + 1);
    return found < 0 ? sql.length() : found + tag.length();
  }
}
