package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PrivateServer;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The metadata of a small schema, much of it beside pgjdbc's. */
class DatabaseMetaDataTest {
  private static Connection ours;
  private static Connection theirs;

  @BeforeAll
  static void connect() throws SQLException {
    ours = Howdah.connect();
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    Howdah.execute(
        ours,
        "drop schema if exists shop cascade",
        "create schema shop",
        "create table shop.customer (id int generated always as identity primary key, name"
            + " varchar(40) not null, born date, balance numeric(10,2) default 0, tags text[],"
            + " payload jsonb, seen timestamptz(3), small int2, ratio float8, ok bool, upper_name"
            + " text generated always as (upper(name)) stored)",
        "comment on table shop.customer is 'who buys'",
        "comment on column shop.customer.name is 'full name'",
        "create table shop.\"order\" (region int, number int, customer int not null references"
            + " shop.customer on delete cascade on update set null, primary key (number, region))",
        "create table shop.item (id serial primary key, region int, number int, foreign key"
            + " (region, number) references shop.\"order\" (region, number) deferrable)",
        "create unique index customer_name on shop.customer (name desc) where name <> ''",
        "create index on shop.customer (lower(name), born)",
        "create view shop.names as select name from shop.customer",
        "create materialized view shop.balances as select balance from shop.customer",
        "create table shop.parted (a int) partition by range (a)",
        "create sequence shop.numbers",
        "create domain shop.positive as int check (value > 0)",
        "create type shop.pair as (a int, b text)",
        "create function shop.twice(n int, out doubled int) language sql as 'select n * 2'",
        "create procedure shop.nothing(a text) language sql as ''");
  }

  @AfterAll
  static void close() throws SQLException {
    Howdah.execute(ours, "drop schema shop cascade");
    ours.close();
    theirs.close();
  }

  /** The rows as maps from the columns' names in upper case to text. */
  private static List<Map<String, String>> rows(ResultSet result) throws SQLException {
    List<Map<String, String>> rows = new ArrayList<>();
    while (result.next()) {
      Map<String, String> row = new TreeMap<>();
      for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
        String value = result.getString(i);
        // pgjdbc has the letters alone.
        String whole = "t".equals(value) ? "true" : "f".equals(value) ? "false" : value;
        row.put(result.getMetaData().getColumnLabel(i).toUpperCase(), whole);
      }
      rows.add(row);
    }
    result.close();
    return rows;
  }

  private interface Question {
    ResultSet ask(DatabaseMetaData data) throws SQLException;
  }

  /** Both drivers must answer alike, apart from some columns. */
  private static List<Map<String, String>> alike(Question question, String... apart)
      throws SQLException {
    List<Map<String, String>> mine = rows(question.ask(ours.getMetaData()));
    List<Map<String, String>> other = rows(question.ask(theirs.getMetaData()));
    assertEquals(other.size(), mine.size());
    for (int i = 0; i < mine.size(); i++) {
      Map<String, String> expected = new TreeMap<>(other.get(i));
      Map<String, String> actual = new TreeMap<>(mine.get(i));
      expected.keySet().removeAll(Set.of(apart));
      actual.keySet().removeAll(Set.of(apart));
      assertEquals(expected, actual);
    }
    return mine;
  }

  @Test
  void tablesAreListedAsPgjdbcDoes() throws SQLException {
    // In pgjdbc the catalog is null in some versions, and what is not known an empty text.
    String[] apart = {
      "TABLE_CAT",
      "TYPE_CAT",
      "TYPE_SCHEM",
      "TYPE_NAME",
      "SELF_REFERENCING_COL_NAME",
      "REF_GENERATION"
    };
    alike(data -> data.getTables(null, "shop", "%", null), apart);
    alike(data -> data.getTables(null, "shop", "cust%", new String[] {"TABLE", "VIEW"}), apart);
    alike(data -> data.getTables(null, "pg_catalog", "pg_cl%", null), apart);
    assertEquals(
        1,
        rows(ours.getMetaData().getTables("postgres", "shop", "customer", new String[] {"TABLE"}))
            .size());
    assertEquals(
        0, rows(ours.getMetaData().getTables("elsewhere", "shop", "customer", null)).size());
    assertEquals(
        "who buys",
        rows(ours.getMetaData().getTables(null, "shop", "customer", null)).get(0).get("REMARKS"));
    alike(DatabaseMetaData::getTableTypes);
  }

  @Test
  void columnsAreListedAsPgjdbcDoes() throws SQLException {
    List<Map<String, String>> columns =
        alike(
            data -> data.getColumns(null, "shop", "customer", "%"),
            "TABLE_CAT",
            "BUFFER_LENGTH",
            "SQL_DATA_TYPE",
            "SQL_DATETIME_SUB",
            "SCOPE_CATALOG",
            "SCOPE_SCHEMA",
            "SCOPE_TABLE",
            "SOURCE_DATA_TYPE",
            "CHAR_OCTET_LENGTH",
            "TYPE_NAME",
            "NUM_PREC_RADIX",
            "COLUMN_DEF");
    assertEquals(11, columns.size());
    assertEquals("full name", columns.get(1).get("REMARKS"));
    assertEquals("0", columns.get(3).get("COLUMN_DEF"));
    assertEquals(1, rows(ours.getMetaData().getColumns(null, "shop", "customer", "na%")).size());
    assertEquals(
        0, rows(ours.getMetaData().getColumns(null, "shop", "customer", "upper\\%name")).size());
    assertEquals(
        1, rows(ours.getMetaData().getColumns(null, "shop", "customer", "upper\\_name")).size());
    assertEquals(1, rows(ours.getMetaData().getColumns(null, null, "pg_class", "relname")).size());
  }

  @Test
  void keysAndIndexesAreListedAsPgjdbcDoes() throws SQLException {
    alike(data -> data.getPrimaryKeys(null, "shop", "order"), "TABLE_CAT");
    alike(data -> data.getImportedKeys(null, "shop", "item"), "PKTABLE_CAT", "FKTABLE_CAT");
    alike(data -> data.getExportedKeys(null, "shop", "customer"), "PKTABLE_CAT", "FKTABLE_CAT");
    alike(
        data -> data.getCrossReference(null, "shop", "order", null, "shop", "item"),
        "PKTABLE_CAT",
        "FKTABLE_CAT");
    List<Map<String, String>> indexes =
        alike(
            data -> data.getIndexInfo(null, "shop", "customer", false, false),
            "TABLE_CAT",
            "CARDINALITY",
            "PAGES",
            "INDEX_QUALIFIER");
    assertEquals(4, indexes.size());
    assertEquals(
        2, rows(ours.getMetaData().getIndexInfo(null, "shop", "customer", true, false)).size());
    assertEquals(
        2,
        rows(ours.getMetaData()
                .getBestRowIdentifier(null, "shop", "order", DatabaseMetaData.bestRowSession, true))
            .size());
    assertEquals(
        "xmin",
        rows(ours.getMetaData().getVersionColumns(null, "shop", "order"))
            .get(0)
            .get("COLUMN_NAME"));
  }

  @Test
  void schemasTypesAndFunctionsAreListed() throws SQLException {
    alike(data -> data.getSchemas(null, "sh%"), "TABLE_CATALOG");
    assertTrue(
        rows(ours.getMetaData().getSchemas()).stream()
            .anyMatch(row -> row.get("TABLE_SCHEM").equals("public")));
    assertTrue(
        rows(ours.getMetaData().getCatalogs()).stream()
            .anyMatch(row -> row.get("TABLE_CAT").equals("postgres")));
    assertTrue(
        rows(ours.getMetaData().getTypeInfo()).stream()
            .anyMatch(
                row -> row.get("TYPE_NAME").equals("int4") && row.get("DATA_TYPE").equals("4")));
    assertEquals(
        List.of("positive", "pair"),
        rows(ours.getMetaData().getUDTs(null, "shop", "%", null)).stream()
            .map(row -> row.get("TYPE_NAME"))
            .toList());
    assertEquals(
        1,
        rows(ours.getMetaData().getUDTs(null, "shop", "%", new int[] {java.sql.Types.STRUCT}))
            .size());
    assertEquals(2, rows(ours.getMetaData().getAttributes(null, "shop", "pair", "%")).size());
    assertEquals(1, rows(ours.getMetaData().getFunctions(null, "shop", "%")).size());
    assertEquals(
        List.of("returnValue", "n", "doubled"),
        rows(ours.getMetaData().getFunctionColumns(null, "shop", "twice", "%")).stream()
            .map(row -> row.get("COLUMN_NAME"))
            .toList());
    assertEquals(1, rows(ours.getMetaData().getProcedures(null, "shop", "%")).size());
    assertEquals(
        1, rows(ours.getMetaData().getProcedureColumns(null, "shop", "nothing", "%")).size());
  }

  @Test
  void privilegesAndTheRestAnswer() throws SQLException {
    assertTrue(
        rows(ours.getMetaData().getTablePrivileges(null, "shop", "customer")).stream()
            .anyMatch(row -> row.get("PRIVILEGE").equals("SELECT")));
    assertFalse(
        rows(ours.getMetaData().getColumnPrivileges(null, "shop", "customer", "name")).isEmpty());
    assertEquals(0, rows(ours.getMetaData().getSuperTypes(null, "shop", "%")).size());
    assertEquals(0, rows(ours.getMetaData().getSuperTables(null, "shop", "%")).size());
    assertEquals(0, rows(ours.getMetaData().getPseudoColumns(null, "shop", "%", "%")).size());
    assertEquals(
        "ApplicationName", rows(ours.getMetaData().getClientInfoProperties()).get(0).get("NAME"));
  }

  @Test
  void theServerIsNamed() throws SQLException {
    DatabaseMetaData data = ours.getMetaData();
    assertEquals("PostgreSQL", data.getDatabaseProductName());
    assertEquals(
        theirs.getMetaData().getDatabaseProductVersion(), data.getDatabaseProductVersion());
    assertEquals(theirs.getMetaData().getDatabaseMajorVersion(), data.getDatabaseMajorVersion());
    assertEquals("tester", data.getUserName());
    assertTrue(data.getSQLKeywords().contains("returning"));
    assertEquals(60, data.getMaxConnections());
  }

  /**
   * What differs on purpose: functions called by escapes, and what this driver's result sets do.
   */
  private static final Set<String> DIFFERENT =
      Set.of(
          "getDriverName",
          "getDriverVersion",
          "getDriverMajorVersion",
          "getDriverMinorVersion",
          "getURL",
          "getSQLKeywords",
          "getJDBCMinorVersion",
          "isReadOnly",
          "getMaxConnections",
          "getConnection",
          "getRowIdLifetime",
          "allProceduresAreCallable",
          "getMaxColumnsInSelect",
          "supportsMultipleOpenResults",
          "getResultSetHoldability",
          "supportsStatementPooling",
          "supportsStoredFunctionsUsingCallSyntax",
          "supportsRefCursors");

  @Test
  void factsAreThoseOfPgjdbc() throws ReflectiveOperationException, SQLException {
    List<String> differences = new ArrayList<>();
    for (Method method : DatabaseMetaData.class.getMethods()) {
      if (method.getParameterCount() == 0
          && method.getReturnType() != ResultSet.class
          && !DIFFERENT.contains(method.getName())) {
        Object mine = method.invoke(ours.getMetaData());
        Object other = method.invoke(theirs.getMetaData());
        if (!mine.equals(other)) {
          differences.add(method.getName() + ": " + mine + ", pgjdbc " + other);
        }
      }
    }
    assertEquals(List.of(), differences);
  }
}
