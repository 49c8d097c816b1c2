import type { JsonObject } from '@millrace/core';

/** A request to a model, made again from the log. */
export interface PastRequest {
  readonly task_id: string;
  readonly turn: number;
  readonly attempt: number;
  /** Who was asked. */
  readonly provider: string;
  readonly model: string;
  /** Without its query; null where nothing goes over a network. */
  readonly url: string | null;
  /** As it would be sent, without headers; null where it is not made again. */
  readonly body: JsonObject | null;
  /** What may be otherwise than it was, for people. */
  readonly notes: readonly string[];
}
