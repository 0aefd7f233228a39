package dev.howdah.pg;

/**
 * The bytes of some rows that follow each other: the bodies of their messages and nothing else.
 *
 * <p>A row that survives its result keeps its segment alive, so segments are small, and know no
 * rows: what was made and decoded of the others goes with the {@link Result}. See {@link
 * RowCollector} for the sizes and what each row costs.
 */
public final class Segment {
  final byte[] bytes;
  final Shape shape;
  final RowMaker maker;

  /** Where each row begins. */
  private final char[] starts;

  Segment(byte[] bytes, char[] starts, Shape shape, RowMaker maker) {
    this.bytes = bytes;
    this.starts = starts;
    this.shape = shape;
    this.maker = maker;
  }

  int size() {
    return starts.length;
  }

  /** Where a row's bytes begin. */
  int start(int index) {
    return starts[index];
  }

  /** How many bytes a row has. */
  int length(int index) {
    return (index + 1 < starts.length ? starts[index + 1] : bytes.length) - starts[index];
  }

  /** The row at an index, made anew. */
  Row row(int index) {
    return maker.row(this, starts[index]);
  }

  /** The same bytes, read in another way. */
  Segment as(Shape other, RowMaker otherMaker) {
    return new Segment(bytes, starts, other, otherMaker);
  }

  /** A segment that holds one row's bytes and no other's. */
  Segment alone(int start) {
    int end = start + 2;
    for (int i = shape.size(); i > 0; i--) {
      end += 4 + Math.max(0, dev.howdah.pg.wire.BigEndian.int4(bytes, end));
    }
    return new Segment(java.util.Arrays.copyOfRange(bytes, start, end), new char[1], shape, maker);
  }
}
