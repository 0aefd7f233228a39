package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * What JDBC asks of the database: facts here and above, tables and the like from {@link
 * TypeQueries}.
 */
final class JdbcDatabaseMetaData extends ServerLimits {
  private final JdbcConnection connection;
  private final TypeQueries queries;

  JdbcDatabaseMetaData(JdbcConnection connection) {
    this.connection = connection;
    this.queries = new TypeQueries(connection);
  }

  @Override
  public Connection getConnection() {
    return connection;
  }

  /** Where it is connected, without the password; several hosts are as they were given. */
  @Override
  public String getURL() {
    return HowdahDriver.PREFIX + "//" + connection.core.config();
  }

  @Override
  public String getUserName() throws SQLException {
    return connection.ask("select current_user").get(0).getString(0);
  }

  @Override
  public boolean isReadOnly() throws SQLException {
    return connection.isReadOnly();
  }

  @Override
  public String getDatabaseProductVersion() {
    return connection.core.parameter("server_version");
  }

  private int version(int part) {
    String[] parts = getDatabaseProductVersion().split("[^0-9]+");
    return part < parts.length ? Integer.parseInt(parts[part]) : 0;
  }

  @Override
  public int getDatabaseMajorVersion() {
    return version(0);
  }

  @Override
  public int getDatabaseMinorVersion() {
    return version(1);
  }

  @Override
  public String getDriverVersion() {
    return HowdahDriver.MAJOR + "." + HowdahDriver.MINOR;
  }

  @Override
  public int getDriverMajorVersion() {
    return HowdahDriver.MAJOR;
  }

  @Override
  public int getDriverMinorVersion() {
    return HowdahDriver.MINOR;
  }

  @Override
  public int getMaxConnections() throws SQLException {
    return connection.ask("select current_setting('max_connections')::int4").get(0).getInt(0);
  }

  /** The server's reserved words that SQL:2003 does not have. */
  @Override
  public String getSQLKeywords() throws SQLException {
    StringBuilder words = new StringBuilder();
    for (Row row :
        connection.ask(
            "select word from pg_catalog.pg_get_keywords() where catcode in ('R', 'T') order by"
                + " word")) {
      words.append(words.length() == 0 ? "" : ",").append(row.getString(0));
    }
    return words.toString();
  }

  @Override
  public int getDefaultTransactionIsolation() {
    return Connection.TRANSACTION_READ_COMMITTED;
  }

  @Override
  public boolean supportsTransactionIsolationLevel(int level) {
    return level == Connection.TRANSACTION_READ_UNCOMMITTED
        || level == Connection.TRANSACTION_READ_COMMITTED
        || level == Connection.TRANSACTION_REPEATABLE_READ
        || level == Connection.TRANSACTION_SERIALIZABLE;
  }

  @Override
  public boolean supportsResultSetType(int type) {
    return type != ResultSet.TYPE_SCROLL_SENSITIVE;
  }

  @Override
  public boolean supportsResultSetConcurrency(int type, int concurrency) {
    return supportsResultSetType(type)
        && (concurrency == ResultSet.CONCUR_READ_ONLY || concurrency == ResultSet.CONCUR_UPDATABLE);
  }

  @Override
  public boolean supportsResultSetHoldability(int holdability) {
    return holdability == ResultSet.HOLD_CURSORS_OVER_COMMIT
        || holdability == ResultSet.CLOSE_CURSORS_AT_COMMIT;
  }

  @Override
  public ResultSet getSchemas() throws SQLException {
    return getSchemas(null, null);
  }

  @Override
  public ResultSet getSchemas(String catalog, String schema) throws SQLException {
    return queries.schemas(catalog, schema);
  }

  @Override
  public ResultSet getCatalogs() throws SQLException {
    return queries.catalogs();
  }

  @Override
  public ResultSet getTableTypes() throws SQLException {
    return queries.tableTypes();
  }

  @Override
  public ResultSet getTables(String catalog, String schema, String table, String[] types)
      throws SQLException {
    return queries.tables(catalog, schema, table, types);
  }

  @Override
  public ResultSet getColumns(String catalog, String schema, String table, String column)
      throws SQLException {
    return queries.columns(catalog, schema, table, column);
  }

  @Override
  public ResultSet getPrimaryKeys(String catalog, String schema, String table) throws SQLException {
    return queries.primaryKeys(catalog, schema, table);
  }

  @Override
  public ResultSet getBestRowIdentifier(
      String catalog, String schema, String table, int scope, boolean nullable)
      throws SQLException {
    return queries.bestRow(catalog, schema, table, scope);
  }

  @Override
  public ResultSet getVersionColumns(String catalog, String schema, String table)
      throws SQLException {
    return queries.versionColumns(table);
  }

  @Override
  public ResultSet getImportedKeys(String catalog, String schema, String table)
      throws SQLException {
    return queries.foreignKeys(null, null, schema, table);
  }

  @Override
  public ResultSet getExportedKeys(String catalog, String schema, String table)
      throws SQLException {
    return queries.foreignKeys(schema, table, null, null);
  }

  @Override
  public ResultSet getCrossReference(
      String parentCatalog,
      String parentSchema,
      String parentTable,
      String foreignCatalog,
      String foreignSchema,
      String foreignTable)
      throws SQLException {
    return queries.foreignKeys(parentSchema, parentTable, foreignSchema, foreignTable);
  }

  @Override
  public ResultSet getIndexInfo(
      String catalog, String schema, String table, boolean unique, boolean approximate)
      throws SQLException {
    return queries.indexes(catalog, schema, table, unique);
  }

  @Override
  public ResultSet getTypeInfo() throws SQLException {
    return queries.types();
  }

  @Override
  public ResultSet getUDTs(String catalog, String schema, String type, int[] numbers)
      throws SQLException {
    return queries.userTypes(catalog, schema, type, numbers);
  }

  @Override
  public ResultSet getAttributes(String catalog, String schema, String type, String attribute)
      throws SQLException {
    return queries.attributes(catalog, schema, type, attribute);
  }

  @Override
  public ResultSet getFunctions(String catalog, String schema, String function)
      throws SQLException {
    return queries.functions(catalog, schema, function);
  }

  @Override
  public ResultSet getFunctionColumns(String catalog, String schema, String function, String column)
      throws SQLException {
    return queries.functionColumns(catalog, schema, function, column);
  }

  @Override
  public ResultSet getProcedures(String catalog, String schema, String procedure)
      throws SQLException {
    return queries.procedures(catalog, schema, procedure);
  }

  @Override
  public ResultSet getProcedureColumns(
      String catalog, String schema, String procedure, String column) throws SQLException {
    return queries.procedureColumns(catalog, schema, procedure, column);
  }

  @Override
  public ResultSet getTablePrivileges(String catalog, String schema, String table)
      throws SQLException {
    return queries.tablePrivileges(catalog, schema, table);
  }

  @Override
  public ResultSet getColumnPrivileges(String catalog, String schema, String table, String column)
      throws SQLException {
    return queries.columnPrivileges(catalog, schema, table, column);
  }

  @Override
  public ResultSet getSuperTypes(String catalog, String schema, String type) throws SQLException {
    return queries.superTypes();
  }

  @Override
  public ResultSet getSuperTables(String catalog, String schema, String table) throws SQLException {
    return queries.superTables(catalog, schema, table);
  }

  @Override
  public ResultSet getPseudoColumns(String catalog, String schema, String table, String column)
      throws SQLException {
    return queries.pseudoColumns();
  }

  @Override
  public ResultSet getClientInfoProperties() throws SQLException {
    return queries.clientInfo();
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this);
  }
}
