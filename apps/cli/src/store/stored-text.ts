import type { FileVersion } from '@millrace/core';
import type { Log } from '@millrace/log';

/**
 * Returns the text of a file version that the log recorded. It is empty if there was no file. Returns
 * undefined if the content is binary or not stored.
 */
export async function storedText(
  { blobs }: Pick<Log, 'blobs'>,
  version: FileVersion | undefined,
): Promise<string | undefined> {
  if (version === undefined) return '';
  const bytes = version.isStored ? await blobs.get(version.hash) : undefined;
  if (bytes === undefined) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
