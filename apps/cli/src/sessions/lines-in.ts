import { LogError } from '@millrace/log';

/** More than any record may have; what is longer is no export. */
const maxLineLength = 2 ** 27;

/** The lines of a stream of bytes in UTF-8. Throws what the stream throws, and `bad_records` for what is no text. */
export async function* linesIn(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decode(decoder, chunk);
    const [first = '', ...rest] = text.split('\n');
    pieces.push(first);
    length += first.length;
    if (length > maxLineLength) throw notAnExport('a line is too long');
    for (const line of rest) {
      yield withoutReturn(pieces.join(''));
      pieces = [line];
      length = line.length;
    }
  }
  const last = pieces.join('') + decode(decoder);
  if (last !== '') yield withoutReturn(last);
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw notAnExport('it is not text in UTF-8', cause);
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function notAnExport(why: string, cause?: unknown): LogError {
  const message = `Cannot import: ${why}. Take a file that millrace sessions export wrote`;
  return new LogError('bad_records', message, {}, { cause });
}
