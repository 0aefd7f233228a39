package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Cells whose bytes lie about what they are: each is read as something, or refused by an error that
 * a user can be shown. Nothing beside the cell is read, and no memory is taken that the bytes do
 * not account for.
 */
class LyingValuesTest {
  private static final String ODD = "{}[](),:;=>\"\\ -+.0123456789eENaxT\u00e4";

  private static final TypeRegistry REGISTRY = TypeSamples.registry();

  private final Random random = new Random(5);

  @TestFactory
  List<DynamicTest> bytesThatLieAreReadOrRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    TypeSamples.texts()
        .forEach(
            (oid, values) -> {
              Codec codec = REGISTRY.codec(oid);
              tests.add(
                  DynamicTest.dynamicTest(
                      codec.name(),
                      () -> {
                        for (int i = 0; i < tries(codec); i++) {
                          WireOutput out = new WireOutput(64);
                          codec.encode(codec.parse(values.get(random.nextInt(values.size()))), out);
                          CellReading.of(codec, lying(out.toByteArray()));
                        }
                      }));
            });
    Codec record = REGISTRY.codec(TypeSamples.RECORD);
    Codec part = REGISTRY.codec(TypeSamples.PART);
    tests.add(
        DynamicTest.dynamicTest(
            "record",
            () -> {
              for (int i = 0; i < tries(record); i++) {
                WireOutput out = new WireOutput(64);
                part.encode(part.parse(TypeSamples.texts().get(TypeSamples.PART).get(0)), out);
                CellReading.of(record, lying(out.toByteArray()));
              }
            }));
    return tests;
  }

  @TestFactory
  List<DynamicTest> textThatLiesIsReadOrRefused() {
    List<DynamicTest> tests = new ArrayList<>();
    TypeSamples.texts()
        .forEach(
            (oid, values) -> {
              Codec codec = TypeRegistry.asText(REGISTRY.codec(oid));
              tests.add(
                  DynamicTest.dynamicTest(
                      codec.name(),
                      () -> {
                        CellReading.of(codec, new byte[0]);
                        for (int i = 0; i < tries(codec); i++) {
                          String text = lying(values.get(random.nextInt(values.size())));
                          CellReading.of(codec, text.getBytes(StandardCharsets.UTF_8));
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
      out.int4(TypeSamples.RECORD);
      out.int4(12 * (left - 1));
    }
    byte[] nested = out.toByteArray();
    Codec record = REGISTRY.codec(TypeSamples.RECORD);
    return List.of(
        DynamicTest.dynamicTest(
            "decoded",
            () ->
                assertTrue(
                    CellReading.tried(() -> record.decode(nested, 0, nested.length))
                        instanceof PgException)),
        DynamicTest.dynamicTest(
            "as text",
            () ->
                assertTrue(
                    CellReading.tried(() -> record.string(nested, 0, nested.length))
                        instanceof PgException)),
        DynamicTest.dynamicTest(
            "as JSON",
            () ->
                assertTrue(
                    CellReading.tried(
                            () -> {
                              record.json(nested, 0, nested.length, new WireOutput(64));
                              return null;
                            })
                        instanceof PgException)));
  }

  private static int tries(Codec codec) {
    return TypeSamples.hasDigits(codec) ? 60 : 300;
  }

  private byte[] lying(byte[] truth) {
    byte[] bytes =
        Arrays.copyOf(
            truth, random.nextInt(4) == 0 ? random.nextInt(truth.length + 9) : truth.length);
    for (int changes = random.nextInt(3); changes >= 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      if (random.nextBoolean() && at + 4 <= bytes.length) {
        int[] lies = {
          -1,
          -2,
          0,
          1,
          2,
          6,
          7,
          1 << 16,
          1 << 24,
          Integer.MAX_VALUE,
          Integer.MIN_VALUE,
          bytes.length,
          TypeSamples.RECORD
        };
        BigEndian.int4(
            bytes,
            at / 4 * 4 == at || random.nextBoolean() ? at : at / 4 * 4,
            lies[random.nextInt(lies.length)]);
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
}
