package dev.howdah.pg.frameworks;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;
import org.junit.jupiter.api.Test;

/** Hibernate: it makes its schema, stores, finds, locks, batches and fails. */
class HibernateTest {
  enum Mood {
    SAD,
    OK
  }

  /** Who buys. */
  @Entity(name = "Buyer")
  public static class Buyer {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE)
    Long id;

    @Column(unique = true, nullable = false)
    String email;

    @Enumerated(EnumType.STRING)
    Mood mood = Mood.OK;

    @Enumerated(EnumType.STRING)
    @JdbcTypeCode(SqlTypes.NAMED_ENUM)
    Mood named = Mood.SAD;

    @Version int version;
    LocalDate born;
    LocalTime wakes;
    Instant since;
    OffsetDateTime seen;
    boolean active;
    Double weight;
    byte[] photo;
    String[] tags;

    @JdbcTypeCode(SqlTypes.JSON)
    Map<String, Object> detail;

    @OneToMany(mappedBy = "buyer", cascade = CascadeType.ALL, orphanRemoval = true)
    List<Order> orders = new ArrayList<>();
  }

  /** What is bought. */
  @Entity(name = "Purchase")
  public static class Order {
    @Id @GeneratedValue UUID id;

    @ManyToOne(optional = false)
    Buyer buyer;

    @Column(precision = 12, scale = 2)
    BigDecimal price;

    Duration delay;
  }

  /** With a key that the server makes. */
  @Entity(name = "Note")
  public static class Note {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    String text;
  }

  @Test
  void hibernateMakesASchemaAndASession() throws Exception {
    Agreement.of(
        "of_hibernate",
        (source, told) -> {
          Configuration configuration =
              new Configuration()
                  .addAnnotatedClass(Buyer.class)
                  .addAnnotatedClass(Order.class)
                  .addAnnotatedClass(Note.class)
                  .setProperty(AvailableSettings.HBM2DDL_AUTO, "create")
                  .setProperty(AvailableSettings.STATEMENT_BATCH_SIZE, "20")
                  .setProperty(AvailableSettings.ORDER_INSERTS, "true");
          configuration.getProperties().put(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, source);
          try (SessionFactory factory = configuration.buildSessionFactory()) {
            factory.inTransaction(
                session -> {
                  for (int i = 0; i < 50; i++) {
                    session.persist(buyer(i));
                  }
                  Note note = new Note();
                  note.text = "'; drop table \"x\" -- \u00e4";
                  session.persist(note);
                  told.tell("an identity", note.id);
                });
            factory.inTransaction(
                session -> {
                  Buyer found =
                      session
                          .createQuery(
                              "from Buyer b join fetch b.orders where b.email = :email",
                              Buyer.class)
                          .setParameter("email", "7@x")
                          .getSingleResult();
                  told.tell(
                      "found",
                      List.of(
                          found.id,
                          found.mood,
                          found.named,
                          found.version,
                          found.born,
                          found.wakes,
                          found.since,
                          found.seen.toInstant(),
                          found.active,
                          found.weight,
                          found.photo,
                          found.tags,
                          found.detail));
                  told.tell(
                      "orders",
                      found.orders.stream()
                          .map(order -> order.price + " " + order.delay)
                          .sorted()
                          .toList());
                  found.mood = Mood.SAD;
                  found.detail.put("more", List.of(1, 2));
                  found.orders.remove(0);
                });
            factory.inTransaction(
                session -> {
                  told.tell(
                      "sums",
                      session
                          .createQuery(
                              "select b.mood, count(b), sum(o.price), max(b.since) from Buyer b"
                                  + " left join b.orders o group by b.mood order by b.mood",
                              Object[].class)
                          .getResultList());
                  told.tell(
                      "a page",
                      session
                          .createQuery("select b.email from Buyer b order by b.id", String.class)
                          .setFirstResult(10)
                          .setMaxResults(3)
                          .getResultList());
                  told.tell(
                      "updated",
                      session
                          .createMutationQuery(
                              "update Buyer b set b.weight = b.weight * 2 where b.email like '1%'")
                          .executeUpdate());
                  told.tell(
                      "native",
                      session
                          .createNativeQuery(
                              "select email, detail ->> 'n', tags from buyer where id = ?",
                              Object[].class)
                          .setParameter(1, 3L)
                          .getResultList());
                  Buyer locked = session.find(Buyer.class, 5L, LockModeType.PESSIMISTIC_WRITE);
                  told.tell("locked", locked.email + " " + locked.version);
                  try (var rows =
                      session
                          .createQuery("select b.email from Buyer b order by b.email", String.class)
                          .setFetchSize(7)
                          .getResultStream()) {
                    told.tell("streamed", rows.limit(9).toList());
                  }
                });
            told.tellFailure(
                "a double", () -> factory.inTransaction(session -> session.persist(buyer(3))));
            told.tellFailure(
                "an old version",
                () ->
                    factory.inTransaction(
                        session -> {
                          Buyer stale = session.find(Buyer.class, 6L);
                          factory.inTransaction(
                              other -> other.find(Buyer.class, 6L).email = "new@x");
                          stale.email = "old@x";
                        }));
            factory.inTransaction(
                session ->
                    session
                        .createQuery("from Buyer", Buyer.class)
                        .getResultList()
                        .forEach(session::remove));
            told.tell(
                "left",
                factory.fromSession(
                    session ->
                        session
                            .createQuery("select count(*) from Purchase", Long.class)
                            .getSingleResult()));
            factory.getSchemaManager().validateMappedObjects();
            factory.getSchemaManager().dropMappedObjects(false);
          }
        });
  }

  private static Buyer buyer(int i) {
    Buyer buyer = new Buyer();
    buyer.email = i + "@x";
    buyer.born = LocalDate.of(1900, 2, 28).plusDays(i);
    buyer.wakes = LocalTime.of(6, 30, i);
    buyer.since = Instant.parse("2024-02-29T12:00:00.123456Z").plusSeconds(i);
    buyer.seen = OffsetDateTime.parse("2024-02-29T12:00:00+02:00");
    buyer.active = i % 2 == 0;
    buyer.weight = i / 4.0;
    buyer.photo = new byte[] {0, (byte) i, -1};
    buyer.tags = new String[] {"t" + i, null, "a,b\"c"};
    buyer.detail = new java.util.TreeMap<>(Map.of("n", i, "text", "\u00e4"));
    for (int j = 0; j < i % 3 + 1; j++) {
      Order order = new Order();
      order.buyer = buyer;
      order.price = BigDecimal.valueOf(100L * i + j, 2);
      order.delay = Duration.ofMinutes(j);
      buyer.orders.add(order);
    }
    return buyer;
  }
}
