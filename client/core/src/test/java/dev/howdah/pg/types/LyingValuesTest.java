package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.howdah.pg.PgException;
import dev.howdah.pg.Samples;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Cells whose bytes lie about what they are: each is read as something, or refused by an error that a user can be shown.
 * Nothing beside the cell is read, and no memory is taken that the bytes do not account for.
 */
class LyingValuesTest {
  private static final int PART = 90_001;
  private static final int HSTORE = 90_002;
  private static final int PARTS = 90_003;
  private static final int HSTORES = 90_004;
  private static final int RECORD = 2249;
  /** What reading one of these cells in every way may take. A numeric of few bytes may truly have 131,072 digits. */
  private static final long MOST_ALLOCATED = 4 << 20;
  private static final long MOST_ALLOCATED_OF_DIGITS = 1 << 30;

  private static final String ODD = "{}[](),:;=>\"\\ -+.0123456789eENaxT\u00e4";

  private static final TypeRegistry REGISTRY = registry();

  private final Random random = new Random(5);
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static TypeRegistry registry() {
    TypeRegistry registry = new TypeRegistry(TypeOptions.NONE);
    registry.learn(List.of(PART, HSTORE, PARTS, HSTORES), List.of(
        new TypeRegistry.Description(PART, "part", 'c', 0, 0, 0, ',', List.of(new TypeRegistry.Attribute("a", 23),
            new TypeRegistry.Attribute("b", 1009), new TypeRegistry.Attribute("c", 1700), new TypeRegistry.Attribute("d", HSTORE))),
        new TypeRegistry.Description(HSTORE, "hstore", 'b', 0, 0, 0, ',', List.of()),
        new TypeRegistry.Description(PARTS, "_part", 'b', PART, 0, 0, ',', List.of()),
        new TypeRegistry.Description(HSTORES, "_hstore", 'b', HSTORE, 0, 0, ',', List.of())));
    return registry;
  }

  /** True values to begin with, as text, by the number of their type. */
  private static Map<Integer, List<String>> samples() {
    Samples samples = new Samples();
    Map<Integer, List<String>> all = new HashMap<>();
    all.put(16, List.of("t", "f"));
    all.put(17, samples.byteas());
    all.put(20, samples.longs(64));
    all.put(21, samples.longs(16));
    all.put(23, samples.longs(32));
    all.put(25, samples.texts());
    all.put(26, samples.unsigned());
    all.put(700, samples.floats());
    all.put(701, samples.doubles());
    all.put(1700, samples.numerics());
    all.put(114, samples.jsons());
    all.put(3802, samples.jsons());
    all.put(1082, List.of("2024-02-29", "infinity", "0044-03-15 BC"));
    all.put(1083, samples.times());
    all.put(1266, List.of("12:00:00+01", "24:00:00-15:59"));
    all.put(1114, List.of("2024-01-01 10:00:00.5", "infinity", "0044-03-15 00:00:00 BC"));
    all.put(1184, List.of("2024-01-01 10:00:00.5+00", "-infinity", "2024-01-01 10:00:00+05:30"));
    all.put(1186, List.of("1 year 2 mons -3 days +04:05:06.7", "00:00:00", "-178000000 years"));
    all.put(2950, samples.uuids());
    all.put(869, List.of("10.0.0.1/8", "::1", "fe80::1:0:0:1"));
    all.put(829, List.of("08:00:2b:01:02:03"));
    all.put(1562, samples.bits());
    all.put(5069, List.of("1"));
    all.put(3904, List.of("empty", "[1,10)", "(,5)", "(,)"));
    all.put(3906, List.of("[1.5,2.50]", "(0.1,]"));
    all.put(3910, List.of("[\"2024-01-01 00:00:00+00\",\"2024-01-02 00:00:00+00\")"));
    all.put(4451, List.of("{}", "{[1,3),[5,7)}"));
    all.put(600, List.of("(1,2)"));
    all.put(602, List.of("((1,2),(3,4))", "[(1,2)]"));
    all.put(604, List.of("((1,2),(3,4),(5,6))"));
    all.put(718, List.of("<(1,2),3>"));
    all.put(1007, List.of("{}", "{1,2,NULL}", "{{1,2},{3,4}}", "[2:3]={7,8}", "[0:1][-1:0]={{1,2},{3,NULL}}"));
    all.put(1009, List.of("{a,\"b c\",NULL,\"\",\"\\\"\"}", "{{a,b},{\",\",d}}"));
    all.put(1231, List.of("{1.50,NaN,-0.001}"));
    all.put(3905, List.of("{\"[1,3)\",empty,NULL}"));
    all.put(HSTORE, List.of("", "\"a\"=>\"1\", \"b\"=>NULL"));
    all.put(HSTORES, List.of("{\"\\\"a\\\"=>\\\"1\\\"\",NULL}"));
    all.put(PART, List.of("(1,\"{x,NULL}\",2.5,\"\"\"a\"\"=>\"\"1\"\"\")", "(,,,)"));
    all.put(PARTS, List.of("{\"(1,{x},2.5,)\",NULL,\"(,,,)\"}"));
    return all;
  }

  @TestFactory
  List<DynamicTest> bytesThatLieAreReadOrRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    samples().forEach((oid, values) -> {
      Codec codec = REGISTRY.codec(oid);
      tests.add(DynamicTest.dynamicTest(codec.name(), () -> {
        for (int i = 0; i < tries(codec); i++) {
          WireOutput out = new WireOutput(64);
          codec.encode(codec.parse(values.get(random.nextInt(values.size()))), out);
          read(codec, lying(out.toByteArray()));
        }
      }));
    });
    Codec record = REGISTRY.codec(RECORD);
    Codec part = REGISTRY.codec(PART);
    tests.add(DynamicTest.dynamicTest("record", () -> {
      for (int i = 0; i < tries(record); i++) {
        WireOutput out = new WireOutput(64);
        part.encode(part.parse(samples().get(PART).get(0)), out);
        read(record, lying(out.toByteArray()));
      }
    }));
    return tests;
  }

  @TestFactory
  List<DynamicTest> textThatLiesIsReadOrRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    samples().forEach((oid, values) -> {
      Codec codec = TypeRegistry.asText(REGISTRY.codec(oid));
      tests.add(DynamicTest.dynamicTest(codec.name(), () -> {
        read(codec, new byte[0]);
        for (int i = 0; i < tries(codec); i++) {
          String text = lying(values.get(random.nextInt(values.size())));
          read(codec, text.getBytes(StandardCharsets.UTF_8));
        }
      }));
    });
    return tests;
  }

  /** Records that hold records, as deep as a message is long. */
  @TestFactory
  List<DynamicTest> recordsWithoutEndInsideEachOtherAreRefused() {
    int depth = 1_000_000;
    WireOutput out = new WireOutput(12 * depth);
    for (int left = depth; left > 0; left--) {
      out.int4(1);
      out.int4(RECORD);
      out.int4(12 * (left - 1));
    }
    byte[] nested = out.toByteArray();
    Codec record = REGISTRY.codec(RECORD);
    return List.of(
        DynamicTest.dynamicTest("decoded", () -> assertTrue(tried(() -> record.decode(nested, 0, nested.length)) instanceof PgException)),
        DynamicTest.dynamicTest("as text", () -> assertTrue(tried(() -> record.string(nested, 0, nested.length)) instanceof PgException)),
        DynamicTest.dynamicTest("as JSON", () -> assertTrue(tried(() -> {
          record.json(nested, 0, nested.length, new WireOutput(64));
          return null;
        }) instanceof PgException)));
  }

  private static boolean hasDigits(Codec codec) {
    return List.of(1700, 3906, 1231, PART, PARTS, RECORD).stream().anyMatch(oid -> codec.name().equals(REGISTRY.codec(oid).name()));
  }

  private static int tries(Codec codec) {
    return hasDigits(codec) ? 60 : 300;
  }

  private byte[] lying(byte[] truth) {
    byte[] bytes = Arrays.copyOf(truth, random.nextInt(4) == 0 ? random.nextInt(truth.length + 9) : truth.length);
    for (int changes = random.nextInt(3); changes >= 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      if (random.nextBoolean() && at + 4 <= bytes.length) {
        int[] lies = {-1, -2, 0, 1, 2, 6, 7, 1 << 16, 1 << 24, Integer.MAX_VALUE, Integer.MIN_VALUE, bytes.length, RECORD};
        BigEndian.int4(bytes, at / 4 * 4 == at || random.nextBoolean() ? at : at / 4 * 4, lies[random.nextInt(lies.length)]);
      } else {
        bytes[at] = (byte) random.nextInt();
      }
    }
    return bytes;
  }

  private String lying(String truth) {
    StringBuilder text = new StringBuilder(truth);
    for (int changes = random.nextInt(4); changes >= 0; changes--) {
      int at = random.nextInt(text.length() + 1);
      char odd = ODD.charAt(random.nextInt(ODD.length()));
      switch (random.nextInt(4)) {
        case 0 -> text.insert(at, odd);
        case 1 -> text.setLength(at);
        case 2 -> text.replace(at, Math.min(text.length(), at + 1), "" + odd);
        default -> text.replace(at, Math.min(text.length(), at + 3), "");
      }
    }
    return text.toString();
  }

  private static Object tried(Supplier<Object> work) {
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

  /** Reads a cell in every way, between other bytes of two kinds: what it is must not depend on them. */
  private void read(Codec codec, byte[] cell) {
    Supplier<String> message = () -> codec + " of " + Arrays.toString(cell) + " " + new String(cell, StandardCharsets.UTF_8);
    long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    try {
      List<String> seen = everyWay(codec, cell, (byte) 0);
      assertEquals(seen, everyWay(codec, cell, (byte) -1), message);
      assertFalse(seen.isEmpty());
    } catch (RuntimeException | StackOverflowError e) {
      throw new AssertionError(message.get(), e);
    }
    long allocated = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    boolean digits = hasDigits(codec);
    assertTrue(allocated < (digits ? MOST_ALLOCATED_OF_DIGITS : MOST_ALLOCATED), () -> allocated + " bytes for " + message.get());
  }

  private static List<String> everyWay(Codec codec, byte[] cell, byte around) {
    byte[] bytes = new byte[cell.length + 16];
    Arrays.fill(bytes, around);
    System.arraycopy(cell, 0, bytes, 8, cell.length);
    int length = cell.length;
    List<Supplier<Object>> ways = List.of(() -> codec.decode(bytes, 8, length), () -> codec.string(bytes, 8, length),
        () -> codec.int8(bytes, 8, length), () -> codec.float8(bytes, 8, length), () -> codec.bool(bytes, 8, length),
        () -> codec.micros(bytes, 8, length), () -> written(out -> codec.json(bytes, 8, length, out)),
        () -> written(out -> codec.edn(bytes, 8, length, out)), () -> written(out -> codec.text(bytes, 8, length, out)));
    return ways.stream().map(way -> shown(tried(way))).toList();
  }

  private static String written(java.util.function.Consumer<WireOutput> writer) {
    WireOutput out = new WireOutput(64);
    writer.accept(out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }
}
