package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.Connection;
import java.sql.SQLException;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Libraries that migrate databases, on this driver's DataSource. */
class MigrationTest {
  private HowdahDataSource source;

  @BeforeEach
  void connect() throws SQLException {
    source = new HowdahDataSource();
    source.setUrl(Howdah.url());
    source.setOptions("-c search_path=migrated");
    try (Connection connection = source.getConnection()) {
      Howdah.execute(connection, "drop schema if exists migrated cascade; create schema migrated");
    }
  }

  @Test
  void flywayMigrates() throws SQLException {
    Flyway flyway =
        Flyway.configure()
            .dataSource(source)
            .schemas("migrated")
            .locations("classpath:migrations")
            .load();
    assertEquals(2, flyway.migrate().migrationsExecuted);
    assertEquals(0, flyway.migrate().migrationsExecuted);
    flyway.validate();
    try (Connection connection = source.getConnection()) {
      Howdah.execute(connection, "update account set balance = 1 where id = 1");
      assertEquals(
          "2.00", Howdah.value(connection, "select balance from account where id = 1").toString());
    }
  }

  @Test
  void liquibaseMigratesAndRollsBack() throws Exception {
    try (Connection connection = source.getConnection()) {
      Database database =
          DatabaseFactory.getInstance()
              .findCorrectDatabaseImplementation(new JdbcConnection(connection));
      assertEquals("postgresql", database.getShortName());
      database.setDefaultSchemaName("migrated");
      try (Liquibase liquibase =
          new Liquibase("migrations/changelog.sql", new ClassLoaderResourceAccessor(), database)) {
        liquibase.update(new Contexts(), new LabelExpression());
        liquibase.update(new Contexts(), new LabelExpression());
        try (Connection other = source.getConnection()) {
          assertEquals("what?", Howdah.value(other, "select body from note"));
          liquibase.rollback(2, "");
          assertEquals(
              0L, Howdah.value(other, "select count(*) from pg_class where relname = 'note'"));
        }
      }
    }
  }
}
