import type { FilePart, MediaPart, Metadata, ToolResultPart } from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { ToolOutput } from '../contract/tool.ts';

type Attachments = NonNullable<ToolResultPart['attachments']>;

/**
 * Creates the result part for an output that is too long. The text loses its middle, and the full text is
 * stored as a blob. `head` has the other fields of the part.
 */
export async function clippedResult(
  head: Omit<ToolResultPart, 'text'>,
  {
    text,
    attachments,
    metadata,
  }: Pick<ToolOutput['output'], 'text' | 'metadata'> & { readonly attachments: Attachments },
  maxOutputLength: number,
  blobs: BlobStore,
): Promise<ToolResultPart> {
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

/** Returns true if the attachment contains the full text of a result whose text was clipped. */
export function isFullOutput(
  { source }: MediaPart | FilePart,
  { metadata }: { readonly metadata?: Metadata | undefined },
): boolean {
  const { hash } = (metadata?.['wholeOutput'] ?? {}) as { readonly hash?: string };
  return source.type === 'blob' && source.hash === hash;
}

/**
 * Returns true if the model receives the attachment. It does not receive the full text of a clipped result, nor
 * a file that only the user sees.
 */
export function isForModel(
  attachment: MediaPart | FilePart,
  result: { readonly metadata?: Metadata | undefined },
): boolean {
  return attachment.metadata?.['audience'] !== 'user' && !isFullOutput(attachment, result);
}

function clipMiddle(text: string, most: number, hash: string): string {
  const half = Math.floor(most / 2);
  const [start, end] = [text.slice(0, half), text.slice(text.length - half)];
  const omitted = text.length - start.length - end.length;
  const note = `\n[… ${omitted} characters are left out here; the whole is kept as output ${hash} …]\n`;
  return (start + note + end).toWellFormed();
}
