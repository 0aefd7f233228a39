package dev.howdah.pg;

import dev.howdah.pg.json.Json;
import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.WireOutput;

/**
 * Writes rows as JSON objects from their bytes; json and jsonb are copied as they are. Of columns
 * with one name each is written, as row_to_json does.
 */
final class JsonRows extends LabelledRows {
  JsonRows(Shape shape) {
    super(shape, labels(shape), ',');
  }

  private static byte[][] labels(Shape shape) {
    byte[][] labels = new byte[shape.size()][];
    for (int i = 0; i < labels.length; i++) {
      WireOutput label = new WireOutput(32);
      label.int1(i == 0 ? '{' : ',');
      Json.string(shape.columns().get(i).name(), label);
      label.int1(':');
      labels[i] = label.toByteArray();
    }
    return labels;
  }

  @Override
  void nothing(WireOutput out) {
    Json.nothing(out);
  }

  @Override
  void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out) {
    codec.json(bytes, offset, length, out);
  }
}
