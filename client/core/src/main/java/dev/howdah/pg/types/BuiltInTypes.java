package dev.howdah.pg.types;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The types that every PostgreSQL has under the same number: name, number, number of the array
 * type.
 */
final class BuiltInTypes {
  private BuiltInTypes() {}

  private static final class Table {
    final TypeOptions options;
    final Map<Integer, Codec> codecs = new HashMap<>();

    Table(TypeOptions options) {
      this.options = options;
    }

    Codec add(Codec codec, int oid, int arrayOid) {
      return add(codec, oid, arrayOid, ',');
    }

    Codec add(Codec standard, int oid, int arrayOid, char delimiter) {
      Codec codec = options.codecs().getOrDefault(standard.name(), standard);
      codecs.put(oid, codec);
      if (arrayOid != 0) {
        codecs.put(
            arrayOid,
            new ArrayCodec("_" + standard.name(), codec, oid, delimiter, options.arrays()));
      }
      return codec;
    }

    void range(String name, Codec bound, int oid, int arrayOid, int multiOid, int multiArrayOid) {
      RangeCodec range = new RangeCodec(name + "range", bound);
      add(range, oid, arrayOid);
      add(new MultirangeCodec(name + "multirange", range), multiOid, multiArrayOid);
    }
  }

  /** A table of codecs by the types' numbers. */
  static Map<Integer, Codec> codecs(TypeOptions options) {
    Table table = new Table(options);
    numbers(table);
    texts(table);
    times(table);
    others(table);
    textOnly(table);
    return table.codecs;
  }

  private static void numbers(Table table) {
    table.add(new SmallCodecs.Bool(), 16, 1000);
    table.add(new IntegerCodecs.Int2(), 21, 1005);
    Codec int4 = table.add(new IntegerCodecs.Int4(), 23, 1007);
    Codec int8 = table.add(new IntegerCodecs.Int8(), 20, 1016);
    table.add(new FloatCodecs.Float4(), 700, 1021);
    table.add(new FloatCodecs.Float8(), 701, 1022);
    Codec numeric = table.add(new NumericCodec(), 1700, 1231);
    table.add(new IntegerCodecs.Unsigned("oid"), 26, 1028);
    table.add(new IntegerCodecs.Unsigned("xid"), 28, 1011);
    table.add(new IntegerCodecs.Unsigned("cid"), 29, 1012);
    table.add(new IntegerCodecs.Xid8(), 5069, 271);
    table.range("int4", int4, 3904, 3905, 4451, 6150);
    table.range("int8", int8, 3926, 3927, 4536, 6157);
    table.range("num", numeric, 3906, 3907, 4532, 6151);
  }

  private static void texts(Table table) {
    table.add(new TextCodec("text"), 25, 1009);
    table.add(new TextCodec("varchar"), 1043, 1015);
    table.add(new TextCodec("bpchar"), 1042, 1014);
    table.add(new TextCodec("name"), 19, 1003);
    table.add(new TextCodec("unknown"), 705, 0);
    table.add(new TextCodec("refcursor"), 1790, 2201);
    Function<byte[], Object> parser = table.options.jsonParser();
    Function<Object, byte[]> writer = table.options.jsonWriter();
    table.add(new JsonCodec(false, parser, writer), 114, 199);
    table.add(new JsonCodec(true, parser, writer), 3802, 3807);
  }

  private static void times(Table table) {
    Codec date = table.add(new DateTimeCodecs.Date(), 1082, 1182);
    table.add(new DateTimeCodecs.Time(), 1083, 1183);
    table.add(new DateTimeCodecs.TimeTz(), 1266, 1270);
    Codec timestamp = table.add(new TimestampCodecs.Timestamp(), 1114, 1115);
    Codec timestamptz = table.add(new TimestampCodecs.TimestampTz(), 1184, 1185);
    table.add(new IntervalCodec(), 1186, 1187);
    table.range("date", date, 3912, 3913, 4535, 6155);
    table.range("ts", timestamp, 3908, 3909, 4533, 6152);
    table.range("tstz", timestamptz, 3910, 3911, 4534, 6153);
  }

  private static void others(Table table) {
    table.add(new SmallCodecs.Bytea(), 17, 1001);
    table.add(new SmallCodecs.Uuid(), 2950, 2951);
    table.add(new SmallCodecs.Void(), 2278, 0);
    table.add(new SmallCodecs.Lsn(), 3220, 3221);
    table.add(new NetworkCodecs.Address(false), 869, 1041);
    table.add(new NetworkCodecs.Address(true), 650, 651);
    table.add(new NetworkCodecs.Mac("macaddr", 6), 829, 1040);
    table.add(new NetworkCodecs.Mac("macaddr8", 8), 774, 775);
    table.add(new NetworkCodecs.Bits("bit"), 1560, 1561);
    table.add(new NetworkCodecs.Bits("varbit"), 1562, 1563);
    table.add(new GeometryCodec(GeometryCodec.Kind.POINT), 600, 1017);
    table.add(new GeometryCodec(GeometryCodec.Kind.LSEG), 601, 1018);
    table.add(new GeometryCodec(GeometryCodec.Kind.PATH), 602, 1019);
    table.add(new GeometryCodec(GeometryCodec.Kind.BOX), 603, 1020, ';');
    table.add(new GeometryCodec(GeometryCodec.Kind.POLYGON), 604, 1027);
    table.add(new GeometryCodec(GeometryCodec.Kind.LINE), 628, 629);
    table.add(new GeometryCodec(GeometryCodec.Kind.CIRCLE), 718, 719);
  }

  private static void textOnly(Table table) {
    table.add(new TextOnlyCodec("char"), 18, 1002);
    table.add(new TextOnlyCodec("int2vector"), 22, 1006);
    table.add(new TextOnlyCodec("oidvector"), 30, 1013);
    table.add(new TextOnlyCodec("tid"), 27, 1010);
    table.add(new TextOnlyCodec("xml"), 142, 143);
    table.add(new TextOnlyCodec("money"), 790, 791);
    table.add(new TextOnlyCodec("aclitem"), 1033, 1034);
    table.add(new TextOnlyCodec("regproc"), 24, 1008);
    table.add(new TextOnlyCodec("regprocedure"), 2202, 2207);
    table.add(new TextOnlyCodec("regoper"), 2203, 2208);
    table.add(new TextOnlyCodec("regoperator"), 2204, 2209);
    table.add(new TextOnlyCodec("regclass"), 2205, 2210);
    table.add(new TextOnlyCodec("regtype"), 2206, 2211);
    table.add(new TextOnlyCodec("regconfig"), 3734, 3735);
    table.add(new TextOnlyCodec("regdictionary"), 3769, 3770);
    table.add(new TextOnlyCodec("regnamespace"), 4089, 4090);
    table.add(new TextOnlyCodec("regrole"), 4096, 4097);
    table.add(new TextOnlyCodec("regcollation"), 4191, 4192);
    table.add(new TextOnlyCodec("tsvector"), 3614, 3643);
    table.add(new TextOnlyCodec("tsquery"), 3615, 3645);
    table.add(new TextOnlyCodec("jsonpath"), 4072, 4073);
    table.add(new TextOnlyCodec("txid_snapshot"), 2970, 2949);
    table.add(new TextOnlyCodec("pg_snapshot"), 5038, 5039);
    table.add(new TextOnlyCodec("cstring"), 2275, 0);
  }
}
