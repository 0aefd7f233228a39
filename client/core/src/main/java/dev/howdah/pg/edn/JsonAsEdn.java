package dev.howdah.pg.edn;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Writes JSON as EDN without making its values: objects as maps with strings for keys, null as nil, numbers
 * and booleans as they are. Of members with one name the last counts, as for jsonb; EDN allows no two.
 */
public final class JsonAsEdn {
  private final byte[] json;
  private final int end;
  private final WireOutput out;
  private int at;

  private JsonAsEdn(byte[] json, int start, int end, WireOutput out) {
    this.json = json;
    this.at = start;
    this.end = end;
    this.out = out;
  }

  /** Writes UTF-8 bytes of JSON. */
  public static void write(byte[] json, int offset, int length, WireOutput out) {
    new JsonAsEdn(json, offset, offset + length, out).value();
  }

  private PgException malformed() {
    return new PgException("22P02", "the server sent JSON that is none");
  }

  private byte peek() {
    while (at < end && json[at] <= ' ' && json[at] >= 0) {
      at++;
    }
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

  private void value() {
    switch (peek()) {
      case '{' -> object();
      case '[' -> array();
      case '"' -> string();
      case 'n' -> {
        at += 4;
        Edn.nothing(out);
      }
      default -> scalar();
    }
  }

  /** A number, true or false. */
  private void scalar() {
    int start = at;
    while (at < end && json[at] > ' ' && json[at] != ',' && json[at] != ']' && json[at] != '}') {
      at++;
    }
    if (at == start) {
      throw malformed();
    }
    out.bytes(json, start, at - start);
  }

  private void array() {
    at++;
    out.int1('[');
    for (boolean first = true; !take(']'); first = false) {
      if (!first) {
        if (!take(',')) {
          throw malformed();
        }
        out.int1(' ');
      }
      value();
    }
    out.int1(']');
  }

  private void object() {
    int start = out.size();
    int open = at;
    Set<String> names = new HashSet<>();
    at++;
    out.int1('{');
    for (boolean first = true; !take('}'); first = false) {
      if (!first) {
        if (!take(',')) {
          throw malformed();
        }
        out.text(", ");
      }
      int label = out.size();
      string();
      if (!names.add(new String(out.array(), label, out.size() - label, StandardCharsets.UTF_8))) {
        at = open;
        out.truncate(start);
        objectOfLastMembers();
        return;
      }
      colon();
      value();
    }
    out.int1('}');
  }

  private void colon() {
    if (!take(':')) {
      throw malformed();
    }
    out.int1(' ');
  }

  /** An object in which a name stands twice; its members are collected first. */
  private void objectOfLastMembers() {
    Map<String, String> members = new LinkedHashMap<>();
    int start = out.size();
    at++;
    while (!take('}')) {
      take(',');
      string();
      String name = taken(start);
      colon();
      out.truncate(start);
      value();
      members.put(name, taken(start));
    }
    String between = "{";
    for (Map.Entry<String, String> member : members.entrySet()) {
      out.text(between + member.getKey() + ' ' + member.getValue());
      between = ", ";
    }
    out.int1('}');
  }

  private String taken(int start) {
    String text = new String(out.array(), start, out.size() - start, StandardCharsets.UTF_8);
    out.truncate(start);
    return text;
  }

  private void string() {
    if (!take('"')) {
      throw malformed();
    }
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
          if (i + 5 > text.length()) {
            throw malformed();
          }
          plain.append((char) Integer.parseInt(text, i + 1, i + 5, 16));
          i += 4;
        }
        default -> plain.append(escape);
      }
    }
    return plain.toString();
  }
}
