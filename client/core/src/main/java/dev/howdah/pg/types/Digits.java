package dev.howdah.pg.types;

import dev.howdah.pg.wire.WireOutput;

/** Decimal digits written into a buffer without a String. */
final class Digits {
  private static final byte[] LEAST = "-9223372036854775808".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private Digits() {}

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
    byte[] bytes = out.room(2);
    int at = out.size();
    bytes[at] = (byte) ('0' + value / 10);
    bytes[at + 1] = (byte) ('0' + value % 10);
    out.advance(2);
  }

  /** Writes a point and the digits of millionths, without zeros at the end; nothing for zero. */
  static void fraction(int micros, WireOutput out) {
    if (micros == 0) {
      return;
    }
    byte[] bytes = out.room(7);
    int at = out.size();
    int rest = micros;
    for (int i = 6; i >= 1; i--) {
      bytes[at + i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
    bytes[at] = '.';
    int length = 7;
    while (bytes[at + length - 1] == '0') {
      length--;
    }
    out.advance(length);
  }
}
