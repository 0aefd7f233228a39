package dev.howdah.pg.jdbc;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.JDBCType;
import java.sql.NClob;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * JDBC's types, each with an object in the midst of a transaction, and which of their methods ask
 * the server: the table is asks.txt.
 */
enum Asking {
  CONNECTION(Connection.class, "Connection", connection -> connection),
  STATEMENT(
      Statement.class,
      "Statement",
      connection -> {
        Statement statement = connection.createStatement();
        statement.addBatch("select 1");
        return statement;
      }),
  PREPARED_STATEMENT(
      PreparedStatement.class,
      "PreparedStatement",
      connection -> {
        PreparedStatement statement = connection.prepareStatement("select ?::text");
        statement.setString(1, "x");
        statement.addBatch();
        return statement;
      }),
  CALLABLE_STATEMENT(
      CallableStatement.class,
      "CallableStatement",
      connection -> {
        CallableStatement statement = connection.prepareCall("{? = call lower(?)}");
        statement.registerOutParameter(1, Types.VARCHAR);
        statement.setString(2, "X");
        statement.addBatch();
        statement.execute();
        return statement;
      }),
  /** It stands on the last row that was fetched. */
  RESULT_SET(
      ResultSet.class,
      "ResultSet",
      connection -> {
        Statement statement = connection.createStatement();
        statement.setFetchSize(2);
        ResultSet rows = statement.executeQuery("select f.* from frozen f, generate_series(1, 5)");
        rows.next();
        rows.next();
        return rows;
      }),
  UPDATABLE_RESULT_SET(ResultSet.class, "UpdatableResultSet", connection -> updatable(connection)),
  METADATA(DatabaseMetaData.class, "DatabaseMetaData", Connection::getMetaData),
  BLOB(Blob.class, "Blob", connection -> updatable(connection).getBlob("large")),
  CLOB(Clob.class, "Clob", connection -> updatable(connection).getClob("large"));

  /** What the tables' rows come from. */
  static final String[] TABLE = {
    "drop table if exists frozen",
    "create table frozen (id int primary key, note text, large oid)",
    "insert into frozen values (1, 'x', lo_from_bytea(0, 'large'))"
  };

  /** What makes the object, in a transaction that has begun. */
  private interface Making {
    Object of(Connection connection) throws SQLException;
  }

  private static final Map<String, Map<String, Boolean>> LISTED = read();

  private final Class<?> type;
  private final String listed;
  private final Making making;

  Asking(Class<?> type, String listed, Making making) {
    this.type = type;
    this.listed = listed;
    this.making = making;
  }

  private static ResultSet updatable(Connection connection) throws SQLException {
    ResultSet rows =
        connection
            .createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)
            .executeQuery("select * from frozen");
    rows.next();
    return rows;
  }

  /** The object whose methods are called. */
  Object of(Connection connection) throws SQLException {
    return making.of(connection);
  }

  /** All methods; those that close something come last. */
  List<Method> methods() {
    List<String> last = List.of("closeOnCompletion", "free", "close", "abort");
    return Arrays.stream(type.getMethods())
        .filter(method -> !Modifier.isStatic(method.getModifiers()))
        .sorted(
            Comparator.comparing((Method method) -> last.indexOf(method.getName()))
                .thenComparing(Asking::signature))
        .toList();
  }

  /** A method as the table has it. */
  static String signature(Method method) {
    return Arrays.stream(method.getParameterTypes())
        .map(Class::getSimpleName)
        .collect(Collectors.joining(",", method.getName() + "(", ")"));
  }

  /**
   * Whether a method asks; null if the table does not have it. What a newer JDK does by default
   * asks nothing.
   */
  Boolean asks(Method method) {
    Map<String, Boolean> rows = LISTED.get(listed);
    Boolean exact = rows.get(signature(method));
    Boolean found = exact != null ? exact : rows.get(method.getName());
    return found != null || !method.isDefault() ? found : Boolean.FALSE;
  }

  /** What the table names and the type does not have. */
  List<String> strangers() {
    List<String> known =
        Arrays.stream(type.getMethods())
            .flatMap(method -> Stream.of(method.getName(), signature(method)))
            .toList();
    return LISTED.get(listed).keySet().stream().filter(name -> !known.contains(name)).toList();
  }

  /** Calls a method with arguments that its types suggest. */
  Object call(Object object, Method method, Savepoint savepoint) throws SQLException {
    try {
      return method.invoke(object, arguments(method, savepoint));
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof SQLException error) {
        throw error;
      }
      if (e.getCause() instanceof UnsupportedOperationException error) {
        throw new SQLException(error);
      }
      throw new AssertionError(method.toString(), e.getCause());
    } catch (IllegalAccessException e) {
      throw new AssertionError(method.toString(), e);
    }
  }

  private Object[] arguments(Method method, Savepoint savepoint) {
    boolean label = type == ResultSet.class;
    boolean large = method.getName().matches("get(N?Clob|Blob)") && label;
    List<Object> arguments = new ArrayList<>();
    for (Class<?> wanted : method.getParameterTypes()) {
      if (wanted == String.class) {
        arguments.add(large ? "large" : label ? "id" : text(method));
      } else if (wanted == int.class) {
        arguments.add(large ? 3 : 1);
      } else {
        arguments.add(wanted == Savepoint.class ? savepoint : argument(wanted));
      }
    }
    if (method.getName().equals("setClientInfo") && arguments.size() == 2) {
      return new Object[] {"ApplicationName", "x"};
    }
    return arguments.toArray();
  }

  private static String text(Method method) {
    return switch (method.getName()) {
      case "prepareCall" -> "{call lower(?)}";
      case "createArrayOf" -> "int4";
      default -> "select 1";
    };
  }

  private static Object argument(Class<?> wanted) {
    Properties properties = new Properties();
    properties.setProperty("ApplicationName", "x");
    return Map.<Class<?>, Object>ofEntries(
            Map.entry(boolean.class, true),
            Map.entry(byte.class, (byte) 1),
            Map.entry(short.class, (short) 1),
            Map.entry(long.class, 1L),
            Map.entry(float.class, 1f),
            Map.entry(double.class, 1d),
            Map.entry(Object.class, "x"),
            Map.entry(byte[].class, new byte[] {1}),
            Map.entry(String[].class, new String[] {"x"}),
            Map.entry(int[].class, new int[] {1}),
            Map.entry(Object[].class, new Object[] {1}),
            Map.entry(BigDecimal.class, BigDecimal.ONE),
            Map.entry(Date.class, new Date(0)),
            Map.entry(Time.class, new Time(0)),
            Map.entry(Timestamp.class, new Timestamp(0)),
            Map.entry(Calendar.class, Calendar.getInstance()),
            Map.entry(InputStream.class, new ByteArrayInputStream(new byte[] {1})),
            Map.entry(Reader.class, new StringReader("x")),
            Map.entry(Blob.class, new JdbcBlob(new MemoryLob(new byte[] {1}))),
            Map.entry(Clob.class, new JdbcClob("x")),
            Map.entry(NClob.class, new JdbcClob("x")),
            Map.entry(SQLType.class, JDBCType.VARCHAR),
            Map.entry(Class.class, String.class),
            Map.entry(Map.class, Map.of()),
            Map.entry(Properties.class, properties),
            Map.entry(Executor.class, (Executor) Runnable::run))
        .get(wanted);
  }

  private static Map<String, Map<String, Boolean>> read() {
    Map<String, Map<String, Boolean>> all = new HashMap<>();
    Map<String, Boolean> rows = Map.of();
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                Asking.class.getResourceAsStream("/asks.txt"), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split("[ ]+");
        boolean asks = words[0].equals("asks:");
        if (asks || words[0].equals("nothing:")) {
          for (String name : List.of(words).subList(1, words.length)) {
            rows.put(name, asks);
          }
        } else if (!line.isEmpty() && !line.startsWith("#")) {
          rows = new HashMap<>(words.length > 1 ? all.get(words[1]) : Map.of());
          all.put(words[0].replace(":", ""), rows);
        }
      }
      return all;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
