package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.List;

/**
 * The geometric types as {@link Geometry}: in both formats they are numbers in a row with few marks
 * around.
 */
final class GeometryCodec extends Codec {
  /** The types. */
  enum Kind {
    POINT,
    LINE,
    LSEG,
    BOX,
    PATH,
    POLYGON,
    CIRCLE
  }

  private static final Codec NUMBER = new FloatCodecs.Float8();

  private final Kind kind;

  GeometryCodec(Kind kind) {
    super(kind.name().toLowerCase(java.util.Locale.ROOT));
    this.kind = kind;
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    int skip = kind == Kind.PATH ? 5 : kind == Kind.POLYGON ? 4 : 0;
    if (length < skip || (length - skip) % 8 != 0) {
      throw broken(length);
    }
    double[] numbers = new double[(length - skip) / 8];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = Double.longBitsToDouble(BigEndian.int8(bytes, offset + skip + 8 * i));
    }
    if (skip > 0 && BigEndian.int4(bytes, offset + skip - 4) * 2L != numbers.length) {
      throw broken(length);
    }
    return made(numbers, kind == Kind.PATH && bytes[offset] != 0, length);
  }

  private Geometry made(double[] n, boolean closed, int length) {
    int wanted =
        switch (kind) {
          case POINT -> 2;
          case LINE, CIRCLE -> 3;
          case LSEG, BOX -> 4;
          // At least one point.
          case PATH, POLYGON -> Math.max(2, n.length / 2 * 2);
        };
    if (n.length != wanted) {
      throw broken(length);
    }
    return switch (kind) {
      case POINT -> new Geometry.Point(n[0], n[1]);
      case LINE -> new Geometry.Line(n[0], n[1], n[2]);
      case LSEG ->
          new Geometry.Segment(new Geometry.Point(n[0], n[1]), new Geometry.Point(n[2], n[3]));
      case BOX -> new Geometry.Box(new Geometry.Point(n[0], n[1]), new Geometry.Point(n[2], n[3]));
      case PATH -> new Geometry.Path(closed, points(n));
      case POLYGON -> new Geometry.Polygon(points(n));
      case CIRCLE -> new Geometry.Circle(new Geometry.Point(n[0], n[1]), n[2]);
    };
  }

  private static List<Geometry.Point> points(double[] numbers) {
    List<Geometry.Point> points = new ArrayList<>();
    for (int i = 0; i < numbers.length; i += 2) {
      points.add(new Geometry.Point(numbers[i], numbers[i + 1]));
    }
    return List.copyOf(points);
  }

  @Override
  public Object parse(String text) {
    String[] parts = text.split(",", -1);
    double[] numbers = new double[parts.length];
    try {
      for (int i = 0; i < parts.length; i++) {
        numbers[i] = (Double) NUMBER.parse(unbracketed(parts[i]));
      }
    } catch (PgException e) {
      throw malformed(text);
    }
    return made(numbers, text.startsWith("("), text.length());
  }

  /** A number without the brackets that open before it and close behind it. */
  private static String unbracketed(String part) {
    int from = 0;
    int to = part.length();
    while (from < to && "[({< ".indexOf(part.charAt(from)) >= 0) {
      from++;
    }
    while (to > from && "])}> ".indexOf(part.charAt(to - 1)) >= 0) {
      to--;
    }
    return part.substring(from, to);
  }

  private Geometry checked(Object value) {
    boolean fits =
        switch (kind) {
          case POINT -> value instanceof Geometry.Point;
          case LINE -> value instanceof Geometry.Line;
          case LSEG -> value instanceof Geometry.Segment;
          case BOX -> value instanceof Geometry.Box;
          case PATH -> value instanceof Geometry.Path;
          case POLYGON -> value instanceof Geometry.Polygon;
          case CIRCLE -> value instanceof Geometry.Circle;
        };
    if (!fits) {
      throw refuse(value);
    }
    return (Geometry) value;
  }

  @Override
  public void encode(Object value, WireOutput out) {
    Geometry geometry = checked(value);
    if (geometry instanceof Geometry.Path path) {
      out.int1(path.closed() ? 1 : 0);
      out.int4(path.points().size());
    } else if (geometry instanceof Geometry.Polygon polygon) {
      out.int4(polygon.points().size());
    }
    for (double number : numbers(geometry)) {
      out.int8(Double.doubleToRawLongBits(number));
    }
  }

  private static double[] numbers(Geometry value) {
    if (value instanceof Geometry.Point p) {
      return new double[] {p.x(), p.y()};
    } else if (value instanceof Geometry.Line l) {
      return new double[] {l.a(), l.b(), l.c()};
    } else if (value instanceof Geometry.Segment s) {
      return numbers(List.of(s.start(), s.end()));
    } else if (value instanceof Geometry.Box b) {
      return numbers(List.of(b.high(), b.low()));
    } else if (value instanceof Geometry.Path p) {
      return numbers(p.points());
    } else if (value instanceof Geometry.Polygon p) {
      return numbers(p.points());
    }
    Geometry.Circle circle = (Geometry.Circle) value;
    return new double[] {circle.center().x(), circle.center().y(), circle.radius()};
  }

  private static double[] numbers(List<Geometry.Point> points) {
    return points.stream()
        .flatMapToDouble(p -> java.util.stream.DoubleStream.of(p.x(), p.y()))
        .toArray();
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    double[] n = numbers((Geometry) decode(bytes, offset, length));
    switch (kind) {
      case LINE ->
          out.text(
              "{" + FloatText.of(n[0]) + "," + FloatText.of(n[1]) + "," + FloatText.of(n[2]) + "}");
      case CIRCLE -> out.text("<" + pairs(n, 2) + "," + FloatText.of(n[2]) + ">");
      case LSEG -> out.text("[" + pairs(n, n.length) + "]");
      case PATH ->
          out.text(
              bytes[offset] != 0 ? "(" + pairs(n, n.length) + ")" : "[" + pairs(n, n.length) + "]");
      case POLYGON -> out.text("(" + pairs(n, n.length) + ")");
      default -> out.text(pairs(n, n.length));
    }
  }

  private static String pairs(double[] numbers, int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i += 2) {
      text.append(i > 0 ? "," : "").append('(');
      text.append(FloatText.of(numbers[i]))
          .append(',')
          .append(FloatText.of(numbers[i + 1]))
          .append(')');
    }
    return text.toString();
  }
}
