package dev.howdah.pg;

import java.util.List;

/** Keeps a statement's rows as a result. */
final class KeptRows implements Harvest<Result> {
  private static final Shape NO_COLUMNS = new Shape(List.of());

  private final RowCollector collector;
  private final RowMaker.Factory maker;
  private Shape shape = NO_COLUMNS;

  /** The collector is used from {@link #begin} to {@link #end}. */
  KeptRows(RowCollector collector, RowMaker.Factory maker) {
    this.collector = collector;
    this.maker = maker;
  }

  @Override
  public RowSink begin(Shape shape) {
    this.shape = shape;
    collector.begin(shape, shape.maker(maker));
    return collector;
  }

  @Override
  public void drop() {
    collector.take();
  }

  @Override
  public Result end(String tag) {
    return new Result(shape, shape == NO_COLUMNS ? new Segment[0] : collector.take(), tag);
  }
}
