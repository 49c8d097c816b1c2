import { defineTool, type Tool } from '@millrace/agent';
import type { FilePart, MediaPart } from '@millrace/core';
import { z } from 'zod';
import { hostilePayloads } from '../../../../../packages/react/src/testing/hostile-payloads.ts';

const page = `<!doctype html><script>globalThis.ran = 'a file'</script>`;
const pixel = 'https://evil.example/pixel.png';
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.ran = 'a picture'"><script>globalThis.ran = 1</script></svg>`;

/**
 * Media types of documents that could run scripts, and types that only look like audio or video
 * types.
 */
export const documentTypes: readonly string[] = [
  ...['text/html', 'TEXT/HTML', 'text/html; charset=utf-8', 'application/xhtml+xml', 'text/xml'],
  ...['application/xml', 'image/svg+xml', 'image/svg+xml;charset=utf-8', 'application/pdf'],
  ...['text/plain', 'application/mathml+xml', 'multipart/related', 'message/rfc822'],
  ...['audio/html', 'video/svg+xml', 'application/json', '', 'text/javascript'],
];

/** Returns the name of the test file for a type of `documentTypes`. */
export function documentName(type: string): string {
  return `document ${documentTypes.indexOf(type)}`;
}

/** A tool that returns all hostile payloads. The names and types of its files are hostile too. */
export const hostileTool: Tool = defineTool({
  name: 'hostile',
  description: 'Returns hostile content',
  input: z.object({ path: z.string(), why: z.string() }),
  async *execute() {
    for (const { text } of hostilePayloads) yield `${text}\n`;
    const bytesOf = (text: string) =>
      ({ type: 'bytes', bytes: new TextEncoder().encode(text) }) as const;
    const named = (name: string) =>
      ({ kind: 'file', name, mimeType: 'text/html', source: bytesOf(page) }) as const;
    const attachments: readonly (FilePart | MediaPart)[] = [
      named('../../etc/passwd'),
      named('"><img src=x onerror=globalThis.ran=1>.html'),
      named('invoice\u202Efdp.html'),
      { kind: 'media', mimeType: 'image/svg+xml', source: bytesOf(svg) },
      { kind: 'media', mimeType: 'text/html', source: bytesOf(page) },
      { kind: 'media', mimeType: 'image/png', source: { type: 'url', url: 'javascript:ran=1' } },
      { kind: 'media', mimeType: 'image/png', source: { type: 'url', url: pixel } },
    ];
    const documents = documentTypes.map((mimeType): FilePart => {
      const source = bytesOf(/xml|svg/.test(mimeType) ? svg : page);
      return { kind: 'file', name: documentName(mimeType), mimeType, source };
    });
    const text = hostilePayloads.map((payload) => payload.text).join('\n');
    return { output: { text, attachments: [...attachments, ...documents] } };
  },
});
