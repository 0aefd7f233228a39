package dev.howdah.pg.frameworks;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import javax.sql.DataSource;
import liquibase.CatalogAndSchema;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffGeneratorFactory;
import liquibase.diff.DiffResult;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.DatabaseObject;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.PrimaryKey;
import liquibase.structure.core.Sequence;
import liquibase.structure.core.Table;
import liquibase.structure.core.UniqueConstraint;
import liquibase.structure.core.View;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.junit.jupiter.api.Test;

/** Flyway and Liquibase: a schema goes up, is looked at, and goes down again. */
class MigrationTest {
  @Test
  void flywayMigratesValidatesAndCleans() throws Exception {
    Agreement.of(
        "of_flyway",
        (source, told) -> {
          Flyway flyway =
              Flyway.configure()
                  .dataSource(source)
                  .locations("classpath:frameworks/flyway")
                  .cleanDisabled(false)
                  .initSql("set lock_timeout = '20s'")
                  .configuration(java.util.Map.of("flyway.postgresql.transactional.lock", "false"))
                  .load();
          told.tell("migrated", flyway.migrate().migrationsExecuted);
          told.tell("migrated again", flyway.migrate().migrationsExecuted);
          flyway.validate();
          for (MigrationInfo each : flyway.info().all()) {
            told.tell(
                "migration",
                each.getVersion()
                    + " "
                    + each.getDescription()
                    + " "
                    + each.getState()
                    + " "
                    + each.getChecksum());
          }
          told.tell("credits", column(source, "select credit from customer order by id"));
          told.tell("rich", column(source, "select email from rich"));
          try (Connection connection = source.getConnection()) {
            told.tellSchema(connection.getMetaData(), "of_flyway", "public", "customer");
            told.tellSchema(connection.getMetaData(), null, "public", "purchase");
          }
          Flyway broken =
              Flyway.configure().dataSource(source).locations("classpath:frameworks/broken").load();
          told.tellFailure("a migration that is missing", broken::validate);
          Flyway failing =
              Flyway.configure()
                  .dataSource(source)
                  .locations("classpath:frameworks/flyway", "classpath:frameworks/broken")
                  .load();
          told.tellFailure("a migration that fails", failing::migrate);
          told.tell(
              "nothing of it is left",
              column(source, "select count(*) from pg_class where relname = 'half'"));
          flyway.clean();
          told.tell(
              "left",
              column(
                  source,
                  "select count(*) from pg_class where relnamespace = 'public'::regnamespace"));
        });
  }

  @Test
  void liquibaseUpdatesSnapshotsAndRollsBack() throws Exception {
    Agreement.of(
        "of_liquibase",
        (source, told) -> {
          try (Connection connection = source.getConnection()) {
            Database database =
                DatabaseFactory.getInstance()
                    .findCorrectDatabaseImplementation(new JdbcConnection(connection));
            told.tell("database", database.getClass().getName());
            try (Liquibase liquibase =
                new Liquibase(
                    "frameworks/changelog.xml", new ClassLoaderResourceAccessor(), database)) {
              liquibase.update(new Contexts(), new LabelExpression());
              liquibase.update(new Contexts(), new LabelExpression());
              told.tell(
                  "unrun",
                  liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
              told.tell("credits", column(source, "select credit from customer order by email"));
              told.tell(
                  "since",
                  column(
                      source, "select since::text from customer where email < 'c' order by email"));
              told.tell("rich", column(source, "select email from rich order by 1"));
              snapshot(database, told);
              DiffResult same =
                  DiffGeneratorFactory.getInstance()
                      .compare(database, database, CompareControl.STANDARD);
              told.tell("equal to itself", same.areEqual());
              liquibase.rollback(2, "");
              told.tell(
                  "columns left",
                  column(
                      source,
                      "select attname from pg_attribute where attrelid = 'customer'::regclass and"
                          + " attnum > 0 and not attisdropped order by attnum"));
              liquibase.dropAll();
              told.tell(
                  "tables left",
                  column(
                      source,
                      "select relname from pg_class where relnamespace = 'public'::regnamespace"
                          + " order by 1"));
            }
          }
        });
  }

  /** Every object that Liquibase found, with what it knows of it. */
  private static void snapshot(Database database, Told told) throws Exception {
    List<Class<? extends DatabaseObject>> kinds =
        List.of(
            Table.class,
            Column.class,
            PrimaryKey.class,
            ForeignKey.class,
            Index.class,
            UniqueConstraint.class,
            View.class,
            Sequence.class);
    @SuppressWarnings("unchecked")
    Class<? extends DatabaseObject>[] all = kinds.toArray(Class[]::new);
    DatabaseSnapshot snapshot =
        SnapshotGeneratorFactory.getInstance()
            .createSnapshot(CatalogAndSchema.DEFAULT, database, new SnapshotControl(database, all));
    for (Class<? extends DatabaseObject> kind : kinds) {
      TreeSet<String> found = new TreeSet<>();
      for (DatabaseObject each : snapshot.get(kind)) {
        StringBuilder line = new StringBuilder(each.toString());
        for (String attribute : new TreeSet<>(each.getAttributes())) {
          Object value = each.getAttribute(attribute, Object.class);
          if (!(value instanceof DatabaseObject) && !(value instanceof Iterable<?>)) {
            line.append(' ').append(attribute).append('=').append(value);
          }
        }
        found.add(line.toString());
      }
      found.forEach(line -> told.tell(kind.getSimpleName(), line));
    }
  }

  private static List<Object> column(DataSource source, String sql) throws Exception {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      List<Object> values = new ArrayList<>();
      while (rows.next()) {
        values.add(rows.getObject(1));
      }
      return values;
    }
  }
}
