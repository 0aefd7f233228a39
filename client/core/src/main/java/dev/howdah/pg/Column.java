package dev.howdah.pg;

import dev.howdah.pg.types.Codec;

/**
 * A column of a result.
 *
 * @param name the name, which another column may have too
 * @param type the number of its type
 * @param modifier the type's modifier, such as a length; -1 for none
 * @param table the number of the table it comes from; 0 for an expression
 * @param attribute its number in that table; 0 for an expression
 * @param codec how its values are read
 */
public record Column(String name, int type, int modifier, int table, int attribute, Codec codec) {}
