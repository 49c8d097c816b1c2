import type { JsonObject } from '@millrace/core';
import { uuid4 } from '@temporalio/workflow';

/** Texts become the items that they stand for. */
export function itemsOf(input: string | readonly JsonObject[]): readonly JsonObject[] {
  if (typeof input !== 'string') return input;
  return [{ id: uuid4(), kind: 'user', parts: [{ kind: 'text', text: input }] }];
}
