package dev.howdah.pg.types;

import dev.howdah.pg.Samples;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Codecs of every kind, types of a database's own among them, and true values of each type as text.
 */
public final class TypeSamples {
  static final int PART = 90_001;
  static final int HSTORE = 90_002;
  static final int PARTS = 90_003;
  static final int HSTORES = 90_004;
  static final int RECORD = 2249;

  private static final TypeRegistry REGISTRY = registry();

  private TypeSamples() {}

  /** Codecs of the built-in types and of four others. */
  public static TypeRegistry registry() {
    TypeRegistry registry = new TypeRegistry(TypeOptions.NONE);
    registry.learn(
        List.of(PART, HSTORE, PARTS, HSTORES),
        List.of(
            new TypeRegistry.Description(
                PART,
                "part",
                'c',
                0,
                0,
                0,
                ',',
                List.of(
                    new TypeRegistry.Attribute("a", 23),
                    new TypeRegistry.Attribute("b", 1009),
                    new TypeRegistry.Attribute("c", 1700),
                    new TypeRegistry.Attribute("d", HSTORE))),
            new TypeRegistry.Description(HSTORE, "hstore", 'b', 0, 0, 0, ',', List.of()),
            new TypeRegistry.Description(PARTS, "_part", 'b', PART, 0, 0, ',', List.of()),
            new TypeRegistry.Description(HSTORES, "_hstore", 'b', HSTORE, 0, 0, ',', List.of())));
    return registry;
  }

  /** True values as text, by the number of their type. */
  public static Map<Integer, List<String>> texts() {
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
    all.put(
        1007,
        List.of(
            "{}", "{1,2,NULL}", "{{1,2},{3,4}}", "[2:3]={7,8}", "[0:1][-1:0]={{1,2},{3,NULL}}"));
    all.put(1009, List.of("{a,\"b c\",NULL,\"\",\"\\\"\"}", "{{a,b},{\",\",d}}"));
    all.put(1231, List.of("{1.50,NaN,-0.001}"));
    all.put(3905, List.of("{\"[1,3)\",empty,NULL}"));
    all.put(HSTORE, List.of("", "\"a\"=>\"1\", \"b\"=>NULL"));
    all.put(HSTORES, List.of("{\"\\\"a\\\"=>\\\"1\\\"\",NULL}"));
    all.put(PART, List.of("(1,\"{x,NULL}\",2.5,\"\"\"a\"\"=>\"\"1\"\"\")", "(,,,)"));
    all.put(PARTS, List.of("{\"(1,{x},2.5,)\",NULL,\"(,,,)\"}"));
    return all;
  }

  /** Whether a value may hold a numeric, which is long as text though it has few bytes. */
  static boolean hasDigits(Codec codec) {
    return List.of(1700, 3906, 1231, PART, PARTS, RECORD).stream()
        .anyMatch(oid -> codec.name().equals(REGISTRY.codec(oid).name()));
  }
}
