package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.howdah.pg.wire.WireOutput;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Infinite intervals, which a server older than PostgreSQL 17 does not have. */
class IntervalCodecTest {
  private static final Codec CODEC = new IntervalCodec();

  @Test
  void infinityIsReadAndWrittenAsPostgres17Does() {
    Map<Interval, String> bytes =
        Map.of(
            Interval.INFINITY,
            "7fffffffffffffff7fffffff7fffffff",
            Interval.NEGATIVE_INFINITY,
            "80000000000000008000000080000000");
    bytes.forEach(
        (interval, hexadecimal) -> {
          String text = interval.equals(Interval.INFINITY) ? "infinity" : "-infinity";
          WireOutput binary = new WireOutput(16);
          CODEC.encode(interval, binary);
          assertEquals(hexadecimal, HexFormat.of().formatHex(binary.toByteArray()));
          assertEquals(interval, CODEC.decode(binary.array(), 0, 16));
          assertSame(interval, CODEC.parse(text));
          assertEquals(text, CODEC.string(binary.array(), 0, 16));
          assertEquals(text, CODEC.format(interval));
          assertEquals(text, interval.toString());
          WireOutput json = new WireOutput(16);
          CODEC.json(binary.array(), 0, 16, json);
          assertEquals('"' + text + '"', new String(json.toByteArray()));
        });
  }
}
