/** A JSON value. It is readonly, because deltas and parts share values. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
/** A JSON array. */
export type JsonArray = readonly JsonValue[];
/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Returns whether a JSON value is an object. Arrays and null are not objects. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The reason why a text is refused: the text is not JSON, or it exceeds a limit. */
export type JsonFailureCode =
  | 'syntax'
  | 'unexpected_end'
  | 'too_deep'
  | 'too_large'
  | 'number_range';

/**
 * Explains why a text is not JSON, or which limit it exceeds. The message never quotes the text.
 */
export interface JsonFailure {
  readonly code: JsonFailureCode;
  /**
   * The UTF-16 index of the first invalid character. For a number that is too large, the index of
   * its first character.
   */
  readonly position: number;
  readonly message: string;
}

/** The result of a parse: a value, or the failure. */
export type JsonResult =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly failure: JsonFailure };

/** The limits on a JSON text. */
export interface JsonLimits {
  /**
   * The maximum number of nested arrays and objects. It also limits the length of the path of a
   * change.
   */
  readonly maxDepth: number;
  /** The maximum length in UTF-16 units, including whitespace. */
  readonly maxTextLength: number;
  /**
   * The maximum number of values. Each opening bracket and each comma counts as one value. Default:
   * 1,048,576. This limit exists because values need far more memory than their text. For example, an empty
   * array needs thirty times the memory of its text.
   */
  readonly maxValues?: number;
  /**
   * The maximum number of keys of all objects together. A key that occurs twice counts twice. Default: no limit
   * of its own, because `maxValues` limits the keys too. Code that walks objects needs about ten times as long
   * for a key of a large object as for an element of an array.
   */
  readonly maxKeys?: number;
}

/**
 * The default of `maxValues`. This number of values needs at most 100 MB of memory. Only documents that
 * consist mainly of numbers have more values.
 */
export const defaultMaxValues: number = 2 ** 20;
