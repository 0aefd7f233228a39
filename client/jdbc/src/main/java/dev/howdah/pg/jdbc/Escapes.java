package dev.howdah.pg.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Writes what JDBC puts into braces as SQL: dates and times, functions, outer joins, the character
 * that escapes in LIKE.
 *
 * <p>Braces in strings, quoted names and comments are none. A brace that begins no escape stays,
 * for the server to say where it is wrong.
 */
final class Escapes {
  /** What stands for the word behind the brace. */
  private static final Map<String, String> WORDS =
      Map.of("d", "DATE ", "t", "TIME ", "ts", "TIMESTAMP ", "oj", "", "escape", "ESCAPE ");

  private final String sql;
  private final Lexemes lexemes;
  private int at;

  private Escapes(String sql, boolean backslashes) {
    this.sql = sql;
    this.lexemes = new Lexemes(sql, backslashes);
  }

  /** The statement without escapes. */
  static String written(String sql, boolean backslashes) throws SQLException {
    return sql.indexOf('{') < 0 ? sql : new Escapes(sql, backslashes).rest();
  }

  private String rest() throws SQLException {
    StringBuilder text = new StringBuilder(sql.length() + 16);
    while (at < sql.length()) {
      one(text);
    }
    return text.toString();
  }

  /** Copies a lexeme, or writes the escape that begins here. */
  private void one(StringBuilder text) throws SQLException {
    int word = sql.charAt(at) == '{' ? pastSpace(at + 1) : sql.length();
    int stop = word < sql.length() && lexemes.isWord(word) ? lexemes.end(word) : word;
    String name = sql.substring(word, stop).toLowerCase(Locale.ROOT);
    if (name.equals("fn")) {
      function(text, stop);
    } else if (WORDS.containsKey(name)) {
      escape(text, stop, WORDS.get(name));
    } else {
      stop = lexemes.end(at);
      text.append(sql, at, stop);
      at = stop;
    }
  }

  private int pastSpace(int from) {
    int next = from;
    while (next < sql.length() && Character.isWhitespace(sql.charAt(next))) {
      next++;
    }
    return next;
  }

  private void escape(StringBuilder text, int content, String instead) throws SQLException {
    at = pastSpace(content);
    text.append(instead);
    while (at < sql.length() && sql.charAt(at) != '}') {
      one(text);
    }
    close();
  }

  private void close() throws SQLException {
    at = pastSpace(at);
    if (at >= sql.length() || sql.charAt(at) != '}') {
      throw SqlErrors.error("42601", "an escape in braces is not closed: " + sql);
    }
    at++;
  }

  private void function(StringBuilder text, int content) throws SQLException {
    int from = pastSpace(content);
    int open = sql.indexOf('(', from);
    String name = open < 0 ? "" : sql.substring(from, open).strip();
    if (name.isEmpty() || name.indexOf('}') >= 0) {
      throw SqlErrors.error(
          "42601", "the escape {fn …} needs a function with its arguments in parentheses: " + sql);
    }
    at = open + 1;
    List<String> arguments = arguments();
    close();
    text.append(EscapedFunctions.call(name, arguments));
  }

  /** Reads arguments up to the parenthesis that closes them, and passes that. */
  private List<String> arguments() throws SQLException {
    List<String> arguments = new ArrayList<>();
    StringBuilder argument = new StringBuilder();
    int depth = 0;
    while (at < sql.length()) {
      char c = sql.charAt(at);
      if (depth == 0 && (c == ')' || c == ',')) {
        at++;
        // The end of its line may be what ends a comment in it.
        arguments.add(argument.toString().stripLeading());
        argument.setLength(0);
        if (c == ')') {
          return arguments.size() == 1 && arguments.get(0).isEmpty() ? List.of() : arguments;
        }
      } else {
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        one(argument);
      }
    }
    throw SqlErrors.error("42601", "a function's parentheses are not closed: " + sql);
  }
}
