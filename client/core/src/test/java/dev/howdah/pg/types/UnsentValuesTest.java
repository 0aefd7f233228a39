package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Cells that PostgreSQL never sends: each is refused, in whichever way it is read, or read as the
 * only value that it can be.
 */
class UnsentValuesTest {
  private static final TypeRegistry REGISTRY = TypeSamples.registry();
  private static final String ONE_INT4 = "00000004 00000001";

  /** Bytes in hexadecimal by the number of their type. */
  private static final Map<Integer, List<String>> BYTES =
      Map.ofEntries(
          Map.entry(16, List.of("02", "ff")),
          Map.entry(5069, List.of("8000000000000000")),
          // A digit that is none, though the scale cuts it off.
          Map.entry(1700, List.of("0002 0000 0000 0000 0001 2710")),
          // Zones of 16 hours and more, and the least number, which has no positive counterpart.
          Map.entry(
              1266,
              List.of(
                  "0000000000000000 0000e100",
                  "0000000000000000 ffff1f00",
                  "0000000000000000 80000000")),
          // Families that are none.
          Map.entry(869, List.of("40 00 00 00", "04 80 00 10 00000000000000000000000000000001")),
          // Bytes behind the end of what holds others.
          Map.entry(3904, List.of("01 00", "08 00000004 00000001 00", "18 00")),
          Map.entry(4451, List.of("00000000 00")),
          Map.entry(TypeSamples.HSTORE, List.of("00000000 00")),
          Map.entry(
              TypeSamples.RECORD, List.of("00000000 00", "00000001 00000017 00000004 00000001 00")),
          Map.entry(
              1007,
              List.of(
                  "00000000 00000000 00000017 00",
                  "00000001 00000000 00000017 00000001 00000001" + ONE_INT4 + "00",
                  // Elements of another type, and indexes beyond the last number.
                  "00000001 00000000 00000014 00000001 00000001 00000008 0000000000000001",
                  "00000000 00000000 00000014",
                  "00000001 00000000 00000017 00000001 7fffffff" + ONE_INT4)));

  private static final Map<Integer, List<String>> TEXTS =
      Map.ofEntries(
          Map.entry(16, List.of("", "x", "truth")),
          Map.entry(17, List.of("\u00e4", "\\777", "\\+12", "\\1")),
          Map.entry(20, List.of("", "1,2", "\u0661", "9223372036854775808")),
          Map.entry(26, List.of("-1", "4294967296", "1\"2")),
          Map.entry(700, List.of("1e40", "0x1p3", "1d", " 1")),
          Map.entry(701, List.of("", "1e999", "0x1p3", "1f", "1 ", "+Infinity")),
          Map.entry(1700, List.of("", "1,2", "N", "\u0661", "-", "Inf")),
          Map.entry(2950, List.of("1-1-1-1-1", "00000000-0000-0000-0000-000000000000\" 1")),
          Map.entry(3220, List.of("x", "1/", "123456789/0")),
          Map.entry(1562, List.of("2", "1 0")),
          Map.entry(869, List.of("10.0.0.1/+8", "10.0.0.1/")),
          Map.entry(600, List.of("(1,2,)", "(0x1p3,1)", "8(1,2)", "(1,2\0)", "(1)2,3)")),
          Map.entry(
              1082,
              List.of(
                  "0000-01-01",
                  "999999999-12-31",
                  "5881611-01-01",
                  "2024-01-01 BCE",
                  "2024-01-01 BC BC")),
          Map.entry(1083, List.of("00:60:00", "00:00:60", "10:00:00 BC")),
          Map.entry(1266, List.of("10:00:00+16", "10:00:00+01:60")),
          Map.entry(
              1114,
              List.of(
                  "2024-01-01 24:00:00",
                  "0000-01-01 00:00:00",
                  "300000-01-01 00:00:00",
                  "294277-01-09 04:00:54.775807")),
          Map.entry(1184, List.of("2024-01-01 24:00:00+00", "300000-01-01 00:00:00+00")),
          Map.entry(
              1186, List.of("1:02:03:04", "00:00:01.-5", "00:00:01.1234567", "1-+2", "1:2:03")),
          Map.entry(3904, List.of("[1,2)x", "emptyx")),
          Map.entry(4451, List.of("{[1,2)}x", "{}x")),
          Map.entry(TypeSamples.PART, List.of("(1,,,)x")),
          Map.entry(
              1007,
              List.of(
                  "{1}x",
                  "{}x",
                  "{1,}",
                  "{,1}",
                  "{1,{2}}",
                  "{{1},2}",
                  "{{1,2,3},{4},{5,6}}",
                  "{{1,2},{3}}",
                  "[2:3]={1}",
                  "[2:x]={1}",
                  "[1:1][1:1]={1}",
                  "[1:0]={}")),
          Map.entry(1009, List.of("{{{{{{{1}}}}}}", "{a{b}", "{,}")));

  private static byte[] bytes(String hexadecimal) {
    return HexFormat.of().parseHex(hexadecimal.replace(" ", ""));
  }

  private static void refused(Codec codec, byte[] cell) {
    assertThrows(PgException.class, () -> codec.decode(cell, 0, cell.length));
    CellReading.of(codec, cell);
  }

  @TestFactory
  List<DynamicTest> bytesAreRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    BYTES.forEach(
        (oid, cells) ->
            cells.forEach(
                cell ->
                    tests.add(
                        DynamicTest.dynamicTest(
                            REGISTRY.codec(oid).name() + " " + cell,
                            () -> refused(REGISTRY.codec(oid), bytes(cell))))));
    return tests;
  }

  @TestFactory
  List<DynamicTest> textsAreRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    TEXTS.forEach(
        (oid, cells) ->
            cells.forEach(
                cell ->
                    tests.add(
                        DynamicTest.dynamicTest(
                            REGISTRY.codec(oid).name() + " " + cell,
                            () ->
                                refused(
                                    TypeRegistry.asText(REGISTRY.codec(oid)),
                                    cell.getBytes(StandardCharsets.UTF_8))))));
    return tests;
  }

  /** Text of numbers is JSON or EDN only in one spelling. */
  @Test
  void numbersAreWrittenAsJsonAndEdnHasThem() {
    Map<Integer, Map<String, String>> spellings =
        Map.of(
            20, Map.of("007", "7", "+7", "7"),
            701, Map.of("010", "10", "+1.", "1", "1e3", "1000"),
            1700, Map.of("010", "10", "1e3", "1000", "-0.0", "0.0", ".5", "0.5"));
    spellings.forEach(
        (oid, texts) ->
            texts.forEach(
                (text, json) -> {
                  byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
                  WireOutput out = new WireOutput(16);
                  TypeRegistry.asText(REGISTRY.codec(oid)).json(utf8, 0, utf8.length, out);
                  assertEquals(json, new String(out.toByteArray(), StandardCharsets.UTF_8));
                }));
  }

  @Test
  void aNumericWithZerosInFrontIsWhatItIsWithout() {
    Codec numeric = REGISTRY.codec(1700);
    Map<String, String> texts =
        Map.of(
            "0002 0001 0000 0000 0000 0005",
            "5",
            "0000 0003 0000 0002",
            "0.00",
            "0000 0000 4000 0001",
            "0.0",
            "0001 0002 0000 0000 0000",
            "0",
            "0001 ffff 4000 0000 0001",
            "0",
            "0003 0001 4000 0004 0000 0000 0005",
            "-0.0005");
    texts.forEach(
        (hexadecimal, text) -> {
          byte[] cell = bytes(hexadecimal);
          assertEquals(text, numeric.string(cell, 0, cell.length));
          assertEquals(new BigDecimal(text), numeric.decode(cell, 0, cell.length));
          CellReading.of(numeric, cell);
        });
  }

  /** The first and the last times that are not infinite. */
  @Test
  void everyTimestampThatHasBytesIsWritten() {
    Codec timestamp = REGISTRY.codec(1114);
    for (String hexadecimal : List.of("8000000000000001", "7ffffffffffffffe")) {
      byte[] cell = bytes(hexadecimal);
      WireOutput again = new WireOutput(8);
      timestamp.encode(timestamp.decode(cell, 0, 8), again);
      assertEquals(hexadecimal, HexFormat.of().formatHex(again.toByteArray()));
    }
    Object beyond =
        ((LocalDateTime) timestamp.decode(bytes("7ffffffffffffffe"), 0, 8)).plusNanos(1000);
    assertThrows(PgException.class, () -> timestamp.encode(beyond, new WireOutput(8)));
  }
}
