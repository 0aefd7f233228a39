package dev.howdah.pg.types;

import dev.howdah.pg.wire.WireOutput;

/** Decimal digits written into a buffer without a String. */
final class Digits {
  private static final byte[] LEAST =
      "-9223372036854775808".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private Digits() {}

  /** The text of a number, unless it has digits of other scripts, which Java would read. */
  static String ascii(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > '~') {
        throw new NumberFormatException();
      }
    }
    return text;
  }

  /** Writes a whole number. */
  static void write(long value, WireOutput out) {
    if (value == Long.MIN_VALUE) {
      out.bytes(LEAST);
      return;
    }
    byte[] bytes = out.room(20);
    int at = out.size();
    long rest = value;
    if (rest < 0) {
      bytes[at++] = '-';
      rest = -rest;
    }
    int end = at + count(rest);
    int i = end;
    while (rest > Integer.MAX_VALUE) {
      long next = rest / 10;
      bytes[--i] = (byte) ('0' + (rest - next * 10));
      rest = next;
    }
    int small = (int) rest;
    do {
      int next = small / 10;
      bytes[--i] = (byte) ('0' + (small - next * 10));
      small = next;
    } while (small != 0);
    out.advance(end - out.size());
  }

  private static int count(long value) {
    int count = 1;
    long limit = 10;
    while (count < 19 && value >= limit) {
      count++;
      limit *= 10;
    }
    return count;
  }

  /** Writes a number from 0 with at least so many digits, zeros in front. */
  static void padded(long value, int width, WireOutput out) {
    for (int digits = count(value); digits < width; digits++) {
      out.int1('0');
    }
    write(value, out);
  }

  /** Writes a number from 0 to 99 with two digits. */
  static void two(int value, WireOutput out) {
    two(value, out.room(2), out.size());
    out.advance(2);
  }

  /** Stores a number from 0 to 99 as two digits at a position. */
  static void two(int value, byte[] bytes, int at) {
    // A division by ten, exact for so small a number.
    int tens = value * 103 >> 10;
    bytes[at] = (byte) ('0' + tens);
    bytes[at + 1] = (byte) ('0' + value - tens * 10);
  }

  /** Writes a point and the digits of millionths, without zeros at the end; nothing for zero. */
  static void fraction(int micros, WireOutput out) {
    if (micros == 0) {
      return;
    }
    byte[] bytes = out.room(7);
    int at = out.size();
    int hundreds = micros / 100;
    int tenThousands = hundreds / 100;
    bytes[at] = '.';
    two(tenThousands, bytes, at + 1);
    two(hundreds - tenThousands * 100, bytes, at + 3);
    two(micros - hundreds * 100, bytes, at + 5);
    int length = 7;
    while (bytes[at + length - 1] == '0') {
      length--;
    }
    out.advance(length);
  }
}
