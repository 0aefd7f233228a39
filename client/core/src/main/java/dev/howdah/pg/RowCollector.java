package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Collects the bodies of rows into segments of exactly their size.
 *
 * <p>What is kept for each row beyond its body: 2 bytes of position, its part of the segment's 72,
 * and, once it is handed out, 4 for the place in the result's table, its part of the table's 20,
 * and 32 for the row object. With 64 rows or more in a segment that is at most 8 for an untouched
 * row and 40 for one handed out. More would be kept by one row that survives the others, so a
 * segment takes 64 rows, or 4 KiB of small ones, and 60 KiB at most. Rows of more than 900 bytes
 * pay for the segment a little more.
 */
final class RowCollector implements RowSink {
  /** The size of segments of small rows: smaller ones would cost more to make than they free. */
  private static final int SMALL = 4 << 10;

  /** Positions are 16 bits. */
  private static final int LARGEST = 60 << 10;

  /** How many rows share a segment in a result that is kept whole. */
  private static final int ROWS = 64;

  private final int rows;
  private byte[] bytes;
  private char[] starts = new char[64];
  private int size;
  private int count;
  private long total;
  private List<Segment> segments = new ArrayList<>();
  private Shape shape;
  private RowMaker maker;

  private RowCollector(int rows) {
    this.rows = rows;
    this.bytes = new byte[1024];
  }

  /** For a result that is kept whole. */
  static RowCollector kept() {
    return new RowCollector(ROWS);
  }

  /** For rows that pass by, of which some may be kept. */
  static RowCollector streamed() {
    return new RowCollector(1);
  }

  void begin(Shape shape, RowMaker maker) {
    this.shape = shape;
    this.maker = maker;
    this.size = 0;
    this.count = 0;
    this.total = 0;
    this.segments = new ArrayList<>();
  }

  @Override
  public void row(Wire wire) {
    int length = wire.length();
    if (size + length > LARGEST || size + length > SMALL && count >= rows) {
      seal();
      if (length > LARGEST) {
        alone(wire);
        return;
      }
    }
    if (size + length > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(size + length, Math.min(LARGEST, bytes.length * 2)));
    }
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, count * 2);
    }
    starts[count++] = (char) size;
    System.arraycopy(wire.body(), wire.offset(), bytes, size, length);
    size += length;
  }

  /** A row too large to share a segment. */
  private void alone(Wire wire) {
    byte[] own = Arrays.copyOfRange(wire.body(), wire.offset(), wire.offset() + wire.length());
    segments.add(new Segment(own, new char[1], shape, maker));
    total++;
  }

  private void seal() {
    if (count > 0) {
      segments.add(
          new Segment(Arrays.copyOf(bytes, size), Arrays.copyOf(starts, count), shape, maker));
      total += count;
      size = 0;
      count = 0;
    }
  }

  /** The segments so far; collecting begins anew. */
  Segment[] take() {
    seal();
    Segment[] taken = segments.toArray(Segment[]::new);
    segments = new ArrayList<>();
    if (bytes.length > LARGEST) {
      bytes = new byte[1024];
    }
    return taken;
  }

  /** How many rows were collected since the beginning. */
  long total() {
    return total + count;
  }
}
