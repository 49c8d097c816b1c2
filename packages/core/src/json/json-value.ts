/** What JSON can say. Readonly: a value that reached a delta or a part is shared, never changed. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type JsonFailureCode =
  | 'syntax'
  | 'unexpected_end'
  | 'too_deep'
  | 'too_large'
  | 'number_range';

/** Why a text is not JSON, or is more of it than the limits allow. The message never quotes the text. */
export interface JsonFailure {
  readonly code: JsonFailureCode;
  /** The UTF-16 index of the first character that cannot be; of a number's first if it is too large. */
  readonly position: number;
  readonly message: string;
}

export type JsonResult =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly failure: JsonFailure };

export interface JsonLimits {
  /** How many arrays and objects may be open at once, and so how long the path of a change can get. */
  readonly maxDepth: number;
  /** In UTF-16 units, whitespace included. */
  readonly maxTextLength: number;
  /**
   * How many values, of which each opening bracket and each comma is taken to bring one: 1,048,576
   * unless told. They need far more memory than their text, an empty array thirty times as much.
   */
  readonly maxValues?: number;
}

/** Some 100 MB at worst, and more than any document that is not made of numbers has. */
export const defaultMaxValues: number = 2 ** 20;
