import { isId, isPartId } from '@millrace/core';

/** Identifies a response: its session, and the offset of the command that the response answers. */
export interface ResponseRef {
  readonly taskId: string;
  readonly offset: number;
}

/** Returns the id of a response. It contains everything that the server needs to read it from the log. */
export function responseId({ taskId, offset }: ResponseRef): string {
  return `resp_${taskId}_${offset}`;
}

/** Reads the id of a response. Returns undefined if the text is no such id. */
export function parseResponseId(id: string): ResponseRef | undefined {
  const [, taskId = '', offset = ''] = /^resp_(.+)_(\d{1,15})$/.exec(id) ?? [];
  return isId(taskId) ? { taskId, offset: Number(offset) } : undefined;
}

/** The kinds of output items, with the prefixes of their ids. */
const prefixes = { message: 'msg', reasoning: 'rs', function_call: 'fc', mcp_call: 'mcp' } as const;

/** Returns the id of an output item. It names the part of the session that the item shows. */
export function outputId(kind: keyof typeof prefixes, taskId: string, partId: string): string {
  return `${prefixes[kind]}_${taskId}:${partId}`;
}

/** Reads the id of an output item. Returns undefined if the text is no such id. */
export function parseItemId(
  id: string,
): { readonly taskId: string; readonly partId: string } | undefined {
  const [start, end] = [id.indexOf('_'), id.lastIndexOf(':')];
  if (start < 0 || end < start) return undefined;
  const [taskId, partId] = [id.slice(start + 1, end), id.slice(end + 1)];
  return isId(taskId) && isPartId(partId) ? { taskId, partId } : undefined;
}
