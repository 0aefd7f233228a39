package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Collects the bodies of rows into segments of exactly their size.
 *
 * <p>What is kept for each row beyond its body: 2 bytes of position, its part of the segment's 64, and, once
 * it is handed out, 4 for the place in the segment's table and 32 for the row object. With 64 rows or more
 * in a segment that is at most 8 for an untouched row and 40 for one handed out, so a segment takes 64 rows
 * where 16 KiB do not hold as many, up to 60 KiB. Rows of more than 900 bytes pay for the segment a little more.
 */
final class RowCollector implements RowSink {
  /** The size of segments in a result that is kept whole. */
  private static final int KEPT = 16 << 10;
  /** The size of segments of streamed rows: what one that is kept may pin. */
  private static final int STREAMED = 4 << 10;
  /** Positions are 16 bits. */
  private static final int LARGEST = 60 << 10;
  private static final int ROWS = 64;

  private final int target;
  private final int rows;
  private byte[] bytes;
  private char[] starts = new char[64];
  private int size;
  private int count;
  private int limit;
  private long total;
  private List<Segment> segments = new ArrayList<>();
  private Shape shape;
  private RowMaker maker;

  private RowCollector(int target, int rows) {
    this.target = target;
    this.rows = rows;
    this.bytes = new byte[1024];
  }

  /** For a result that is kept whole. */
  static RowCollector kept() {
    return new RowCollector(KEPT, ROWS);
  }

  /** For rows that pass by, of which some may be kept. */
  static RowCollector streamed() {
    return new RowCollector(STREAMED, 1);
  }

  void begin(Shape shape, RowMaker maker) {
    this.shape = shape;
    this.maker = maker;
    this.limit = target;
    this.size = 0;
    this.count = 0;
    this.total = 0;
    this.segments = new ArrayList<>();
  }

  @Override
  public void row(Wire wire) {
    int length = wire.length();
    if (size + length > limit) {
      seal();
      limit = Math.max(target, Math.min(LARGEST, length * rows));
      if (length > limit || wire.ownsBody()) {
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
      segments.add(new Segment(Arrays.copyOf(bytes, size), Arrays.copyOf(starts, count), shape, maker));
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
