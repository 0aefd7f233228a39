package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.howdah.pg.wire.WireOutput;
import org.junit.jupiter.api.Test;

class RangeCodecTest {
  private final Codec codec = new TypeRegistry(TypeOptions.NONE).codec(3906);

  @Test
  void aBoundThatIsNotThereNeverBelongsToARange() {
    for (String text : new String[] {"(,]", "[,)", "[,]", "(,)"}) {
      Object range = codec.parse(text);
      assertEquals(new Range(null, null, false, false, false), range);
      assertEquals("(,)", codec.format(range));
      WireOutput out = new WireOutput(16);
      codec.encode(range, out);
      assertEquals(range, codec.decode(out.array(), 0, out.size()));
    }
    byte[] bothInclusiveAndInfinite = {0x1e};
    assertEquals(codec.parse("(,)"), codec.decode(bothInclusiveAndInfinite, 0, 1));
    assertEquals(Range.EMPTY, new Range(1, 2, true, false, true));
  }
}
