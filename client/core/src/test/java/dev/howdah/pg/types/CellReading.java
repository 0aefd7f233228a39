package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Reads a cell in every way that a codec has, and looks at what that takes. */
public final class CellReading {
  /**
   * What reading one of these cells in every way may take. A numeric of few bytes may truly have
   * 131,072 digits.
   */
  private static final long MOST_ALLOCATED = 4 << 20;

  private static final long MOST_ALLOCATED_OF_DIGITS = 1 << 30;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private CellReading() {}

  /** What a way of reading returns, or the error that a user can be shown. */
  static Object tried(Supplier<Object> work) {
    try {
      Object value = work.get();
      return value instanceof byte[] bytes ? Arrays.toString(bytes) : value;
    } catch (PgException e) {
      return e;
    }
  }

  private static String shown(Object result) {
    return result instanceof PgException error ? error.getMessage() : String.valueOf(result);
  }

  /**
   * Reads a cell in every way, between other bytes of two kinds: what it is must not depend on
   * them.
   */
  public static void of(Codec codec, byte[] cell) {
    Supplier<String> message =
        () ->
            codec + " of " + Arrays.toString(cell) + " " + new String(cell, StandardCharsets.UTF_8);
    try {
      List<String> seen = everyWay(codec, cell, (byte) 0);
      assertEquals(seen, everyWay(codec, cell, (byte) -1), message);
      assertFalse(seen.isEmpty());
      agrees(codec, cell, message);
    } catch (RuntimeException | StackOverflowError e) {
      throw new AssertionError(message.get(), e);
    }
    boolean digits = TypeSamples.hasDigits(codec);
    long most = digits ? MOST_ALLOCATED_OF_DIGITS : MOST_ALLOCATED;
    // What the first reading takes may be for classes, which are loaded meanwhile.
    assertTrue(
        allocated(codec, cell) < most || allocated(codec, cell) < most,
        () -> "more than " + most + " bytes for " + message.get());
  }

  /**
   * A cell that is refused in one way is refused in every other. The text format is as text what it
   * is, whatever that is.
   */
  private static void agrees(Codec codec, byte[] cell, Supplier<String> message) {
    boolean read = reads(() -> codec.decode(cell, 0, cell.length));
    boolean json = reads(() -> written(out -> codec.json(cell, 0, cell.length, out)));
    boolean edn = reads(() -> written(out -> codec.edn(cell, 0, cell.length, out)));
    if (codec.binary()) {
      boolean text = reads(() -> codec.string(cell, 0, cell.length));
      assertEquals(read, json, message);
      // What is written as EDN is looked into even where it is JSON, and text grows with every
      // composite around it.
      assertTrue(read ? edn || mayHoldJson(codec) : !edn, message);
      assertTrue(read ? text || mayHoldJson(codec) : !text, message);
    } else {
      assertTrue(json || !read, message);
      assertTrue(edn || !read || mayHoldJson(codec), message);
    }
  }

  private static boolean mayHoldJson(Codec codec) {
    return Set.of("json", "jsonb", "record", "part", "_part").contains(codec.name());
  }

  private static boolean reads(Supplier<Object> way) {
    return !(tried(way) instanceof PgException);
  }

  private static long allocated(Codec codec, byte[] cell) {
    long thread = Thread.currentThread().getId();
    long before = THREADS.getThreadAllocatedBytes(thread);
    everyWay(codec, cell, (byte) 0);
    return THREADS.getThreadAllocatedBytes(thread) - before;
  }

  private static List<String> everyWay(Codec codec, byte[] cell, byte around) {
    byte[] bytes = new byte[cell.length + 16];
    Arrays.fill(bytes, around);
    System.arraycopy(cell, 0, bytes, 8, cell.length);
    int length = cell.length;
    List<Supplier<Object>> ways =
        List.of(
            () -> codec.decode(bytes, 8, length),
            () -> codec.string(bytes, 8, length),
            () -> codec.int8(bytes, 8, length),
            () -> codec.float8(bytes, 8, length),
            () -> codec.bool(bytes, 8, length),
            () -> codec.micros(bytes, 8, length),
            () -> written(out -> codec.json(bytes, 8, length, out)),
            () -> written(out -> codec.edn(bytes, 8, length, out)),
            () -> written(out -> codec.text(bytes, 8, length, out)));
    return ways.stream().map(way -> shown(tried(way))).toList();
  }

  private static String written(Consumer<WireOutput> writer) {
    WireOutput out = new WireOutput(64);
    writer.accept(out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }
}
