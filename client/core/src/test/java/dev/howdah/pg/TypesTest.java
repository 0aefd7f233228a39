package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.Composite;
import dev.howdah.pg.types.Geometry;
import dev.howdah.pg.types.Interval;
import dev.howdah.pg.types.PgArray;
import dev.howdah.pg.types.Range;
import dev.howdah.pg.types.TypeOptions;
import dev.howdah.pg.wire.WireOutput;
import java.math.BigDecimal;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.postgresql.geometric.PGbox;
import org.postgresql.geometric.PGcircle;
import org.postgresql.geometric.PGline;
import org.postgresql.geometric.PGlseg;
import org.postgresql.geometric.PGpath;
import org.postgresql.geometric.PGpoint;
import org.postgresql.geometric.PGpolygon;
import org.postgresql.util.PGInterval;

/**
 * Every type: both formats, the server's text, its JSON and pgjdbc must agree, and what is sent
 * comes back.
 */
class TypesTest {
  private static Connection connection;
  private static boolean citext;
  private static boolean hstore;
  private static boolean xml;

  @BeforeAll
  static void connect() {
    connection = PrivateServer.connect();
    citext = ServerBuild.makesExtension(connection, "citext", "values of type citext");
    hstore = ServerBuild.makesExtension(connection, "hstore", "values of type hstore");
    xml = ServerBuild.readsXml(connection, "values of type xml");
    connection.script(
        """
        drop schema if exists types cascade; create schema types; set search_path to types, public;
        create type mood as enum ('glad', 'sad', 'so so');
        create domain positive as int check (value > 0);
        create type part as (a int, b text, c positive, d mood);
        create type moods as range (subtype = text);
        """);
    connection.script(
        "create type whole as (name "
            + (citext ? "citext" : "text")
            + ", parts part[], at timestamptz)");
  }

  @AfterAll
  static void close() {
    connection.close();
  }

  private static final Options TEXT = Options.DEFAULT.binary(false);

  private DynamicTest agree(String type, List<String> values) {
    return DynamicTest.dynamicTest(type, () -> check(type, values));
  }

  /** Values as the server's text; it makes the value, its text and its JSON of each. */
  private void check(String type, List<String> values) {
    String sql =
        "select v::"
            + type
            + " as v, "
            + shown("v::" + type, type)
            + " as t, row_to_json((select x from (select v::"
            + type
            + " as v) x))::text as j from unnest($1::text[]) v";
    Result binary = connection.query(sql, values);
    Result text = connection.query(TEXT, sql, values);
    assertEquals(values.size(), binary.size());
    for (int i = 0; i < values.size(); i++) {
      String server = binary.get(i).getString("t");
      assertEquals(server, binary.get(i).getString("v"), type + " of " + values.get(i));
      same(binary.get(i).getObject("v"), text.get(i).getObject("v"), type + " of " + server);
      json(binary, text, i, type);
    }
    comesBack(type, binary, TEXT);
    comesBack(type, binary, Options.DEFAULT);
  }

  /**
   * inet's cast to text, alone among all, says more than its output, which is what everyone shows.
   */
  private static String shown(String value, String type) {
    return type.equals("inet") ? "format('%s', " + value + ")" : "(" + value + ")::text";
  }

  private static void same(Object expected, Object actual, String message) {
    if (expected instanceof byte[] bytes) {
      assertTrue(Arrays.equals(bytes, (byte[]) actual), message);
    } else {
      assertEquals(expected, actual, message);
    }
  }

  private static void json(Result binary, Result text, int row, String type) {
    String server = binary.get(row).getString("j");
    String ours = binary.get(row).toJson();
    String fromText = text.get(row).toJson();
    String wanted = server.substring(0, server.length() - 1);
    assertTrue(ours.startsWith(wanted), type + " as JSON: " + ours + " for " + server);
    assertTrue(
        fromText.startsWith(wanted), type + " as JSON from text: " + fromText + " for " + server);
  }

  private static void comesBack(String type, Result sent, Options options) {
    for (int from = 0; from < sent.size(); from += 40) {
      List<Row> rows = sent.subList(from, Math.min(sent.size(), from + 40));
      StringBuilder sql = new StringBuilder("select ");
      Object[] values = new Object[rows.size()];
      for (int i = 0; i < values.length; i++) {
        sql.append(i > 0 ? "," : "").append(shown("$" + (i + 1) + "::" + type, type));
        values[i] = rows.get(i).getObject("v");
      }
      Row back = connection.query(options, sql.toString(), values).get(0);
      for (int i = 0; i < values.length; i++) {
        assertEquals(
            rows.get(i).getString("t"),
            back.getString(i),
            type + " sent " + (options == TEXT ? "as text" : "in binary"));
      }
    }
  }

  @TestFactory
  List<DynamicTest> bothFormatsTheServerAndItsJsonAgree() {
    Samples samples = new Samples();
    List<DynamicTest> tests =
        new ArrayList<>(
            List.of(
                agree("bool", List.of("true", "false")),
                agree("int2", samples.longs(16)),
                agree("int4", samples.longs(32)),
                agree("int8", samples.longs(64)),
                agree("oid", samples.unsigned()),
                agree("float8", samples.doubles()),
                agree("float4", samples.floats()),
                agree("numeric", samples.numerics()),
                agree("text", samples.texts()),
                agree("varchar", samples.texts()),
                agree("name", List.of("a", "ä")),
                agree("bytea", samples.byteas()),
                agree("uuid", samples.uuids()),
                agree("date", samples.dates()),
                agree("time", samples.times()),
                agree("timetz", samples.zonedTimes()),
                agree("timestamp", samples.timestamps(false)),
                agree("timestamptz", samples.timestamps(true)),
                agree("interval", intervals(samples)),
                agree("json", samples.jsons()),
                agree("jsonb", samples.jsons()),
                agree("inet", samples.inets()),
                agree("varbit", samples.bits()),
                agree("macaddr", List.of("08:00:2b:01:02:03")),
                agree("macaddr8", List.of("08:00:2b:01:02:03:04:05")),
                agree("cidr", List.of("10.0.0.0/8", "10.1.2.3/32", "fe80::/10", "::1/128")),
                agree("bit(5)", List.of("10101", "00000")),
                agree("money", List.of("1.25", "-1000000.5", "0")),
                agree("pg_lsn", List.of("0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF")),
                agree("tsvector", List.of("'a':1 'b':2A", "")),
                agree("regclass", List.of("pg_class")),
                agree("regtype", List.of("integer", "timestamp with time zone")),
                agree("xid", List.of("1", "4294967295")),
                agree("xid8", List.of("0", "18446744073709551", "3")),
                agree("\"char\"", List.of("a", "", "~")),
                agree(
                    "bpchar",
                    samples.texts().stream().filter(text -> !text.endsWith(" ")).toList()),
                agree("tsquery", List.of("'a' & !'b'", "'a' <-> 'b' | 'c':*A")),
                agree("jsonpath", List.of("$.\"a\"[*]?(@.\"b\" > 1)", "lax $")),
                agree("int8range", List.of("empty", "[1,9000000000)"))));
    if (citext) {
      tests.add(agree("citext", samples.texts()));
    }
    if (xml) {
      tests.add(agree("xml", List.of("<a>ä</a>", "x")));
    }
    for (String kind : List.of("point", "lseg", "box", "path", "polygon", "line", "circle")) {
      tests.add(agree(kind, samples.geometry(kind)));
    }
    return tests;
  }

  /** The infinite ones are known from PostgreSQL 17 on. */
  private static List<String> intervals(Samples samples) {
    List<String> intervals = new ArrayList<>(samples.intervals());
    if (connection.first("select current_setting('server_version_num')::int").getInt(0)
        >= 170_000) {
      intervals.addAll(List.of("infinity", "-infinity"));
    } else {
      System.err.println(
          "SKIPPED: infinite intervals from a server: this PostgreSQL is older than 17");
    }
    return intervals;
  }

  @TestFactory
  List<DynamicTest> typesMadeOfTypesAgreeToo() {
    List<DynamicTest> tests =
        new ArrayList<>(
            List.of(
                agree(
                    "int4[]",
                    List.of(
                        "{}",
                        "{1,2,NULL}",
                        "{{1,2},{3,4}}",
                        "[2:3]={7,8}",
                        "[0:1][-1:0]={{1,2},{3,NULL}}",
                        "{{{1},{2}}}")),
                agree(
                    "text[]",
                    List.of(
                        "{}",
                        "{a,\"b c\",NULL,\"NULL\",\"\",\"\\\"\",\"\\\\\",\"{}\",ä}",
                        "{{a,b},{\",\",d}}")),
                agree("bool[]", List.of("{t,f,NULL}")),
                agree("timestamptz[]", List.of("{2024-01-01 00:00:00+00,infinity}")),
                agree("numeric[]", List.of("{1.50,NaN,-0.001}")),
                agree("box[]", List.of("{(3,4),(1,2);(1,1),(0,0)}")),
                agree("jsonb[]", List.of("{\"{\\\"a\\\": 1}\",\"[]\"}")),
                agree("money[]", List.of("{1.00,2.00}")),
                agree("mood", List.of("glad", "so so")),
                agree("mood[]", List.of("{glad,\"so so\"}")),
                agree("positive", List.of("5")),
                agree("positive[]", List.of("{5,6}")),
                agree(
                    "part",
                    List.of(
                        "(1,x,2,glad)", "(,,,)", "(1,\"a,\"\"b\\\\\",3,\"so so\")", "(1,\"\",,)")),
                agree(
                    "whole",
                    List.of(
                        "(Name,\"{\"\"(1,x,2,glad)\"\",NULL}\",\"2024-01-01 00:00:00+00\")",
                        "(x,{},)")),
                agree("int4range", List.of("empty", "[1,10)", "(,5)", "[7,)", "(,)")),
                agree("numrange", List.of("[1.5,2.50]", "(1,2)", "(0.1,]")),
                agree("daterange", List.of("[2024-01-01,2024-02-01)")),
                agree(
                    "tstzrange",
                    List.of("[\"2024-01-01 00:00:00+00\",\"2024-01-02 00:00:00+00\")", "empty")),
                agree("tsrange", List.of("[\"2024-01-01 00:00:00\",infinity)")),
                agree("moods", List.of("[a,\"b,c\")", "(\"\",z]")),
                agree("int4multirange", List.of("{}", "{[1,3),[5,7)}")),
                agree("nummultirange", List.of("{[1.5,2.5],(7,)}")),
                agree("int4range[]", List.of("{\"[1,3)\",empty,NULL}")),
                agree("pg_lsn[]", List.of("{0/0,16/B374D848,NULL}"))));
    if (hstore) {
      tests.add(agree("hstore", List.of("", "a=>1", "a=>NULL,bb=>\"x\\\"y\"", "\"a b\"=>\"\"")));
    }
    return tests;
  }

  @TestFactory
  List<DynamicTest> generatedValuesOfTypesMadeOfTypesAgree() {
    Samples samples = new Samples();
    ServerSamples made = new ServerSamples(connection);
    List<String> whole = samples.longs(30);
    List<String> ranges = made.ranges("int8range", "int8", whole);
    List<DynamicTest> tests =
        new ArrayList<>(
            List.of(
                agree("int8[]", made.arrays("int8", samples.longs(64))),
                agree("text[]", made.arrays("text", samples.texts())),
                agree("numeric[]", made.arrays("numeric", samples.numerics().subList(30, 1000))),
                agree("float8[]", made.arrays("float8", samples.doubles().subList(0, 1000))),
                agree(
                    "timestamptz[]",
                    made.arrays("timestamptz", samples.timestamps(true).subList(0, 1000))),
                agree("interval[]", made.arrays("interval", samples.intervals().subList(0, 1000))),
                agree("inet[]", made.arrays("inet", samples.inets())),
                agree("uuid[]", made.arrays("uuid", samples.uuids())),
                agree("jsonb[]", made.arrays("jsonb", samples.jsons())),
                agree("mood[]", made.arrays("mood", made.moods())),
                agree("part[]", made.arrays("part", made.parts(samples.texts()))),
                agree("pg_lsn[]", made.arrays("pg_lsn", made.positions())),
                agree("pg_lsn", made.positions()),
                agree("int8range", ranges),
                agree("int4range", made.ranges("int4range", "int4", whole)),
                agree(
                    "numrange",
                    made.ranges("numrange", "numeric", samples.numerics().subList(30, 1000))),
                agree(
                    "daterange",
                    made.ranges("daterange", "date", samples.dates().subList(8, 1000))),
                agree(
                    "tsrange",
                    made.ranges(
                        "tsrange", "timestamp", samples.timestamps(false).subList(0, 1000))),
                agree(
                    "tstzrange",
                    made.ranges(
                        "tstzrange", "timestamptz", samples.timestamps(true).subList(0, 1000))),
                agree("moods", made.ranges("moods", "text", samples.texts())),
                agree("int8range[]", made.arrays("int8range", ranges)),
                agree("int8multirange", made.multiranges("int8multirange", "int8range", ranges)),
                agree("part", made.parts(samples.texts())),
                agree("mood", made.moods()),
                agree("money", made.amounts()),
                agree("cidr", made.networks(samples.inets())),
                agree("macaddr", made.cards(6)),
                agree("macaddr8", made.cards(8)),
                agree("bit(5)", made.bits(5)),
                agree("bit(17)", made.bits(17))));
    if (hstore) {
      tests.add(agree("hstore", made.hstores(samples.texts())));
    }
    return tests;
  }

  @Test
  void aFunctionWithoutAResultHasAnEmptyOne() {
    String sql = "select pg_notify('nobody', '') as v";
    for (Options options : List.of(Options.DEFAULT, TEXT)) {
      Row row = connection.query(options, sql).get(0);
      assertEquals(
          List.of("", "", "{\"v\":\"\"}"),
          List.of(row.getObject(0), row.getString(0), row.toJson()));
    }
  }

  /** Every power of two and of ten with its neighbours, and numbers of random bits. */
  @Test
  void floatsAreWrittenAsTheServerWritesThem() {
    Random random = new Random(7);
    List<Double> doubles = new ArrayList<>();
    List<Float> floats = new ArrayList<>();
    for (int i = -330; i < 310; i++) {
      neighbours(Double.parseDouble("1e" + i), doubles, floats);
      neighbours(Double.parseDouble("-5e" + i), doubles, floats);
    }
    for (int i = -1080; i < 1024; i++) {
      neighbours(Math.scalb(1.0, i), doubles, floats);
    }
    for (int i = 0; i < 40_000; i++) {
      doubles.add(Double.longBitsToDouble(random.nextLong()));
      doubles.add(random.nextInt(1_000_000) / 100.0);
      floats.add(Float.intBitsToFloat(random.nextInt()));
    }
    for (String column : List.of("float8", "float4")) {
      Object values = column.equals("float8") ? doubles : floats;
      for (Row row :
          connection.query("select v, v::text as t from unnest($1::" + column + "[]) v", values)) {
        assertEquals(row.getString("t"), row.getString("v"));
      }
    }
  }

  private static void neighbours(double value, List<Double> doubles, List<Float> floats) {
    doubles.addAll(List.of(value, Math.nextUp(value), Math.nextDown(value)));
    float narrow = (float) value;
    floats.addAll(List.of(narrow, Math.nextUp(narrow), Math.nextDown(narrow)));
  }

  /** pgjdbc as a third opinion, by way of java.time and BigDecimal. */
  @Test
  void pgjdbcReadsTheSameValues() throws SQLException {
    Samples samples = new Samples();
    ServerSamples made = new ServerSamples(connection);
    agreeWithPgjdbc("int8", samples.longs(64), Long.class);
    agreeWithPgjdbc("int4", samples.longs(32), Integer.class);
    agreeWithPgjdbc("int2", samples.longs(16), Integer.class);
    agreeWithPgjdbc("oid", samples.unsigned(), Long.class);
    agreeWithPgjdbc("bool", List.of("true", "false"), Boolean.class);
    agreeWithPgjdbc("text", samples.texts(), String.class);
    agreeWithPgjdbc("uuid", samples.uuids(), UUID.class);
    agreeWithPgjdbc("bytea", samples.byteas(), rows -> rows.getBytes(1));
    agreeWithPgjdbc("float4", samples.floats(), Float.class);
    agreeWithPgjdbc("float8", samples.doubles(), Double.class);
    agreeWithPgjdbc("date", samples.dates(), LocalDate.class);
    agreeWithPgjdbc("time", samples.times(), LocalTime.class);
    agreeWithPgjdbc(
        "timetz",
        samples.zonedTimes().stream().filter(time -> !time.startsWith("24")).toList(),
        OffsetTime.class);
    agreeWithPgjdbc("timestamp", samples.timestamps(false), LocalDateTime.class);
    agreeWithPgjdbc("timestamptz", samples.timestamps(true), OffsetDateTime.class);
    agreeWithPgjdbc(
        "numeric",
        samples.numerics().stream().filter(n -> !n.matches("NaN|-?Infinity")).toList(),
        BigDecimal.class);
    // Its hours are an int.
    agreeWithPgjdbc(
        "interval",
        samples.intervals().stream().filter(interval -> !interval.contains("2562047788")).toList(),
        rows -> interval((PGInterval) rows.getObject(1)));
    for (String json : List.of("json", "jsonb")) {
      agreeWithPgjdbc(json, samples.jsons(), rows -> rows.getString(1));
    }
    agreeWithPgjdbc("money", made.amounts(), rows -> rows.getString(1));
    agreeWithPgjdbc("bit(17)", made.bits(17), rows -> rows.getString(1));
    agreeWithPgjdbc("varbit", samples.bits(), rows -> rows.getString(1));
    agreeWithPgjdbc("int8[]", made.arrays("int8", samples.longs(64)), TypesTest::array);
    agreeWithPgjdbc("text[]", made.arrays("text", samples.texts()), TypesTest::array);
    agreeWithPgjdbc(
        "numeric[]",
        made.arrays("numeric", samples.numerics().subList(30, 1000)),
        TypesTest::array);
    if (hstore) {
      agreeWithPgjdbc("hstore", made.hstores(samples.texts()), rows -> rows.getObject(1));
    }
    for (String kind : List.of("point", "lseg", "box", "path", "polygon", "line", "circle")) {
      agreeWithPgjdbc(kind, samples.geometry(kind), rows -> geometry(rows.getObject(1)));
    }
  }

  private static Interval interval(PGInterval theirs) {
    long seconds = theirs.getHours() * 3600L + theirs.getMinutes() * 60L + theirs.getWholeSeconds();
    return new Interval(
        theirs.getYears() * 12 + theirs.getMonths(),
        theirs.getDays(),
        seconds * 1_000_000 + theirs.getMicroSeconds());
  }

  private static Object array(ResultSet rows) throws SQLException {
    return listed(rows.getArray(1).getArray());
  }

  private static Object listed(Object value) {
    return value instanceof Object[] array
        ? Arrays.stream(array).map(TypesTest::listed).toList()
        : value;
  }

  private static Geometry geometry(Object theirs) {
    if (theirs instanceof PGlseg segment) {
      return new Geometry.Segment(point(segment.point[0]), point(segment.point[1]));
    } else if (theirs instanceof PGbox box) {
      return new Geometry.Box(point(box.point[0]), point(box.point[1]));
    } else if (theirs instanceof PGpath path) {
      return new Geometry.Path(
          !path.open, Arrays.stream(path.points).map(TypesTest::point).toList());
    } else if (theirs instanceof PGpolygon polygon) {
      return new Geometry.Polygon(Arrays.stream(polygon.points).map(TypesTest::point).toList());
    } else if (theirs instanceof PGline line) {
      return new Geometry.Line(line.a, line.b, line.c);
    } else if (theirs instanceof PGcircle circle) {
      return new Geometry.Circle(point(circle.center), circle.radius);
    }
    return point((PGpoint) theirs);
  }

  private static Geometry.Point point(PGpoint theirs) {
    return new Geometry.Point(theirs.x, theirs.y);
  }

  /** How pgjdbc reads the value. */
  private interface Theirs {
    Object read(ResultSet rows) throws SQLException;
  }

  private static void agreeWithPgjdbc(String type, List<String> values, Class<?> wanted)
      throws SQLException {
    // pgjdbc loses precision of years that need more than nine digits with their fraction, and
    // nothing else.
    agreeWithPgjdbc(type, values, rows -> rows.getObject(1, wanted));
  }

  private static void agreeWithPgjdbc(String type, List<String> values, Theirs theirs)
      throws SQLException {
    String select = "select v::" + type + " from unnest(";
    Result ours = connection.query(select + "$1::text[]) v", values);
    try (java.sql.Connection jdbc = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
        PreparedStatement statement = jdbc.prepareStatement(select + "?::text[]) v")) {
      statement.setArray(1, jdbc.createArrayOf("text", values.toArray()));
      try (ResultSet rows = statement.executeQuery()) {
        for (Row row : ours) {
          rows.next();
          same(theirs.read(rows), row.getObject(0), type + " " + row.getString(0));
        }
      }
    }
  }

  @Test
  void valuesAreOfTheDocumentedClasses() {
    Row row =
        connection
            .query(
                "select 1::int2, 2::int4, 3::int8, 'infinity'::timestamptz, '24:00'::time,"
                    + " 'NaN'::numeric, '[0:1]={5,6}'::int[], row(1,'x',null,null)::types.part,"
                    + " '[1,2)'::int4range, '1 day'::interval")
            .get(0);
    assertEquals(
        List.of(1, 2, 3L, OffsetDateTime.MAX, LocalTime.MAX, Double.NaN),
        Arrays.asList(row.toArray()).subList(0, 6));
    assertEquals(List.of(5, 6), row.getObject(6));
    assertEquals(0, ((PgArray) row.getObject(6)).lowerBounds()[0]);
    assertEquals("x", ((Composite) row.getObject(7)).get("b"));
    assertEquals(Range.of(1, 2), row.getObject(8));
    assertEquals(new Interval(0, 1, 0), row.getObject(9));
  }

  @Test
  void anAnonymousRecordIsReadFieldByField() {
    Row row =
        connection
            .query("select row(1, 'x'::text, null, 2.5, array[1,2], 'glad'::types.mood) as r")
            .get(0);
    assertEquals(
        Arrays.asList(1, "x", null, new BigDecimal("2.5"), List.of(1, 2), "glad"),
        row.getObject(0));
    assertEquals(
        row.getString(0),
        connection
            .query("select row(1, 'x'::text, null, 2.5, array[1,2], 'glad'::types.mood)::text")
            .get(0)
            .getString(0));
  }

  @Test
  void userCodecsAndParsersAreUsed() {
    TypeOptions options =
        new TypeOptions(
            Map.of("mood", new Loud()),
            bytes -> List.of(bytes.length),
            null,
            array -> "array of " + array.size());
    try (Connection own = Connection.open(PrivateServer.shared().config().types(options).build())) {
      for (Options format : List.of(Options.DEFAULT, TEXT)) {
        Row row =
            own.query(format, "select 'glad'::types.mood, '[1]'::jsonb, '{1,2}'::int[]").get(0);
        assertEquals("GLAD", row.getObject(0));
        assertEquals(List.of(3), row.getObject(1));
        assertEquals("array of 2", row.getObject(2));
        // A String would be the server's to read.
        Object loud = new StringBuilder("SAD");
        assertEquals(
            "sad", own.query(format, "select ($1::types.mood)::text", loud).get(0).getString(0));
        assertEquals("SAD", own.query(format, "select $1::types.mood", loud).get(0).getObject(0));
      }
    }
  }

  private static final class Loud extends Codec {
    Loud() {
      super("mood");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return parse(new String(bytes, offset, length));
    }

    @Override
    public Object parse(String text) {
      return text.toUpperCase();
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.text(value.toString().toLowerCase());
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      out.bytes(bytes, offset, length);
    }
  }
}
