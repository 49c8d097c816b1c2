import type { JsonValue, ToolCallPart, ToolResultPart } from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { Tool, ToolOutput, ToolReturn } from '../tool/tool.ts';

type Output = ToolOutput['output'];

/** Whatever a tool returned, as a result in full. */
export function outputOf(returned: ToolReturn): Output {
  if (returned === undefined) return { text: 'Done.' };
  if (typeof returned === 'string') return { text: returned };
  if (isOutput(returned)) return returned.output;
  const value = returned as JsonValue;
  return { text: JSON.stringify(value), value };
}

function isOutput(returned: ToolReturn): returned is ToolOutput {
  if (typeof returned !== 'object' || returned === null) return false;
  const { output } = returned as Partial<ToolOutput>;
  return typeof output === 'object' && output !== null && typeof output.text === 'string';
}

/** The part that the model gets. What is too long is clipped in the middle, and kept whole as a blob. */
export async function resultPart(
  { toolCallId, name }: ToolCallPart,
  output: Output,
  { maxOutputLength }: Pick<Tool, 'maxOutputLength'>,
  blobs: BlobStore,
): Promise<ToolResultPart> {
  const { value, isError = false, attachments = [] } = output;
  const text = output.text.toWellFormed();
  const head = { kind: 'tool_result', toolCallId, name, isError } as const;
  if (text.length <= maxOutputLength) {
    return {
      ...head,
      text,
      ...(value !== undefined && { value }),
      ...(attachments.length > 0 && { attachments }),
    };
  }
  const ref = await blobs.put(new TextEncoder().encode(text));
  const whole = { kind: 'file', name: 'output.txt', mimeType: 'text/plain' } as const;
  const source = { type: 'blob', ...ref } as const;
  return {
    ...head,
    text: clipped(text, maxOutputLength, ref.hash),
    metadata: { wholeOutput: { hash: ref.hash, length: ref.length } },
    attachments: [...attachments, { ...whole, source }],
  };
}

function clipped(text: string, most: number, hash: string): string {
  const half = Math.floor(most / 2);
  const [start, end] = [text.slice(0, half), text.slice(text.length - half)];
  const left = text.length - start.length - end.length;
  const note = `\n[… ${left} characters are left out here; the whole is blob ${hash} …]\n`;
  return (start + note + end).toWellFormed();
}
