package dev.howdah.pg;

import dev.howdah.pg.edn.Edn;
import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.WireOutput;
import java.util.List;

/**
 * Writes rows as EDN maps from their bytes. A column's name is a keyword, or a string if it cannot
 * be one; of columns with one name the second gets _1 behind it, as in rows that are Clojure maps.
 */
final class EdnRows extends LabelledRows {
  EdnRows(Shape shape) {
    super(shape, labels(shape), ' ');
  }

  private static byte[][] labels(Shape shape) {
    List<String> names = shape.distinctNames();
    byte[][] labels = new byte[names.size()][];
    for (int i = 0; i < labels.length; i++) {
      WireOutput label = new WireOutput(32);
      label.text(i == 0 ? "{" : ", ");
      Edn.label(names.get(i), label);
      label.int1(' ');
      labels[i] = label.toByteArray();
    }
    return labels;
  }

  @Override
  void nothing(WireOutput out) {
    Edn.nothing(out);
  }

  @Override
  void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out) {
    codec.edn(bytes, offset, length, out);
  }
}
