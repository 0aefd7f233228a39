package dev.howdah.pg.frameworks;

import static org.jooq.impl.DSL.field;
import static org.jooq.impl.DSL.inline;
import static org.jooq.impl.DSL.name;
import static org.jooq.impl.DSL.table;
import static org.jooq.impl.DSL.val;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.JSONB;
import org.jooq.Record;
import org.jooq.SQLDialect;
import org.jooq.Table;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;
import org.junit.jupiter.api.Test;

/** jOOQ without generated code. */
class JooqTest {
  private static final Table<Record> ITEM = table(name("item"));
  private static final Field<Long> ID = field(name("id"), SQLDataType.BIGINT);
  private static final Field<String> TITLE = field(name("title"), SQLDataType.VARCHAR);
  private static final Field<BigDecimal> PRICE = field(name("price"), SQLDataType.NUMERIC(12, 2));
  private static final Field<OffsetDateTime> AT =
      field(name("at"), SQLDataType.TIMESTAMPWITHTIMEZONE);
  private static final Field<LocalDate> DAY = field(name("day"), SQLDataType.LOCALDATE);
  private static final Field<UUID> TOKEN = field(name("token"), SQLDataType.UUID);
  private static final Field<String[]> TAGS =
      field(name("tags"), SQLDataType.VARCHAR.getArrayDataType());
  private static final Field<JSONB> DETAIL = field(name("detail"), SQLDataType.JSONB);
  private static final Field<byte[]> PHOTO = field(name("photo"), SQLDataType.BLOB);

  @Test
  void jooqMakesASchemaAndASession() throws Exception {
    Agreement.of(
        "of_jooq",
        (source, told) -> {
          DSLContext jooq = DSL.using(source, SQLDialect.POSTGRES);
          jooq.createTable(ITEM)
              .column(ID, SQLDataType.BIGINT.identity(true))
              .columns(TITLE, PRICE, AT, DAY, TOKEN, TAGS, DETAIL, PHOTO)
              .constraints(DSL.primaryKey(ID), DSL.unique(TITLE))
              .execute();
          Record first =
              jooq.insertInto(ITEM, TITLE, PRICE, AT, DAY, TOKEN, TAGS, DETAIL, PHOTO)
                  .values(
                      "one",
                      new BigDecimal("1.50"),
                      OffsetDateTime.parse("2024-02-29T12:00:00.123456Z"),
                      LocalDate.of(1999, 12, 31),
                      new UUID(3, 4),
                      new String[] {"a", "b,c", null},
                      JSONB.valueOf("{\"k\": [1, null]}"),
                      new byte[] {0, -1})
                  .returning(ID, PRICE, TAGS, AT)
                  .fetchOne();
          told.tell("inserted", first.intoMap());
          told.tell(
              "upserted",
              jooq.insertInto(ITEM, TITLE, PRICE)
                  .values("one", BigDecimal.TEN)
                  .values("two", BigDecimal.ONE)
                  .onConflict(TITLE)
                  .doUpdate()
                  .set(PRICE, DSL.excluded(PRICE))
                  .execute());
          told.tell(
              "batch",
              jooq.batch(jooq.insertInto(ITEM, TITLE, PRICE).values((String) null, null))
                  .bind("three", 3)
                  .bind("four", 4)
                  .execute()
                  .length);
          told.tell("all", jooq.selectFrom(ITEM).orderBy(ID).fetchMaps());
          told.tell(
              "by array",
              jooq.select(TITLE)
                  .from(ITEM)
                  .where(TITLE.eq(DSL.any("two", "four")))
                  .orderBy(TITLE)
                  .fetch(TITLE));
          told.tell(
              "by json",
              jooq.select(DSL.jsonbValue(DETAIL, "$.k[0]"))
                  .from(ITEM)
                  .where(DETAIL.isNotNull())
                  .fetchOne(0));
          told.tell(
              "window",
              jooq.select(TITLE, DSL.rowNumber().over(DSL.orderBy(PRICE.desc(), TITLE)))
                  .from(ITEM)
                  .fetchMaps());
          told.tell(
              "nested",
              jooq.select(DSL.multiset(DSL.select(TITLE).from(ITEM).orderBy(TITLE)))
                  .fetchOne(0)
                  .toString());
          told.tell(
              "values",
              jooq.select(val(1L), val("x"), val(true), val((Object) null), inline(2.5d))
                  .fetchOne()
                  .intoMap());
          try (var cursor = jooq.selectFrom(ITEM).orderBy(ID).fetchSize(1).fetchLazy()) {
            told.tell("lazily", cursor.fetchNext(2).getValues(TITLE));
          }
          told.tell(
              "nested transactions",
              jooq.transactionResult(
                  outer -> {
                    outer.dsl().update(ITEM).set(PRICE, BigDecimal.ZERO).execute();
                    try {
                      outer
                          .dsl()
                          .transaction(
                              inner -> {
                                inner.dsl().deleteFrom(ITEM).execute();
                                throw new IllegalStateException("no");
                              });
                    } catch (IllegalStateException e) {
                      return outer.dsl().fetchCount(ITEM);
                    }
                    return -1;
                  }));
          told.tellFailure("a double", () -> jooq.insertInto(ITEM, TITLE).values("one").execute());
          told.tellFailure("nothing like it", () -> jooq.fetch("select nothing from item"));
          told.tell(
              "many results", jooq.fetchMany("select 1; select 'x', 2").resultsOrRows().size());
          told.tell(
              "tables",
              jooq.meta().getSchemas("public").get(0).getTables().stream()
                  .map(Table::getName)
                  .toList());
          told.tell(
              "columns",
              jooq.meta()
                  .getTables("item")
                  .get(0)
                  .fieldStream()
                  .map(
                      each ->
                          each.getName()
                              + " "
                              + each.getDataType()
                              + " "
                              + each.getDataType().nullability())
                  .toList());
          told.tell("dropped", jooq.dropTable(ITEM).execute());
        });
  }
}
