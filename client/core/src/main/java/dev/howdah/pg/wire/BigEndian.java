package dev.howdah.pg.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers as PostgreSQL sends them, read from and written to byte arrays without a copy. */
public final class BigEndian {
  private static final VarHandle SHORT = view(short[].class);
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);

  private BigEndian() {}

  private static VarHandle view(Class<?> array) {
    return MethodHandles.byteArrayViewVarHandle(array, ByteOrder.BIG_ENDIAN);
  }

  /** The signed 16-bit number at an offset. */
  public static short int2(byte[] bytes, int offset) {
    return (short) SHORT.get(bytes, offset);
  }

  /** The unsigned 16-bit number at an offset. */
  public static int uint2(byte[] bytes, int offset) {
    return int2(bytes, offset) & 0xffff;
  }

  /** The signed 32-bit number at an offset. */
  public static int int4(byte[] bytes, int offset) {
    return (int) INT.get(bytes, offset);
  }

  /** The signed 64-bit number at an offset. */
  public static long int8(byte[] bytes, int offset) {
    return (long) LONG.get(bytes, offset);
  }

  /** Stores a 16-bit number. */
  public static void int2(byte[] bytes, int offset, int value) {
    SHORT.set(bytes, offset, (short) value);
  }

  /** Stores a 32-bit number. */
  public static void int4(byte[] bytes, int offset, int value) {
    INT.set(bytes, offset, value);
  }

  /** Stores a 64-bit number. */
  public static void int8(byte[] bytes, int offset, long value) {
    LONG.set(bytes, offset, value);
  }
}
