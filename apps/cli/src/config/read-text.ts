import { open } from 'node:fs/promises';
import { MillraceError } from '@millrace/core';

/** More than any file that people write settings in. */
const maxFileBytes = 8 * 2 ** 20;

/**
 * The text of a file without the mark that some editors put before it. Also of a pipe, as `<(…)` makes
 * one of a command; something without an end is not read to its end, and throws `too_large`.
 */
export async function readText(path: string): Promise<string> {
  const file = await open(path);
  try {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      chunks.push(chunk as Uint8Array);
      length += (chunk as Uint8Array).length;
      if (length > maxFileBytes) throw tooLarge(path);
    }
    return new TextDecoder().decode(Buffer.concat(chunks));
  } finally {
    await file.close();
  }
}

function tooLarge(path: string): MillraceError<'too_large'> {
  const why = `it is larger than ${maxFileBytes / 2 ** 20} MiB`;
  return new MillraceError('too_large', why, { path });
}
