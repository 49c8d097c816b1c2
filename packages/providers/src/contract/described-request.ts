import type { JsonObject } from '@millrace/core';

/** What would go over the wire, for people to look at. Headers are left out: they have the key. */
export interface DescribedRequest {
  readonly method: 'POST';
  /** Without its query, which may have a key as well; undefined where nothing is sent. */
  readonly url?: string | undefined;
  readonly body: JsonObject;
}
