package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class CompositeCodecTest {
  /**
   * A field of another type has text or a number, which the field's own type could take for
   * something else.
   */
  @Test
  void aCompositeOfOtherFieldsIsNamedAsARecordAndNotWritten() {
    Codec part = TypeSamples.registry().codec(TypeSamples.PART);
    String empty = "00000000" + "ffffffff";
    byte[] cell =
        HexFormat.of()
            .parseHex(
                "00000004"
                    + "00000017"
                    + "00000004"
                    + "00000001"
                    + empty
                    + empty
                    + "00000061"
                    + "00000000");
    Composite read = (Composite) part.decode(cell, 0, cell.length);
    assertEquals(List.of("f1", "f2", "f3", "f4"), read.names());
    assertEquals("", read.get("f4"));
    assertEquals("(1,,,\"\")", part.string(cell, 0, cell.length));
    WireOutput json = new WireOutput(64);
    part.json(cell, 0, cell.length, json);
    assertEquals(
        "{\"f1\":1,\"f2\":null,\"f3\":null,\"f4\":\"\"}",
        new String(json.toByteArray(), StandardCharsets.UTF_8));
    assertThrows(PgException.class, () -> part.encode(read, new WireOutput(64)));
    assertThrows(PgException.class, () -> part.format(read));
  }
}
