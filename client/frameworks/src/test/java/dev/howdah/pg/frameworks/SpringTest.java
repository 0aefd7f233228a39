package dev.howdah.pg.frameworks;

import java.math.BigDecimal;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.BeanPropertyRowMapper;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowMapper;
import org.springframework.jdbc.core.namedparam.BeanPropertySqlParameterSource;
import org.springframework.jdbc.core.namedparam.MapSqlParameterSource;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.simple.SimpleJdbcCall;
import org.springframework.jdbc.core.simple.SimpleJdbcInsert;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.transaction.support.TransactionTemplate;

/** Spring's JdbcTemplate and what stands on it. */
class SpringTest {
  /** A row of the table, as a bean. */
  public static final class Customer {
    private long id;
    private String email;
    private BigDecimal credit;
    private OffsetDateTime since;

    public long getId() {
      return id;
    }

    public void setId(long id) {
      this.id = id;
    }

    public String getEmail() {
      return email;
    }

    public void setEmail(String email) {
      this.email = email;
    }

    public BigDecimal getCredit() {
      return credit;
    }

    public void setCredit(BigDecimal credit) {
      this.credit = credit;
    }

    public OffsetDateTime getSince() {
      return since;
    }

    public void setSince(OffsetDateTime since) {
      this.since = since;
    }

    @Override
    public String toString() {
      return id + " " + email + " " + credit + " " + (since == null ? null : since.toInstant());
    }
  }

  private static final String SCHEMA =
      """
      create table customer (id bigint generated always as identity primary key, email text not null unique,
        credit numeric(12, 2) not null default 0 check (credit >= 0), since timestamptz, tags text[], token uuid, photo bytea);
      create function spend(who bigint, amount numeric) returns numeric language plpgsql as $$
        begin update customer set credit = credit - amount where id = who returning credit into amount; return amount; end $$;
      create procedure give(who bigint, amount numeric, inout total numeric) language plpgsql as $$
        begin update customer set credit = credit + amount where id = who returning credit into total; end $$\
      """;

  @Test
  void jdbcTemplateReadsWritesAndTranslatesErrors() throws Exception {
    Agreement.of(
        "of_spring",
        (source, told) -> {
          JdbcTemplate template = new JdbcTemplate(source);
          template.execute(SCHEMA);
          GeneratedKeyHolder keys = new GeneratedKeyHolder();
          told.tell(
              "inserted",
              template.update(
                  connection -> {
                    var statement =
                        connection.prepareStatement(
                            "insert into customer (email, credit, tags, token, photo) values (?, ?,"
                                + " ?, ?, ?)",
                            new String[] {"id", "credit"});
                    statement.setString(1, "a@x");
                    statement.setBigDecimal(2, new BigDecimal("10.50"));
                    statement.setArray(
                        3, connection.createArrayOf("text", new Object[] {"new", null, "a,b"}));
                    statement.setObject(4, new UUID(1, 2));
                    statement.setBytes(5, new byte[] {0, 1, -1});
                    return statement;
                  },
                  keys));
          told.tell("keys", keys.getKeys());
          told.tell(
              "batch",
              Stream.of(
                      template.batchUpdate(
                          "insert into customer (email, credit) values (?, ?)",
                          List.of(
                              new Object[] {"b@x", 1},
                              new Object[] {"c@x", new BigDecimal("2.25")})))
                  .map(int[]::clone)
                  .map(java.util.Arrays::toString)
                  .toList());
          told.tell(
              "one",
              template.queryForObject(
                  "select count(*) from customer where email like ? and credit > ?",
                  Long.class,
                  "%@x",
                  0));
          told.tell(
              "map",
              template.queryForMap(
                  "select id, email, credit, tags, token, photo, since from customer where email ="
                      + " ?",
                  "a@x"));
          told.tell(
              "list",
              template.queryForList("select email from customer order by id", String.class));
          told.tell(
              "rows",
              template.queryForList(
                  "select id, credit::float8 as credit, email like 'a%' as first from customer"
                      + " order by id"));
          RowMapper<Customer> bean = new BeanPropertyRowMapper<>(Customer.class);
          told.tell("bean", template.query("select * from customer where id = ?", bean, 2));
          List<Object> streamed = new ArrayList<>();
          template.setFetchSize(1);
          try (Stream<Object> rows =
              template.queryForStream(
                  "select email from customer order by 1",
                  (row, number) -> row.getString(1) + number)) {
            rows.forEach(streamed::add);
          }
          told.tell("stream", streamed);
          told.tellFailure(
              "a double", () -> template.update("insert into customer (email) values ('a@x')"));
          told.tellFailure("a check", () -> template.update("update customer set credit = -1"));
          told.tellFailure(
              "a null",
              () ->
                  template.update("insert into customer (email) values (?)", new Object[] {null}));
          told.tellFailure(
              "bad grammar", () -> template.queryForList("select nothing from customer"));
          told.tellFailure(
              "no row",
              () ->
                  template.queryForObject(
                      "select email from customer where id = -1", String.class));
          told.tellFailure(
              "too many rows",
              () -> template.queryForObject("select email from customer", String.class));
          JdbcTemplate hasty = new JdbcTemplate(source);
          hasty.setQueryTimeout(1);
          told.tellFailure("a timeout", () -> hasty.queryForList("select pg_sleep(20)"));
        });
  }

  @Test
  void whatStandsOnItBindsByNameCallsInsertsAndRollsBack() throws Exception {
    Agreement.of(
        "of_spring_too",
        (source, told) -> {
          JdbcTemplate template = new JdbcTemplate(source);
          template.execute(SCHEMA);
          NamedParameterJdbcTemplate named = new NamedParameterJdbcTemplate(template);
          Customer customer = new Customer();
          customer.setEmail("n@x");
          customer.setCredit(new BigDecimal("7"));
          customer.setSince(OffsetDateTime.parse("2024-02-29T12:00:00.123456+02:00"));
          told.tell(
              "by bean",
              named.update(
                  "insert into customer (email, credit, since) values (:email, :credit, :since)",
                  new BeanPropertySqlParameterSource(customer)));
          told.tell(
              "by names",
              named.queryForList(
                  "select email from customer where email in (:emails) and credit > :least",
                  new MapSqlParameterSource(Map.of("emails", List.of("n@x", "m@x"), "least", 1)),
                  String.class));
          SimpleJdbcInsert insert =
              new SimpleJdbcInsert(source)
                  .withTableName("customer")
                  .usingColumns("email", "credit")
                  .usingGeneratedKeyColumns("id");
          told.tell("key", insert.executeAndReturnKey(Map.of("email", "s@x", "credit", 5)));
          told.tell(
              "spent",
              new SimpleJdbcCall(source)
                  .withFunctionName("spend")
                  .executeFunction(
                      BigDecimal.class, Map.of("who", 1L, "amount", new BigDecimal("2"))));
          told.tell(
              "given",
              new SimpleJdbcCall(source)
                  .withProcedureName("give")
                  .execute(
                      Map.of("who", 1L, "amount", new BigDecimal("4"), "total", BigDecimal.ZERO))
                  .get("total"));
          TransactionTemplate transactions =
              new TransactionTemplate(new DataSourceTransactionManager(source));
          told.tell(
              "in a transaction",
              transactions.execute(
                  status -> {
                    template.update("update customer set credit = 100");
                    Object savepoint = status.createSavepoint();
                    template.update("delete from customer");
                    status.rollbackToSavepoint(savepoint);
                    return template.queryForList("select credit from customer order by id");
                  }));
          told.tellFailure(
              "a failure",
              () ->
                  transactions.execute(
                      status -> {
                        template.update("delete from customer");
                        return template.queryForObject("select 1 / 0", Integer.class);
                      }));
          transactions.setReadOnly(true);
          told.tellFailure(
              "read only",
              () -> transactions.execute(status -> template.update("delete from customer")));
          told.tell(
              "left",
              template.query(
                  "select * from customer order by id",
                  new BeanPropertyRowMapper<>(Customer.class)));
        });
  }
}
