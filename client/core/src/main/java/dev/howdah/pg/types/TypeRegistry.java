package dev.howdah.pg.types;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The codecs that one connection knows: the built-in ones, and those of the database's own types,
 * which are learned from its catalog when a statement first uses them.
 *
 * <p>The table is replaced, never changed, so whoever holds a codec keeps reading as it did before.
 */
public final class TypeRegistry {
  private static final int RECORD = 2249;
  private static final int RECORD_ARRAY = 2287;

  private final TypeOptions options;
  private final Set<Integer> builtIn;
  private volatile Map<Integer, Codec> codecs;

  /**
   * Types that may have been altered since they were learned. Until they are learned again they are
   * read as before.
   */
  private volatile Set<Integer> doubtful = Set.of();

  /**
   * Composite types, and those that contain one. Any session may alter them at any time, so each
   * statement that is prepared asks for them anew.
   */
  private volatile Set<Integer> composed = Set.of();

  /** A registry that knows the built-in types. */
  public TypeRegistry(TypeOptions options) {
    this.options = options;
    Map<Integer, Codec> table = BuiltInTypes.codecs(options);
    // A record's fields are looked up in what is known when the record is read.
    CompositeCodec record = new CompositeCodec("record", null, oid -> codecs.get(oid));
    table.put(RECORD, record);
    table.put(RECORD_ARRAY, new ArrayCodec("_record", record, RECORD, ',', options.arrays()));
    this.builtIn = Set.copyOf(table.keySet());
    this.codecs = table;
  }

  /** The codec of a type, or null if it has not been learned. */
  public Codec codec(int oid) {
    return codecs.get(oid);
  }

  /** A codec that reads the text format. */
  public static Codec asText(Codec codec) {
    return codec instanceof TextFormat ? codec : new TextFormat(codec);
  }

  /** Definitions may have changed: what was learned is asked for again when it is used next. */
  public void doubt() {
    Set<Integer> learned = new HashSet<>(codecs.keySet());
    learned.removeAll(builtIn);
    doubtful = learned;
  }

  /** Which of these types are not known, or not for certain. */
  public Set<Integer> unknown(Collection<Integer> oids) {
    Set<Integer> unknown = new HashSet<>();
    for (int oid : oids) {
      if (oid != 0
          && (!codecs.containsKey(oid) || doubtful.contains(oid) || composed.contains(oid))) {
        unknown.add(oid);
      }
    }
    return unknown;
  }

  /**
   * A row of pg_type.
   *
   * @param oid the type's number
   * @param name its name
   * @param kind typtype: b, c, d, e, m, p or r
   * @param element the element's number for an array, else 0
   * @param base the base type of a domain, else 0
   * @param bound the type of a range's bounds, the range of a multirange, else 0
   * @param delimiter between elements: of its arrays, or its own for an array
   * @param fields the fields of a composite
   */
  public record Description(
      int oid,
      String name,
      char kind,
      int element,
      int base,
      int bound,
      char delimiter,
      List<Attribute> fields) {
    /** The types that must be known first. */
    public List<Integer> needs() {
      List<Integer> needs = new ArrayList<>(List.of(element, base, bound));
      fields.forEach(field -> needs.add(field.oid()));
      return needs;
    }
  }

  /** A field of a composite type: its name and the number of its type. */
  public record Attribute(String name, int oid) {}

  /** Learns types. Those whose parts are missing, and numbers without a type, are read as text. */
  public void learn(Collection<Integer> asked, Collection<Description> found) {
    Map<Integer, Codec> table = new HashMap<>(codecs);
    Map<Integer, Description> descriptions = new HashMap<>();
    for (Description description : found) {
      descriptions.put(description.oid(), description);
      table.remove(description.oid());
    }
    found.forEach(description -> resolve(description.oid(), table, descriptions));
    asked.forEach(oid -> table.putIfAbsent(oid, new TextOnlyCodec("type " + oid)));
    codecs = table;
    composed = composed(found);
    Set<Integer> left = new HashSet<>(doubtful);
    left.removeAll(asked);
    left.removeAll(descriptions.keySet());
    doubtful = left;
  }

  private Set<Integer> composed(Collection<Description> found) {
    Set<Integer> all = new HashSet<>(composed);
    boolean grows = true;
    while (grows) {
      grows = false;
      for (Description type : found) {
        if (type.kind() == 'c' || type.needs().stream().anyMatch(all::contains)) {
          grows |= all.add(type.oid());
        }
      }
    }
    return all;
  }

  private Codec resolve(
      int oid, Map<Integer, Codec> table, Map<Integer, Description> descriptions) {
    Codec known = table.get(oid);
    Description description = descriptions.get(oid);
    if (known != null || description == null) {
      return known == null ? new TextOnlyCodec("type " + oid) : known;
    }
    // A type that contains itself finds this while it is being made.
    table.put(oid, new TextOnlyCodec(description.name()));
    Codec codec = make(description, table, descriptions);
    table.put(oid, codec);
    return codec;
  }

  private Codec make(
      Description type, Map<Integer, Codec> table, Map<Integer, Description> descriptions) {
    Codec custom = options.codecs().get(type.name());
    if (custom != null) {
      return custom;
    }
    if (type.element() != 0) {
      Codec element = resolve(type.element(), table, descriptions);
      return new ArrayCodec(
          type.name(), element, type.element(), type.delimiter(), options.arrays());
    }
    return switch (type.kind()) {
      case 'e' -> new TextCodec(type.name());
      case 'd' -> resolve(type.base(), table, descriptions);
      case 'c' -> composite(type, table, descriptions);
      case 'r' -> new RangeCodec(type.name(), resolve(type.bound(), table, descriptions));
      case 'm' ->
          resolve(type.bound(), table, descriptions) instanceof RangeCodec range
              ? new MultirangeCodec(type.name(), range)
              : new TextOnlyCodec(type.name());
      default -> byName(type.name());
    };
  }

  private static Codec byName(String name) {
    return switch (name) {
      case "hstore" -> new HstoreCodec();
      case "citext" -> new TextCodec("citext");
      default -> new TextOnlyCodec(name);
    };
  }

  private Codec composite(
      Description type, Map<Integer, Codec> table, Map<Integer, Description> descriptions) {
    List<CompositeCodec.Field> fields = new ArrayList<>();
    for (Attribute field : type.fields()) {
      fields.add(
          new CompositeCodec.Field(
              field.name(), field.oid(), resolve(field.oid(), table, descriptions)));
    }
    return new CompositeCodec(type.name(), List.copyOf(fields), oid -> codecs.get(oid));
  }
}
