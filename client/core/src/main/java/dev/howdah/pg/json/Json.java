package dev.howdah.pg.json;

import dev.howdah.pg.wire.WireOutput;

/** JSON written into a buffer of bytes, as PostgreSQL's to_json writes it. */
public final class Json {
  private static final byte[] HEX =
      "0123456789abcdef".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};

  /**
   * For each byte: 0 if it stands for itself inside a string, else its escape letter, 'u' for the
   * long form.
   */
  private static final byte[] ESCAPES = escapes();

  private Json() {}

  private static byte[] escapes() {
    byte[] escapes = new byte[256];
    for (int i = 0; i < 0x20; i++) {
      escapes[i] = 'u';
    }
    escapes['"'] = '"';
    escapes['\\'] = '\\';
    escapes['\n'] = 'n';
    escapes['\r'] = 'r';
    escapes['\t'] = 't';
    escapes['\b'] = 'b';
    escapes['\f'] = 'f';
    return escapes;
  }

  /** Writes {@code null}. */
  public static void nothing(WireOutput out) {
    out.bytes(NULL);
  }

  /** Writes a string. */
  public static void string(String value, WireOutput out) {
    int start = out.size();
    out.int1('"');
    out.text(value);
    escapeFrom(start + 1, out);
    out.int1('"');
  }

  /** Writes UTF-8 bytes as a string: whole runs that need no escape are copied at once. */
  public static void string(byte[] utf8, int offset, int length, WireOutput out) {
    out.int1('"');
    int end = offset + length;
    int run = offset;
    for (int i = offset; i < end; i++) {
      byte escape = ESCAPES[utf8[i] & 0xff];
      if (escape != 0) {
        out.bytes(utf8, run, i - run);
        escape(utf8[i], escape, out);
        run = i + 1;
      }
    }
    out.bytes(utf8, run, end - run);
    out.int1('"');
  }

  /** Escapes what was written from a position on, if anything there needs it. */
  public static void escapeFrom(int start, WireOutput out) {
    byte[] bytes = out.array();
    int end = out.size();
    for (int i = start; i < end; i++) {
      if (ESCAPES[bytes[i] & 0xff] != 0) {
        byte[] tail = java.util.Arrays.copyOfRange(bytes, i, end);
        out.truncate(i);
        for (byte b : tail) {
          escape(b, ESCAPES[b & 0xff], out);
        }
        return;
      }
    }
  }

  private static void escape(byte value, byte escape, WireOutput out) {
    if (escape == 0) {
      out.int1(value);
      return;
    }
    out.int1('\\');
    out.int1(escape);
    if (escape == 'u') {
      out.int1('0');
      out.int1('0');
      out.int1(HEX[value >> 4]);
      out.int1(HEX[value & 15]);
    }
  }
}
