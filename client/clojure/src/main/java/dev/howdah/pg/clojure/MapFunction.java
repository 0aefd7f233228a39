package dev.howdah.pg.clojure;

import clojure.lang.ArityException;
import clojure.lang.IFn;
import clojure.lang.ILookup;
import clojure.lang.ISeq;
import clojure.lang.RT;

/**
 * A map as a function of its keys. A class that extends another cannot extend AFn, so this is an
 * interface.
 */
interface MapFunction extends IFn, ILookup {
  private ArityException arity(int count) {
    return new ArityException(count, getClass().getSimpleName());
  }

  @Override
  default Object invoke(Object key) {
    return valAt(key);
  }

  @Override
  default Object invoke(Object key, Object otherwise) {
    return valAt(key, otherwise);
  }

  @Override
  default Object applyTo(ISeq arguments) {
    int count = RT.boundedLength(arguments, 3);
    return switch (count) {
      case 1 -> invoke(arguments.first());
      case 2 -> invoke(arguments.first(), RT.second(arguments));
      default -> throw arity(RT.count(arguments));
    };
  }

  @Override
  default Object call() {
    throw arity(0);
  }

  @Override
  default void run() {
    throw arity(0);
  }

  @Override
  default Object invoke() {
    throw arity(0);
  }

  @Override
  default Object invoke(Object a1, Object a2, Object a3) {
    throw arity(3);
  }

  @Override
  default Object invoke(Object a1, Object a2, Object a3, Object a4) {
    throw arity(4);
  }

  @Override
  default Object invoke(Object a1, Object a2, Object a3, Object a4, Object a5) {
    throw arity(5);
  }

  @Override
  default Object invoke(Object a1, Object a2, Object a3, Object a4, Object a5, Object a6) {
    throw arity(6);
  }

  @Override
  default Object invoke(
      Object a1, Object a2, Object a3, Object a4, Object a5, Object a6, Object a7) {
    throw arity(7);
  }

  @Override
  default Object invoke(
      Object a1, Object a2, Object a3, Object a4, Object a5, Object a6, Object a7, Object a8) {
    throw arity(8);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9) {
    throw arity(9);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10) {
    throw arity(10);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11) {
    throw arity(11);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12) {
    throw arity(12);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13) {
    throw arity(13);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14) {
    throw arity(14);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15) {
    throw arity(15);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16) {
    throw arity(16);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16,
      Object a17) {
    throw arity(17);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16,
      Object a17,
      Object a18) {
    throw arity(18);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16,
      Object a17,
      Object a18,
      Object a19) {
    throw arity(19);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16,
      Object a17,
      Object a18,
      Object a19,
      Object a20) {
    throw arity(20);
  }

  @Override
  default Object invoke(
      Object a1,
      Object a2,
      Object a3,
      Object a4,
      Object a5,
      Object a6,
      Object a7,
      Object a8,
      Object a9,
      Object a10,
      Object a11,
      Object a12,
      Object a13,
      Object a14,
      Object a15,
      Object a16,
      Object a17,
      Object a18,
      Object a19,
      Object a20,
      Object... more) {
    throw arity(20 + more.length);
  }
}
