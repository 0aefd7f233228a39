package dev.howdah.pg;

/** Keeps a statement's rows as a result. */
final class KeptRows implements Harvest<Result> {
  private final RowCollector collector;
  private final RowMaker.Factory maker;
  private Shape shape = Shape.NO_ROWS;

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
    return new Result(shape, shape == Shape.NO_ROWS ? new Segment[0] : collector.take(), tag);
  }
}
