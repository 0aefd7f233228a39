package dev.howdah.pg.types;

import java.util.List;

/** The values of the geometric types. */
public sealed interface Geometry {
  /** A point. */
  record Point(double x, double y) implements Geometry {}

  /** The infinite line a·x + b·y + c = 0. */
  record Line(double a, double b, double c) implements Geometry {}

  /** A piece of a line between two points (lseg). */
  record Segment(Point start, Point end) implements Geometry {}

  /** A box by its upper right and lower left corner. */
  record Box(Point high, Point low) implements Geometry {}

  /** A path, closed or open. */
  record Path(boolean closed, List<Point> points) implements Geometry {}

  /** A polygon. */
  record Polygon(List<Point> points) implements Geometry {}

  /** A circle. */
  record Circle(Point center, double radius) implements Geometry {}
}
