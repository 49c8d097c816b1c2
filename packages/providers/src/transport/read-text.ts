import type { Exchange } from './exchange.ts';

/** The rest of the body as text, up to a number of bytes; `isCut` says that there was more. */
export async function readText(
  exchange: Exchange,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for (;;) {
    const bytes = await exchange.read();
    if (bytes === undefined) return { text: text + decoder.decode(), isCut: false };
    length += bytes.length;
    text += decoder.decode(bytes, { stream: true });
    if (length > maxBytes) return { text, isCut: true };
  }
}
