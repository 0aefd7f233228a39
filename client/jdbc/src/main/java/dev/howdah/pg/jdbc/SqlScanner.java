package dev.howdah.pg.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Finds the placeholders of a statement, and what else JDBC must know of it: how many statements
 * there are, of which kind the first is, whether it returns rows by itself.
 *
 * <p>What can hide a question mark or a semicolon is known by {@link Lexemes}. Two question marks
 * are one that is part of an operator.
 */
final class SqlScanner {
  private static final Set<String> KINDS =
      Set.of("select", "values", "table", "insert", "update", "delete", "merge");

  private final String sql;
  private final Lexemes lexemes;
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
   * @param backslashes whether a backslash escapes in every string, as it does with
   *     standard_conforming_strings off
   */
  SqlScanner(String sql, boolean backslashes) {
    this.sql = sql;
    this.lexemes = new Lexemes(sql, backslashes);
  }

  ParsedSql scan() {
    while (at < sql.length()) {
      step(sql.charAt(at));
    }
    fragments.add(fragment.toString());
    return new ParsedSql(
        List.copyOf(fragments),
        List.copyOf(places),
        statements,
        kind == null ? first : kind,
        returning,
        end);
  }

  private void step(char c) {
    if (Lexemes.isSpace(c)) {
      take(1);
    } else if (lexemes.isComment(at)) {
      take(lexemes.end(at) - at);
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
    if (c == '?') {
      questionMark();
    } else {
      depth = Math.max(0, depth + (c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0));
      int stop = lexemes.end(at);
      if (statements == 1 && depth == 0 && lexemes.isWord(at)) {
        keyword(sql.substring(at, stop).toLowerCase(Locale.ROOT));
      }
      take(stop - at);
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
    while (next < sql.length() && Lexemes.isSpace(sql.charAt(next))) {
      next++;
    }
    boolean cast = sql.startsWith("::", next);
    boolean indirection =
        next < sql.length() && (sql.charAt(next) == '[' || sql.charAt(next) == '.');
    boolean nullTest =
        sql.substring(next, Math.min(sql.length(), next + 80))
            .toLowerCase(Locale.ROOT)
            .matches(
                "(?s)is\\s+(not\\s+)?null(?![a-z0-9_$]).*|isnull(?![a-z0-9_$]).*|notnull(?![a-z0-9_$]).*");
    return new ParsedSql.Place(cast, indirection, nullTest);
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
}
