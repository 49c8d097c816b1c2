import type { TraceContext } from '@millrace/core';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

/** What goes with a task through clients, workflows and activities. */
export interface TravellingIds {
  /** The task, which is a session. */
  readonly task?: string | undefined;
  readonly trace?: TraceContext | undefined;
}

/** The header that the ids travel in. */
const headerName = 'millrace';

export function withHeader(headers: Headers, ids: TravellingIds): Headers {
  if (ids.task === undefined && ids.trace === undefined) return headers;
  return { ...headers, [headerName]: defaultPayloadConverter.toPayload({ ...ids }) };
}

/** What is none of ours counts as nothing. */
export function idsIn(headers: Headers): TravellingIds {
  const payload = headers[headerName];
  if (payload === undefined) return {};
  const ids: unknown = defaultPayloadConverter.fromPayload(payload);
  return typeof ids === 'object' && ids !== null ? ids : {};
}
