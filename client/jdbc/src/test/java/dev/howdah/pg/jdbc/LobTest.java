package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PrivateServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.StringReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.NClob;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Blob and Clob over large objects, beside pgjdbc, and over bytea and text. */
class LobTest {
  /** More than one part, and not a whole number of them. */
  private static final byte[] LARGE = new byte[2 * JdbcBlob.CHUNK + 12_345];

  static {
    new Random(7).nextBytes(LARGE);
  }

  private Connection ours;
  private Connection theirs;

  @BeforeEach
  void connect() throws SQLException {
    ours = Howdah.connect();
    Howdah.execute(
        ours,
        "create table if not exists lobs (id int primary key, number oid, bytes bytea, words text)",
        "select lo_unlink(number) from lobs where number is not null",
        "truncate lobs");
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    ours.setAutoCommit(false);
    theirs.setAutoCommit(false);
  }

  @AfterEach
  void close() throws SQLException {
    ours.close();
    theirs.close();
  }

  private interface Setter {
    void set(PreparedStatement statement) throws SQLException;
  }

  private static void insert(Connection connection, String column, Setter setter)
      throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("insert into lobs (" + column + ", id) values (?, 1)")) {
      setter.set(insert);
      assertEquals(1, insert.executeUpdate());
    }
    if (!connection.getAutoCommit()) {
      connection.commit();
    }
  }

  private static ResultSet row(Connection connection, String column) throws SQLException {
    ResultSet rows =
        connection.createStatement().executeQuery("select " + column + " from lobs where id = 1");
    assertTrue(rows.next());
    return rows;
  }

  private static byte[] stored(Connection connection) throws SQLException, IOException {
    return row(connection, "number").getBlob(1).getBinaryStream().readAllBytes();
  }

  /** Bytes of which no more are read than were announced. */
  private static InputStream more(byte[] bytes) {
    return new ByteArrayInputStream(Arrays.copyOf(bytes, bytes.length + 9));
  }

  @TestFactory
  List<DynamicTest> whatOneDriverWritesTheOtherReads() {
    Map<String, Setter> setters = new LinkedHashMap<>();
    setters.put("a stream", s -> s.setBlob(1, new ByteArrayInputStream(LARGE)));
    setters.put("a stream and its length", s -> s.setBlob(1, more(LARGE), LARGE.length));
    setters.put(
        "a stream of type BLOB", s -> s.setObject(1, new ByteArrayInputStream(LARGE), Types.BLOB));
    setters.put("a Blob", s -> s.setBlob(1, new JdbcBlob(new MemoryLob(LARGE))));
    setters.put("a Blob as an object", s -> s.setObject(1, new JdbcBlob(new MemoryLob(LARGE))));
    setters.put(
        "a Blob of type BLOB", s -> s.setObject(1, new JdbcBlob(new MemoryLob(LARGE)), Types.BLOB));
    return setters.entrySet().stream()
        .map(
            setter ->
                DynamicTest.dynamicTest(
                    setter.getKey(),
                    () -> {
                      for (Connection writer : List.of(ours, theirs)) {
                        Howdah.execute(ours, "delete from lobs");
                        ours.commit();
                        insert(writer, "number", setter.getValue());
                        assertArrayEquals(LARGE, stored(ours));
                        assertArrayEquals(LARGE, stored(theirs));
                        ours.commit();
                        theirs.commit();
                      }
                    }))
        .toList();
  }

  @Test
  void aTextInALargeObjectIsReadByBoth() throws SQLException, IOException {
    String text = "äé😀".repeat(100_000);
    for (Connection writer : List.of(ours, theirs)) {
      Howdah.execute(ours, "delete from lobs");
      ours.commit();
      insert(writer, "number", s -> s.setClob(1, new JdbcClob(text)));
      for (Connection reader : List.of(ours, theirs)) {
        StringBuilder read = new StringBuilder();
        Reader stream = row(reader, "number").getClob(1).getCharacterStream();
        for (int c = stream.read(); c >= 0; c = stream.read()) {
          read.append((char) c);
        }
        assertTrue(text.contentEquals(read));
        reader.commit();
      }
    }
  }

  /** Something that is done to a Blob of the bytes 0 to 255, and what comes of it. */
  private interface Use {
    Object of(Blob blob) throws SQLException, IOException;
  }

  private static final Map<String, Use> USES = new LinkedHashMap<>();

  static {
    USES.put("length", Blob::length);
    USES.put("getBytes", blob -> blob.getBytes(1, 5));
    USES.put("getBytes from within", blob -> blob.getBytes(250, 5));
    USES.put("getBytes of none", blob -> blob.getBytes(7, 0));
    USES.put("getBytes beyond the end", blob -> blob.getBytes(255, 9));
    USES.put("getBytes behind the end", blob -> blob.getBytes(400, 9));
    USES.put("getBytes from 0", blob -> blob.getBytes(0, 9));
    USES.put("position", blob -> blob.position(new byte[] {5, 6}, 1));
    USES.put("position of nothing there", blob -> blob.position(new byte[] {6, 5}, 1));
    USES.put(
        "position of a Blob",
        blob -> blob.position(new JdbcBlob(new MemoryLob(new byte[] {9})), 1));
    USES.put("position from 0", blob -> blob.position(new byte[] {9}, 0));
    USES.put("getBinaryStream", blob -> blob.getBinaryStream().readAllBytes());
    USES.put("getBinaryStream of a part", blob -> blob.getBinaryStream(3, 4).readAllBytes());
    USES.put("a byte of a stream", blob -> blob.getBinaryStream().read());
    USES.put("setBytes", blob -> blob.setBytes(2, new byte[] {7, 8}));
    USES.put("setBytes of a part", blob -> blob.setBytes(2, new byte[] {7, 8, 9, 10}, 1, 2));
    USES.put("setBytes at the end", blob -> blob.setBytes(257, new byte[] {7, 8}));
    USES.put("setBytes behind the end", blob -> blob.setBytes(300, new byte[] {7, 8}));
    USES.put("setBytes at 0", blob -> blob.setBytes(0, new byte[] {7, 8}));
    USES.put(
        "setBinaryStream",
        blob -> {
          try (OutputStream stream = blob.setBinaryStream(10)) {
            stream.write(1);
            stream.write(new byte[] {2, 3, 4}, 1, 2);
          }
          return null;
        });
    USES.put(
        "truncate",
        blob -> {
          blob.truncate(10);
          return blob.length();
        });
    USES.put(
        "truncate to less than nothing",
        blob -> {
          blob.truncate(-1);
          return null;
        });
    USES.put(
        "free",
        blob -> {
          blob.free();
          blob.free();
          return blob.length();
        });
  }

  private static String shown(Use use, Blob blob) throws IOException {
    try {
      Object value = use.of(blob);
      return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    } catch (SQLException e) {
      return e.getSQLState();
    }
  }

  private static byte[] counting() {
    byte[] bytes = new byte[256];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }
    return bytes;
  }

  @TestFactory
  List<DynamicTest> aBlobDoesWhatPgjdbcsDoes() {
    return USES.entrySet().stream()
        .map(
            use ->
                DynamicTest.dynamicTest(
                    use.getKey(),
                    () -> {
                      Map<String, String> seen = new LinkedHashMap<>();
                      for (Connection each : List.of(theirs, ours)) {
                        Howdah.execute(each, "delete from lobs");
                        insert(
                            each,
                            "number",
                            s -> s.setBlob(1, new ByteArrayInputStream(counting())));
                        String shown = shown(use.getValue(), row(each, "number").getBlob(1));
                        if (each.isValid(1)) {
                          each.commit();
                          shown += " " + Arrays.toString(stored(each));
                        }
                        seen.put(each == ours ? "ours" : "pgjdbc", shown);
                        each.rollback();
                      }
                      assertEquals(seen.get("pgjdbc"), seen.get("ours"));
                      JdbcBlob memory = new JdbcBlob(new MemoryLob(counting()));
                      String shown = shown(use.getValue(), memory);
                      if (!use.getKey().equals("free")) {
                        shown += " " + Arrays.toString(memory.getBinaryStream().readAllBytes());
                        assertEquals(seen.get("ours"), shown, "in memory");
                      }
                    }))
        .toList();
  }

  @Test
  void whatLiesAcrossPartsIsFound() throws SQLException {
    int at = JdbcBlob.CHUNK - 3;
    byte[] pattern = Arrays.copyOfRange(LARGE, at, at + 9);
    insert(ours, "number", s -> s.setBlob(1, new ByteArrayInputStream(LARGE)));
    Blob blob = row(ours, "number").getBlob(1);
    assertEquals(at + 1, blob.position(pattern, 1));
    assertEquals(at + 1, blob.position(pattern, at + 1));
    assertEquals(-1, blob.position(pattern, at + 2));
    byte[] last = Arrays.copyOfRange(LARGE, LARGE.length - 5, LARGE.length);
    assertEquals(LARGE.length - 4, blob.position(last, 1));
  }

  @Test
  void aBlobIsReadWithAutoCommitAndMadeWithout() throws SQLException, IOException {
    insert(ours, "number", s -> s.setBlob(1, new ByteArrayInputStream(counting())));
    ours.setAutoCommit(true);
    assertArrayEquals(counting(), stored(ours));
    row(ours, "number").getBlob(1).setBytes(1, new byte[] {9});
    assertEquals(9, stored(ours)[0]);
    Howdah.execute(ours, "delete from lobs");
    assertEquals(
        "25P01",
        Howdah.state(
            () -> insert(ours, "number", s -> s.setBlob(1, new ByteArrayInputStream(counting())))));
  }

  @Test
  void aRollbackTakesALargeObjectBack() throws SQLException {
    try (PreparedStatement insert =
        ours.prepareStatement("insert into lobs (number, id) values (?, 1) returning number")) {
      insert.setBlob(1, new ByteArrayInputStream(LARGE));
      assertTrue(insert.execute());
      insert.getResultSet().next();
      long number = insert.getResultSet().getLong(1);
      ours.rollback();
      assertEquals(
          0L,
          Howdah.value(ours, "select count(*) from pg_largeobject_metadata where oid = " + number));
    }
  }

  @Test
  void theDomainOfThoseThatManageLargeObjectsIsKnown() throws SQLException, IOException {
    Howdah.execute(
        ours, "create domain pg_temp.lo as oid", "create temp table managed (number pg_temp.lo)");
    try (PreparedStatement insert = ours.prepareStatement("insert into managed values (?)")) {
      insert.setBlob(1, new ByteArrayInputStream(counting()));
      insert.executeUpdate();
    }
    try (ResultSet rows = ours.createStatement().executeQuery("select number from managed")) {
      rows.next();
      assertArrayEquals(counting(), rows.getBlob(1).getBinaryStream().readAllBytes());
    }
    Howdah.execute(ours, "select lo_unlink(number) from managed");
  }

  @Test
  void byteaAndTextHoldTheValueItself() throws SQLException, IOException {
    ours.setAutoCommit(true);
    insert(ours, "bytes", s -> s.setBlob(1, more(counting()), 256));
    assertArrayEquals(counting(), row(ours, "bytes").getBytes(1));
    Blob blob = row(ours, "bytes").getBlob(1);
    assertArrayEquals(counting(), blob.getBinaryStream().readAllBytes());
    Howdah.execute(ours, "delete from lobs");
    insert(ours, "words", s -> s.setClob(1, new StringReader("äé😀 words"), 8));
    assertEquals("äé😀 wor", row(ours, "words").getString(1));
    assertEquals("äé😀 wor", row(ours, "words").getClob(1).getSubString(1, 100));
    assertEquals("äé😀 wor", row(ours, "words").getObject(1, NClob.class).getSubString(1, 100));
    assertArrayEquals(
        new byte[0], row(ours, "coalesce(bytes, '')").getObject(1, Blob.class).getBytes(1, 9));
    assertNull(row(ours, "bytes").getBlob(1));
    assertNull(row(ours, "null::text").getClob(1));
    assertEquals("22018", Howdah.state(() -> row(ours, "words").getBlob(1)));
  }

  @Test
  void blobsAndClobsThatTheConnectionMakesAreSent() throws SQLException, IOException {
    Blob blob = ours.createBlob();
    try (OutputStream stream = blob.setBinaryStream(1)) {
      stream.write(LARGE);
    }
    Clob clob = ours.createClob();
    try (Writer writer = clob.setCharacterStream(1)) {
      writer.write("written");
    }
    try (PreparedStatement insert =
        ours.prepareStatement("insert into lobs values (1, ?, ?, ?), (2, null, ?, ?)")) {
      insert.setBlob(1, blob);
      insert.setBlob(2, blob);
      insert.setClob(3, clob);
      insert.setBlob(4, (Blob) null);
      insert.setNClob(5, (NClob) null);
      insert.executeUpdate();
    }
    assertArrayEquals(LARGE, stored(ours));
    assertArrayEquals(LARGE, row(ours, "bytes").getBytes(1));
    assertEquals("written", row(ours, "words").getString(1));
    assertEquals(
        1L, Howdah.value(ours, "select count(*) from lobs where bytes is null and words is null"));
    ours.commit();
  }

  @Test
  void aClobIsReadAndChanged() throws SQLException, IOException {
    Clob clob = new JdbcClob("a text of words");
    assertEquals(15, clob.length());
    assertEquals("text", clob.getSubString(3, 4));
    assertEquals("", clob.getSubString(99, 4));
    assertEquals(3, clob.position("text", 1));
    assertEquals(-1, clob.position("text", 4));
    assertEquals(-1, clob.position("", 99));
    assertEquals(8, clob.position(new JdbcClob("of"), 1));
    assertEquals(
        "of",
        new String(clob.getAsciiStream().readAllBytes(), StandardCharsets.US_ASCII)
            .substring(7, 9));
    assertEquals('t', clob.getCharacterStream(3, 4).read());
    assertEquals(4, clob.setString(3, "TEXT"));
    assertEquals(2, clob.setString(14, "xyz!", 1, 2));
    assertEquals("a TEXT of woryz", clob.getSubString(1, 99));
    try (OutputStream stream = clob.setAsciiStream(16)) {
      stream.write('.');
    }
    assertEquals("a TEXT of woryz.", clob.getSubString(1, 99));
    clob.truncate(6);
    assertEquals("a TEXT", clob.getSubString(1, 99));
    assertEquals("22023", Howdah.state(() -> clob.setString(9, "x")));
    assertEquals("22023", Howdah.state(() -> clob.getSubString(0, 1)));
    assertEquals("22023", Howdah.state(() -> clob.getSubString(1, -1)));
    clob.free();
    assertEquals("55000", Howdah.state(clob::length));
  }

  @Test
  void aStreamThatEndsTooSoonOrFailsIsAnError() {
    assertEquals(
        "22000",
        Howdah.state(
            () ->
                insert(
                    ours,
                    "number",
                    s -> s.setBlob(1, new ByteArrayInputStream(LARGE), LARGE.length + 1L))));
    InputStream failing =
        new InputStream() {
          @Override
          public int read() throws IOException {
            throw new IOException("broken");
          }
        };
    assertEquals("22000", Howdah.state(() -> insert(ours, "number", s -> s.setBlob(1, failing))));
    assertEquals(
        "22018", Howdah.state(() -> insert(ours, "number", s -> s.setObject(1, 5, Types.BLOB))));
  }
}
