package dev.howdah.pg.edn;

import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** EDN, Clojure's notation of data, written into a buffer of bytes. */
public final class Edn {
  /** Names that a reader takes for a keyword, whichever reader it is. */
  private static final Pattern KEYWORD =
      Pattern.compile("[\\p{L}*!_?$%&=<>][\\p{L}\\p{N}*!_?$%&=<>+.#'-]*");

  private Edn() {}

  /** Writes {@code nil}. */
  public static void nothing(WireOutput out) {
    out.text("nil");
  }

  /** Writes a name as a keyword, or as a string if it cannot be one. */
  public static void label(String name, WireOutput out) {
    if (KEYWORD.matcher(name).matches()) {
      out.int1(':');
      out.text(name);
    } else {
      string(name, out);
    }
  }

  /** Writes a string. */
  public static void string(String value, WireOutput out) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    string(utf8, 0, utf8.length, out);
  }

  /** Writes UTF-8 bytes as a string: whole runs that need no escape are copied at once. */
  public static void string(byte[] utf8, int offset, int length, WireOutput out) {
    out.int1('"');
    contents(utf8, offset, length, out);
    out.int1('"');
  }

  /** Writes what stands between a string's quotes. */
  static void contents(byte[] utf8, int offset, int length, WireOutput out) {
    int end = offset + length;
    int run = offset;
    for (int i = offset; i < end; i++) {
      byte escape = escape(utf8[i]);
      if (escape != 0) {
        out.bytes(utf8, run, i - run);
        out.int1('\\');
        out.int1(escape);
        run = i + 1;
      }
    }
    out.bytes(utf8, run, end - run);
  }

  private static byte escape(byte value) {
    return switch (value) {
      case '"', '\\' -> value;
      case '\n' -> 'n';
      case '\r' -> 'r';
      case '\t' -> 't';
      default -> 0;
    };
  }
}
