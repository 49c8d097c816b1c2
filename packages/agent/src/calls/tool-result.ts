import { type Part, parseJson, type ToolCallPart, type ToolResultPart } from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { Tool, ToolOutput } from '../contract/tool.ts';

type Output = ToolOutput['output'];

/** The result of a call whose own result was removed. The call does not run again. */
export const removedText = 'Its result was removed.';

/** Converts any return value of a tool to an output. A value that is not a string is encoded as JSON. */
export function toOutput(returned: unknown): Output {
  return isOutput(returned) ? returned.output : plainOutput(returned);
}

/**
 * Converts a text or a JSON value to an output. Use it for the values of clients. A client cannot set the fields of a
 * `ToolOutput`, because attachments can refer to stored content of other sessions.
 */
export function plainOutput(returned: unknown): Output {
  if (returned === undefined) return { text: 'Done.' };
  if (typeof returned === 'string') return { text: returned };
  const text: string | undefined = JSON.stringify(returned);
  if (text === undefined) return { text: 'Done.' };
  const parsed = parseJson(text);
  return parsed.ok ? { text, value: parsed.value } : { text };
}

function isOutput(returned: unknown): returned is ToolOutput {
  if (typeof returned !== 'object' || returned === null) return false;
  const { output } = returned as Partial<ToolOutput>;
  return typeof output === 'object' && output !== null && typeof output.text === 'string';
}

/**
 * Creates the result part for the model. A text that is longer than the limit loses its middle, and the full
 * text is stored as a blob.
 */
export async function createResultPart(
  { toolCallId, name }: ToolCallPart,
  output: Output,
  { maxOutputLength }: Pick<Tool, 'maxOutputLength'>,
  blobs: BlobStore,
): Promise<ToolResultPart> {
  const { value, isError = false, attachments = [], metadata } = output;
  const text = String(output.text).toWellFormed();
  const head = { kind: 'tool_result', toolCallId, name, isError } as const;
  if (text.length <= maxOutputLength) {
    return {
      ...head,
      text,
      ...(value !== undefined && { value }),
      ...(attachments.length > 0 && { attachments }),
      ...(metadata && { metadata }),
    };
  }
  // The code loads on demand, because most outputs are short.
  const { clippedResult } = await import('./clipped-result.ts');
  return clippedResult(head, { ...output, text, attachments }, maxOutputLength, blobs);
}

/** Returns a result part that reports an error. */
export function errorResult({ toolCallId, name }: ToolCallPart, text: string): ToolResultPart {
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}

/**
 * Marks a result that contains a text of a client. Input guardrails check such a result as an input. The mark does not
 * depend on the guardrails of the agent, because the session can be handed off to an agent with other guardrails.
 */
export function fromClient(part: ToolResultPart): ToolResultPart {
  return { ...part, metadata: { ...part.metadata, fromClient: true } };
}

/**
 * Marks a result of a tool that read a text of a client in an earlier item. The input guardrails of the agent have
 * passed that item, so only the guardrails of a later agent check the copy.
 */
export function copiedFromClient(part: ToolResultPart): ToolResultPart {
  return { ...part, metadata: { ...part.metadata, fromClient: 'copied' } };
}

/** Returns true if the part is a result that contains a text of a client, or a copy of such a text. */
export function isFromClient(part: Part | undefined): boolean {
  return part?.kind === 'tool_result' && (part.metadata?.['fromClient'] === true || isCopied(part));
}

/** Returns true if the part is a result that contains only a copy of a text of a client. */
export function isCopied(part: Part | undefined): boolean {
  return part?.kind === 'tool_result' && part.metadata?.['fromClient'] === 'copied';
}

export function denialText(reason: string | undefined): string {
  return reason === undefined ? 'It was not allowed.' : `It was not allowed: ${reason}`;
}
