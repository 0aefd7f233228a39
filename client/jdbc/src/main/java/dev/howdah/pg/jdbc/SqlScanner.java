package dev.howdah.pg.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Finds the placeholders of a statement, and what else JDBC must know of it: how many statements there are,
 * of which kind the first is, whether it returns rows by itself.
 *
 * <p>It knows of SQL what can hide a question mark or a semicolon: strings, strings with escapes, dollar
 * quotes, quoted identifiers, comments, which nest. Two question marks are one that is part of an operator.
 */
final class SqlScanner {
  private static final Set<String> KINDS =
      Set.of("select", "values", "table", "insert", "update", "delete", "merge");

  private final String sql;
  private final boolean backslashes;
  private final List<String> fragments = new ArrayList<>();
  private final List<ParsedSql.Place> places = new ArrayList<>();
  private final StringBuilder fragment = new StringBuilder();
  private int at;
  private int depth;
  private int statements;
  private boolean inStatement;
  private String first;
  private String kind;
  private boolean returning;
  /** Where, in the last fragment, what the first statement consists of ends. */
  private int end;

  /**
   * A scanner.
   *
   * @param backslashes whether a backslash escapes in every string, as it does with standard_conforming_strings off
   */
  SqlScanner(String sql, boolean backslashes) {
    this.sql = sql;
    this.backslashes = backslashes;
  }

  ParsedSql scan() {
    while (at < sql.length()) {
      step(sql.charAt(at));
    }
    fragments.add(fragment.toString());
    return new ParsedSql(List.copyOf(fragments), List.copyOf(places), statements, kind == null ? first : kind, returning, end);
  }

  private void step(char c) {
    if (Character.isWhitespace(c)) {
      take(1);
    } else if (sql.startsWith("--", at)) {
      take(lineEnd() - at);
    } else if (sql.startsWith("/*", at)) {
      take(commentEnd() - at);
    } else if (c == ';' && depth == 0) {
      inStatement = false;
      take(1);
    } else {
      token(c);
    }
  }

  /** Copies characters of the statement into the fragment. */
  private void take(int count) {
    fragment.append(sql, at, at + count);
    at += count;
  }

  private void token(char c) {
    if (!inStatement) {
      inStatement = true;
      statements++;
    }
    if (c == '\'') {
      take(stringEnd(at + 1, backslashes) - at);
    } else if (c == '"') {
      take(closing('"', at + 1) - at);
    } else if (c == '$') {
      take(dollarEnd() - at);
    } else if (c == '?') {
      questionMark();
    } else if (isIdentifierPart(c)) {
      word();
    } else {
      depth = Math.max(0, depth + (c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0));
      take(1);
    }
    if (statements == 1) {
      end = fragment.length();
    }
  }

  private void questionMark() {
    if (sql.startsWith("??", at)) {
      fragment.append('?');
      at += 2;
      return;
    }
    at++;
    fragments.add(fragment.toString());
    fragment.setLength(0);
    places.add(place());
  }

  /** What stands behind the placeholder that was just passed. */
  private ParsedSql.Place place() {
    int next = at;
    while (next < sql.length() && Character.isWhitespace(sql.charAt(next))) {
      next++;
    }
    boolean cast = sql.startsWith("::", next);
    boolean indirection = next < sql.length() && (sql.charAt(next) == '[' || sql.charAt(next) == '.');
    boolean nullTest = sql.substring(next, Math.min(sql.length(), next + 80)).toLowerCase(Locale.ROOT)
        .matches("(?s)is\\s+(not\\s+)?null(?![a-z0-9_$]).*|isnull(?![a-z0-9_$]).*|notnull(?![a-z0-9_$]).*");
    return new ParsedSql.Place(cast, indirection, nullTest);
  }

  private void word() {
    int stop = at;
    while (stop < sql.length() && isIdentifierPart(sql.charAt(stop))) {
      stop++;
    }
    String word = sql.substring(at, stop);
    if (word.equalsIgnoreCase("e") && stop < sql.length() && sql.charAt(stop) == '\'') {
      take(stringEnd(stop + 1, true) - at);
      return;
    }
    if (statements == 1 && depth == 0) {
      keyword(word.toLowerCase(Locale.ROOT));
    }
    take(stop - at);
  }

  private void keyword(String word) {
    if (first == null) {
      first = word;
    }
    if (kind == null && KINDS.contains(word) && (word.equals(first) || first.equals("with"))) {
      kind = word;
    }
    returning |= word.equals("returning");
  }

  private static boolean isIdentifierPart(char c) {
    return c == '_' || c == '$' || c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private int lineEnd() {
    int stop = at;
    while (stop < sql.length() && sql.charAt(stop) != '\n' && sql.charAt(stop) != '\r') {
      stop++;
    }
    return stop;
  }

  private int commentEnd() {
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

  /** Behind the next quote of a kind. A doubled one ends one string and begins the next, which comes to the same. */
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

  /** Where a string goes on: at once, behind a doubled quote, or behind white space with a line's end in it. */
  private int continuation(int from) {
    int next = from;
    boolean line = false;
    while (next < sql.length() && Character.isWhitespace(sql.charAt(next))) {
      line |= sql.charAt(next) == '\n' || sql.charAt(next) == '\r';
      next++;
    }
    boolean quote = next < sql.length() && sql.charAt(next) == '\'';
    return quote && (line || next == from) ? next + 1 : -1;
  }

  /** Behind a dollar-quoted string, or behind the dollar sign if none begins here, as with $1. */
  private int dollarEnd() {
    int next = at + 1;
    while (next < sql.length() && sql.charAt(next) != '$' && isIdentifierPart(sql.charAt(next))
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
