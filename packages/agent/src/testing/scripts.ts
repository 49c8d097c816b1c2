import { type ToolCallPart, toolCallId } from '@millrace/core';

/** A call as a model makes it. */
export function call(id: string, name: string, input: unknown): ToolCallPart {
  const given = typeof input === 'string' ? input : JSON.stringify(input);
  return { kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: given };
}
