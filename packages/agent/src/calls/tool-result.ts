import {
  type FilePart,
  type MediaPart,
  type Metadata,
  parseJson,
  type ToolCallPart,
  type ToolResultPart,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { Tool, ToolOutput } from '../contract/tool.ts';

type Output = ToolOutput['output'];

/**
 * Converts any return value of a tool to an output. A value that is not text is encoded as JSON.
 */
export function toOutput(returned: unknown): Output {
  if (returned === undefined) return { text: 'Done.' };
  if (typeof returned === 'string') return { text: returned };
  if (isOutput(returned)) return returned.output;
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
 * Creates the result part for the model. Text over the limit is clipped in the middle, and the full
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
  const full = attachments.find((one) => isFullOutput(one, { metadata }));
  if (full?.source.type === 'blob') {
    const short = clipMiddle(text, maxOutputLength, full.source.hash);
    return { ...head, text: short, attachments, ...(metadata && { metadata }) };
  }
  const ref = await blobs.put(new TextEncoder().encode(text));
  const whole = { kind: 'file', name: 'output.txt', mimeType: 'text/plain' } as const;
  const source = { type: 'blob', ...ref } as const;
  return {
    ...head,
    text: clipMiddle(text, maxOutputLength, ref.hash),
    metadata: { ...metadata, wholeOutput: { hash: ref.hash, length: ref.length } },
    attachments: [...attachments, { ...whole, source }],
  };
}

/** True if the attachment is the full text of a result whose text was clipped. */
export function isFullOutput(
  { source }: MediaPart | FilePart,
  { metadata }: { readonly metadata?: Metadata | undefined },
): boolean {
  const { hash } = (metadata?.['wholeOutput'] ?? {}) as { readonly hash?: string };
  return source.type === 'blob' && source.hash === hash;
}

function clipMiddle(text: string, most: number, hash: string): string {
  const half = Math.floor(most / 2);
  const [start, end] = [text.slice(0, half), text.slice(text.length - half)];
  const omitted = text.length - start.length - end.length;
  const note = `\n[… ${omitted} characters are left out here; the whole is kept as output ${hash} …]\n`;
  return (start + note + end).toWellFormed();
}

/** Returns a result part that reports an error. */
export function errorResult({ toolCallId, name }: ToolCallPart, text: string): ToolResultPart {
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}

export function denialText(reason: string | undefined): string {
  return reason === undefined ? 'It was not allowed.' : `It was not allowed: ${reason}`;
}
