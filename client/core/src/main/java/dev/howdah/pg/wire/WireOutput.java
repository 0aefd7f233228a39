package dev.howdah.pg.wire;

import dev.howdah.pg.PgException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/**
 * A growing buffer of bytes to send: messages, parameter values, JSON.
 *
 * <p>Lengths that are known only afterwards are reserved first ({@link #reserveInt4}) and stored
 * when the end is reached ({@link #storeLength}). Not safe between threads.
 */
public final class WireOutput {
  /**
   * A buffer that grew beyond this is given up on {@link #clear}, so that one large value is not
   * kept.
   */
  private static final int KEPT = 1 << 16;

  private byte[] bytes;
  private int size;

  /** A buffer with room for the given number of bytes before it grows. */
  public WireOutput(int capacity) {
    bytes = new byte[capacity];
  }

  /** The bytes written so far; valid up to {@link #size} and until the next write. */
  public byte[] array() {
    return bytes;
  }

  /** How many bytes were written. */
  public int size() {
    return size;
  }

  /** Forgets what was written. */
  public void clear() {
    size = 0;
    if (bytes.length > KEPT) {
      bytes = new byte[KEPT];
    }
  }

  /**
   * Forgets everything from a position on: the way back out of a message that could not be
   * completed.
   */
  public void truncate(int position) {
    size = position;
  }

  /** A copy of what was written. */
  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  /** Makes room for that many more bytes; the room begins at {@link #size}. */
  public byte[] room(int more) {
    int needed = Math.addExact(size, more);
    if (needed > bytes.length) {
      bytes =
          Arrays.copyOf(
              bytes, Math.max(needed, (int) Math.min(Integer.MAX_VALUE - 16, bytes.length * 2L)));
    }
    return bytes;
  }

  /** Counts bytes that were stored into {@link #room} directly. */
  public void advance(int count) {
    size += count;
  }

  /** Writes one byte. */
  public void int1(int value) {
    room(1);
    bytes[size++] = (byte) value;
  }

  /** Writes a 16-bit number. */
  public void int2(int value) {
    BigEndian.int2(room(2), size, value);
    size += 2;
  }

  /** Writes a 32-bit number. */
  public void int4(int value) {
    BigEndian.int4(room(4), size, value);
    size += 4;
  }

  /** Writes a 64-bit number. */
  public void int8(long value) {
    BigEndian.int8(room(8), size, value);
    size += 8;
  }

  /** Writes bytes. */
  public void bytes(byte[] source) {
    bytes(source, 0, source.length);
  }

  /** Writes a part of an array. */
  public void bytes(byte[] source, int offset, int length) {
    System.arraycopy(source, offset, room(length), size, length);
    size += length;
  }

  /** Writes text as UTF-8, without a terminator. */
  public void text(String value) {
    int length = value.length();
    byte[] target = room(length);
    int at = size;
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (c >= 0x80) {
        refuseHalves(value, i);
        bytes(value.getBytes(StandardCharsets.UTF_8));
        return;
      }
      target[at + i] = (byte) c;
    }
    size += length;
  }

  /** Java would write a question mark for half of a surrogate pair. */
  private static void refuseHalves(String value, int start) {
    int length = value.length();
    for (int i = start; i < length; i++) {
      char c = value.charAt(i);
      if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
        if (c > Character.MAX_HIGH_SURROGATE
            || i + 1 == length
            || !Character.isLowSurrogate(value.charAt(i + 1))) {
          throw new PgException(
              "22021",
              "the text has half of a surrogate pair, U+"
                  + Integer.toHexString(c).toUpperCase(Locale.ROOT)
                  + ", as its character "
                  + i
                  + ", which is no text and cannot be sent");
        }
        i++;
      }
    }
  }

  /** Writes text and a zero byte, as names and SQL are sent. A zero inside the text is refused. */
  public void cstring(String value) {
    if (value.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "a zero character cannot be sent to PostgreSQL in SQL text or a name");
    }
    text(value);
    int1(0);
  }

  /** Reserves a 32-bit number and returns its position. */
  public int reserveInt4() {
    int position = size;
    int4(0);
    return position;
  }

  /** Stores, at a reserved position, how many bytes follow it: the length before a value. */
  public void storeLength(int position) {
    BigEndian.int4(bytes, position, size - position - 4);
  }

  /** Begins a message of the given type; give the result to {@link #end}. */
  public int begin(char type) {
    int1(type);
    return reserveInt4();
  }

  /** Ends a message: its length counts itself. */
  public void end(int position) {
    BigEndian.int4(bytes, position, size - position);
  }

  /** Writes a message that has no body. */
  public void message(char type) {
    int1(type);
    int4(4);
  }
}
