package dev.howdah.pg.jdbc;

import java.util.Map;

/** The OIDs of the types that values of Java are declared as: the same in every server. */
final class TypeNumbers {
  private static final Map<String, Integer> NUMBERS =
      Map.ofEntries(
          Map.entry("bool", 16),
          Map.entry("bytea", 17),
          Map.entry("int8", 20),
          Map.entry("int2", 21),
          Map.entry("int4", 23),
          Map.entry("oid", 26),
          Map.entry("text", 25),
          Map.entry("float4", 700),
          Map.entry("float8", 701),
          Map.entry("date", 1082),
          Map.entry("time", 1083),
          Map.entry("timestamp", 1114),
          Map.entry("timestamptz", 1184),
          Map.entry("interval", 1186),
          Map.entry("timetz", 1266),
          Map.entry("numeric", 1700),
          Map.entry("void", 2278),
          Map.entry("uuid", 2950),
          Map.entry("bool[]", 1000),
          Map.entry("bytea[]", 1001),
          Map.entry("int2[]", 1005),
          Map.entry("int4[]", 1007),
          Map.entry("text[]", 1009),
          Map.entry("int8[]", 1016),
          Map.entry("float4[]", 1021),
          Map.entry("float8[]", 1022),
          Map.entry("numeric[]", 1231),
          Map.entry("uuid[]", 2951));

  private TypeNumbers() {}

  /** The OID of a type; 0 for one that is not among them, and for none. */
  static int of(String name) {
    return name == null ? 0 : NUMBERS.getOrDefault(name, 0);
  }
}
