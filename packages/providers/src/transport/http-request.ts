import type { JsonObject } from '@millrace/core';

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** What must never be shown: the key. */
  readonly secrets: readonly string[];
}
