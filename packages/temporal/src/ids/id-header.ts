import type { TraceContext } from '@millrace/core';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

/** The ids that clients, workflows and activities of a task pass to each other. */
export interface PropagatedIds {
  /** The task id, which is a session id. */
  readonly task?: string | undefined;
  readonly trace?: TraceContext | undefined;
}

/** Name of the Temporal header that contains the ids. */
const headerName = 'millrace';

export function withHeader(headers: Headers, ids: PropagatedIds): Headers {
  if (ids.task === undefined && ids.trace === undefined) return headers;
  return { ...headers, [headerName]: defaultPayloadConverter.toPayload({ ...ids }) };
}

/** Reads the ids from a header. Returns no ids if the header is missing or invalid. */
export function idsIn(headers: Headers): PropagatedIds {
  const payload = headers[headerName];
  if (payload === undefined) return {};
  const ids: unknown = defaultPayloadConverter.fromPayload(payload);
  return typeof ids === 'object' && ids !== null ? ids : {};
}
