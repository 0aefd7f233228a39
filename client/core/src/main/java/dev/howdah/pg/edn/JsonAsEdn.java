package dev.howdah.pg.edn;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes JSON as EDN without making its values: objects as maps with strings for keys, null as nil,
 * numbers and booleans as they are. Of members with one name the last counts, as for jsonb; EDN
 * allows no two.
 *
 * <p>Every byte is read once, and what is open is kept in objects and not on the stack: neither
 * depth nor names that stand twice at every depth make it slow or fail.
 */
public final class JsonAsEdn {
  private final byte[] json;
  private final int end;
  private final WireOutput out;
  private int at;

  /** The innermost array or object that has begun and not ended, or null. */
  private Level level;

  private JsonAsEdn(byte[] json, int start, int end, WireOutput out) {
    this.json = json;
    this.at = start;
    this.end = end;
    this.out = out;
  }

  /**
   * Where the text of an object's member stands in the output, its name and what is between
   * included.
   */
  private record Member(int start, int end) {}

  private static final class Level {
    final Level outer;
    final int start;

    /** The members of an object by name; null for an array. */
    final Map<String, Member> members;

    /** The member that is being written. */
    String name;

    int memberStart;
    boolean doubled;

    Level(Level outer, int start, boolean isObject) {
      this.outer = outer;
      this.start = start;
      this.members = isObject ? new LinkedHashMap<>() : null;
    }

    char last() {
      return members == null ? ']' : '}';
    }
  }

  /** Writes UTF-8 bytes of JSON. */
  public static void write(byte[] json, int offset, int length, WireOutput out) {
    new JsonAsEdn(json, offset, offset + length, out).document();
  }

  private PgException malformed() {
    return new PgException("22P02", "the server sent JSON that is none");
  }

  private void skipSpace() {
    while (at < end && json[at] <= ' ' && json[at] >= 0) {
      at++;
    }
  }

  private byte peek() {
    skipSpace();
    if (at >= end) {
      throw malformed();
    }
    return json[at];
  }

  private boolean take(char c) {
    if (peek() == c) {
      at++;
      return true;
    }
    return false;
  }

  private void expect(char c) {
    if (!take(c)) {
      throw malformed();
    }
  }

  private void document() {
    do {
      boolean ended = value();
      while (ended && level != null) {
        ended = !goesOn();
      }
    } while (level != null);
    skipSpace();
    if (at < end) {
      throw malformed();
    }
  }

  /** Writes a value, or the beginning of one that holds others; returns whether it has ended. */
  private boolean value() {
    byte first = peek();
    if (first == '"') {
      string();
    } else if (first == '{' || first == '[') {
      at++;
      level = new Level(level, out.size(), first == '{');
      out.int1(first);
      if (!take(level.last())) {
        beginMember();
        return false;
      }
      endLevel();
    } else {
      scalar();
    }
    return true;
  }

  /** A number, true, false or null. */
  private void scalar() {
    int start = at;
    while (at < end && isOfScalar(json[at])) {
      at++;
    }
    if (at == start) {
      throw malformed();
    }
    if (json[start] >= 'a') {
      literal(new String(json, start, at - start, StandardCharsets.US_ASCII));
    } else if (isNumber(start, at)) {
      out.bytes(json, start, at - start);
    } else {
      throw malformed();
    }
  }

  /** Whether it is a number of JSON: EDN would have 010 be eight, and - be a name. */
  private boolean isNumber(int from, int to) {
    int start = json[from] == '-' ? from + 1 : from;
    int next = digits(start, to);
    boolean good = next > start && (json[start] != '0' || next == start + 1);
    if (next < to && json[next] == '.') {
      start = next + 1;
      next = digits(start, to);
      good &= next > start;
    }
    if (next < to && (json[next] == 'e' || json[next] == 'E')) {
      start =
          next + 1 < to && (json[next + 1] == '+' || json[next + 1] == '-') ? next + 2 : next + 1;
      next = digits(start, to);
      good &= next > start;
    }
    return good && next == to;
  }

  /** Where digits from a position on end. */
  private int digits(int from, int to) {
    int next = from;
    while (next < to && json[next] >= '0' && json[next] <= '9') {
      next++;
    }
    return next;
  }

  private static boolean isOfScalar(byte b) {
    return b >= '0' && b <= '9'
        || b >= 'a' && b <= 'z'
        || b == '-'
        || b == '+'
        || b == '.'
        || b == 'E';
  }

  private void literal(String name) {
    switch (name) {
      case "null" -> Edn.nothing(out);
      case "true", "false" -> out.text(name);
      default -> throw malformed();
    }
  }

  /** Behind a value inside another: whether one more follows. */
  private boolean goesOn() {
    endMember();
    if (!take(',')) {
      expect(level.last());
      endLevel();
      return false;
    }
    out.text(level.members == null ? " " : ", ");
    beginMember();
    return true;
  }

  private void beginMember() {
    if (level.members == null) {
      return;
    }
    level.memberStart = out.size();
    peek();
    string();
    level.name =
        new String(
            out.array(), level.memberStart, out.size() - level.memberStart, StandardCharsets.UTF_8);
    expect(':');
    out.int1(' ');
  }

  private void endMember() {
    if (level.members != null) {
      level.doubled |=
          level.members.put(level.name, new Member(level.memberStart, out.size())) != null;
    }
  }

  private void endLevel() {
    if (level.doubled) {
      keepLastMembers();
    }
    out.int1(level.last());
    level = level.outer;
  }

  /** Writes the members again of an object in which a name stands twice. */
  private void keepLastMembers() {
    byte[] written = Arrays.copyOfRange(out.array(), level.start, out.size());
    out.truncate(level.start);
    String between = "{";
    for (Member member : level.members.values()) {
      out.text(between);
      out.bytes(written, member.start() - level.start, member.end() - member.start());
      between = ", ";
    }
  }

  private void string() {
    expect('"');
    int start = at;
    boolean escaped = false;
    while (at < end && json[at] != '"') {
      escaped |= json[at] == '\\';
      at += json[at] == '\\' ? 2 : 1;
    }
    if (at >= end) {
      throw malformed();
    }
    if (escaped) {
      Edn.string(unescaped(new String(json, start, at - start, StandardCharsets.UTF_8)), out);
    } else {
      Edn.string(json, start, at - start, out);
    }
    at++;
  }

  private String unescaped(String text) {
    StringBuilder plain = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c != '\\') {
        plain.append(c);
        continue;
      }
      char escape = text.charAt(++i);
      switch (escape) {
        case 'n' -> plain.append('\n');
        case 't' -> plain.append('\t');
        case 'r' -> plain.append('\r');
        case 'b' -> plain.append('\b');
        case 'f' -> plain.append('\f');
        case 'u' -> {
          plain.append(unit(text, i + 1));
          i += 4;
        }
        default -> plain.append(escape);
      }
    }
    return plain.toString();
  }

  /** The unit of UTF-16 that four digits stand for. */
  private char unit(String text, int from) {
    int unit = 0;
    for (int i = from; i < from + 4; i++) {
      int digit = i < text.length() ? Character.digit(text.charAt(i), 16) : -1;
      if (digit < 0) {
        throw malformed();
      }
      unit = unit << 4 | digit;
    }
    return (char) unit;
  }
}
