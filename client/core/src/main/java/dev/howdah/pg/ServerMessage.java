package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** An error or a notice of the server, with every field it sent. */
public final class ServerMessage {
  /** How much of a statement an error shows that has no place in it. */
  private static final int MOST_SHOWN = 500;

  private final Map<Character, String> fields;

  private ServerMessage(Map<Character, String> fields) {
    this.fields = Collections.unmodifiableMap(fields);
  }

  static ServerMessage read(Wire wire) {
    Map<Character, String> fields = new LinkedHashMap<>();
    while (wire.remaining() > 0) {
      int code = wire.int1();
      if (code == 0) {
        break;
      }
      fields.put((char) code, wire.cstring());
    }
    return new ServerMessage(fields);
  }

  /** Every field by its code letter, as the protocol's description lists them. */
  public Map<Character, String> fields() {
    return fields;
  }

  private String field(char code) {
    return fields.get(code);
  }

  /** ERROR, FATAL, PANIC, WARNING, NOTICE, DEBUG, INFO or LOG, never translated. */
  public String severity() {
    String severity = field('V');
    return severity != null ? severity : field('S') != null ? field('S') : "ERROR";
  }

  /** The SQLSTATE. */
  public String sqlState() {
    return field('C') != null ? field('C') : "XX000";
  }

  /** The primary message. */
  public String message() {
    return field('M') != null ? field('M') : "the server gave no message";
  }

  /** More about the problem, or null. */
  public String detail() {
    return field('D');
  }

  /** What to do about it, or null. */
  public String hint() {
    return field('H');
  }

  /** The position in the statement in characters from 1, or 0. */
  public int position() {
    return number('P');
  }

  /** The position in {@link #internalQuery} in characters from 1, or 0. */
  public int internalPosition() {
    return number('p');
  }

  private int number(char code) {
    try {
      return field(code) == null ? 0 : Integer.parseInt(field(code));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** The statement that a function ran, or null. */
  public String internalQuery() {
    return field('q');
  }

  /** The call stack of functions, or null. */
  public String where() {
    return field('W');
  }

  /** The schema's name, or null. */
  public String schema() {
    return field('s');
  }

  /** The table's name, or null. */
  public String table() {
    return field('t');
  }

  /** The column's name, or null. */
  public String column() {
    return field('c');
  }

  /** The type's name, or null. */
  public String dataType() {
    return field('d');
  }

  /** The constraint's name, or null. */
  public String constraint() {
    return field('n');
  }

  /** The source file of the server that reported it, or null. */
  public String file() {
    return field('F');
  }

  /** The line in {@link #file}, or null. */
  public String line() {
    return field('L');
  }

  /** The routine of the server that reported it, or null. */
  public String routine() {
    return field('R');
  }

  /** The message for people: SQLSTATE, position, the statement's line, detail, hint and context. */
  public String describe(String sql) {
    StringBuilder text = new StringBuilder();
    text.append(severity())
        .append(": ")
        .append(message())
        .append(" (SQLSTATE ")
        .append(sqlState())
        .append(')');
    if (position() > 0) {
      appendPlace(text, sql, position());
    } else {
      appendLine(text, "statement", shortened(sql));
    }
    if (internalQuery() != null) {
      text.append("\n  in the query: ").append(internalQuery());
      if (internalPosition() > 0) {
        text.append("\n  there at character ").append(internalPosition());
      }
    }
    appendLine(text, "detail", detail());
    appendLine(text, "hint", hint());
    appendLine(text, "where", where());
    return text.toString();
  }

  private static String shortened(String sql) {
    return sql == null || sql.length() <= MOST_SHOWN ? sql : sql.substring(0, MOST_SHOWN) + "…";
  }

  private static void appendLine(StringBuilder text, String label, String value) {
    if (value != null) {
      text.append("\n  ").append(label).append(": ").append(value);
    }
  }

  private static void appendPlace(StringBuilder text, String sql, int position) {
    text.append(" at character ").append(position);
    // Behind the last character is where a statement that ends too early is wrong.
    if (sql == null || position > sql.codePointCount(0, sql.length()) + 1) {
      return;
    }
    int index = sql.offsetByCodePoints(0, position - 1);
    int start = sql.lastIndexOf('\n', index - 1) + 1;
    int end = sql.indexOf('\n', index);
    long line = sql.substring(0, start).chars().filter(c -> c == '\n').count() + 1;
    text.append(", line ").append(line).append(": ");
    text.append(sql, start, end < 0 ? sql.length() : end);
  }

  @Override
  public String toString() {
    return describe(null);
  }
}
