import type { JsonValue } from '@millrace/core';

/** Something that an agent says it did, for as long as it took. Times are ISO 8601. */
export interface SpanInfo {
  readonly id: string;
  readonly trace_id: string;
  readonly name: string;
  readonly start_time: string;
  readonly end_time: string | null;
  readonly task_id: string | null;
  readonly parent_id: string | null;
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly data: JsonValue;
}
