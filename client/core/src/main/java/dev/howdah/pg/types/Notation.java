package dev.howdah.pg.types;

import dev.howdah.pg.edn.Edn;
import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.WireOutput;

/**
 * A notation in which values are written; types made of others write their parts in the same one.
 */
enum Notation {
  JSON(",", ",", ":") {
    @Override
    void nothing(WireOutput out) {
      Json.nothing(out);
    }

    @Override
    void string(String value, WireOutput out) {
      Json.string(value, out);
    }

    @Override
    void label(String name, WireOutput out) {
      Json.string(name, out);
    }

    @Override
    void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out) {
      codec.json(bytes, offset, length, out);
    }

    @Override
    void valueOfText(Codec codec, byte[] utf8, int offset, int length, WireOutput out) {
      codec.jsonOfText(utf8, offset, length, out);
    }
  },
  EDN(" ", ", ", " ") {
    @Override
    void nothing(WireOutput out) {
      Edn.nothing(out);
    }

    @Override
    void string(String value, WireOutput out) {
      Edn.string(value, out);
    }

    @Override
    void label(String name, WireOutput out) {
      Edn.label(name, out);
    }

    @Override
    void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out) {
      codec.edn(bytes, offset, length, out);
    }

    @Override
    void valueOfText(Codec codec, byte[] utf8, int offset, int length, WireOutput out) {
      codec.ednOfText(utf8, offset, length, out);
    }
  };

  /**
   * What stands between the elements of an array, between the members of a map, and behind a
   * member's name.
   */
  final String betweenElements;

  final String betweenMembers;
  final String behindLabel;

  Notation(String betweenElements, String betweenMembers, String behindLabel) {
    this.betweenElements = betweenElements;
    this.betweenMembers = betweenMembers;
    this.behindLabel = behindLabel;
  }

  /** Writes null. */
  abstract void nothing(WireOutput out);

  abstract void string(String value, WireOutput out);

  /** Writes the name of a field. */
  abstract void label(String name, WireOutput out);

  /** Writes a value that came in the binary format. */
  abstract void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out);

  /** Writes a value that came in the text format. */
  abstract void valueOfText(Codec codec, byte[] utf8, int offset, int length, WireOutput out);
}
