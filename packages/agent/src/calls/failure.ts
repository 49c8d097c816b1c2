import type { ToolCallPart, ToolResultPart } from '@millrace/core';

/** A result that says what went wrong. */
export function failure({ toolCallId, name }: ToolCallPart, text: string): ToolResultPart {
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}

export function refusal(reason: string | undefined): string {
  return reason === undefined ? 'It was not allowed.' : `It was not allowed: ${reason}`;
}
