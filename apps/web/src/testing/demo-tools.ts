import { setTimeout } from 'node:timers/promises';
import { crc32, deflateSync } from 'node:zlib';
import { defineTool, type Tool } from '@millrace/agent';
import { z } from 'zod';

const read = defineTool({
  name: 'read',
  description: 'Reads a file',
  input: z.object({ path: z.string(), from: z.number(), to: z.number() }),
  effects: 'none',
  execute: async ({ path }) =>
    `${path}\n1  import { apply } from './apply.ts';\n2  \n3  // Folds a log.`,
});

const createRun = (isHeld: () => boolean) =>
  defineTool({
    name: 'run',
    description: 'Runs a program',
    input: z.object({ command: z.string(), timeout_ms: z.number() }),
    async *execute({ command }, { signal }) {
      yield `$ ${command}\n`;
      for (let at = 1; at <= 12; at++) {
        do await setTimeout(150, undefined, { signal });
        while (at > 1 && isHeld());
        yield `test ${at} of 12 … ${at === 7 ? 'FAILED: gap at 41' : 'ok'}\n`;
      }
      return 'Tests: 11 passed, 1 failed\n  fold.test.ts: a duplicate record has no effect';
    },
  });

const change = defineTool({
  name: 'patch',
  description: 'Changes a file',
  input: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    if (path.endsWith('none.ts')) throw new Error(`There is no file ${path}`);
    return `Edited ${path}: 3 lines added, 2 removed\n${patch}`;
  },
});

const write = defineTool({
  name: 'write',
  description: 'Writes a file',
  input: z.object({ path: z.string(), content: z.string() }),
  execute: async ({ path, content }) => `Wrote ${path}: ${content.length} characters`,
});

/** Returns an image of 48 × 48 pixels. */
function png(): Uint8Array<ArrayBuffer> {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const size = 48;
  const head = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 2, 0, 0, 0]);
  const row = (y: number) => [
    0,
    ...Array.from({ length: size }, (_, x) => [11, 90 + ((x + y) % 64), 113]).flat(),
  ];
  const rows = Buffer.from(Array.from({ length: size }, (_, y) => row(y)).flat());
  const parts = [
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Uint8Array.from(Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]));
}

const draw = defineTool({
  name: 'draw',
  description: 'Draws a picture',
  input: z.object({ what: z.string() }),
  async execute({ what }) {
    const picture = { kind: 'media', mimeType: 'image/png' } as const;
    const notes = new TextEncoder().encode('notes');
    const attachments = [
      { ...picture, source: { type: 'bytes', bytes: png() } },
      {
        kind: 'file',
        name: 'notes.txt',
        mimeType: 'text/plain',
        source: { type: 'bytes', bytes: notes },
      },
      { ...picture, source: { type: 'url', url: 'https://example.com/elsewhere.png' } },
    ] as const;
    return { output: { text: `Drew ${what}`, attachments } };
  },
});

/**
 * Creates the tools of the demo agent. While `isHeld` returns true, the program of `run` waits after
 * its first test. Default: it does not wait.
 */
export function demoTools(isHeld: () => boolean = () => false): readonly Tool[] {
  return [read, createRun(isHeld), change, write, draw];
}

const patch: string = `--- a/src/fold.ts
+++ b/src/fold.ts
@@ -12,7 +12,8 @@
 export function fold(state: State, record: LogRecord): State {
-  if (record.offset !== state.through + 1) throw new Error('gap');
-  return apply(state, record);
+  if (record.offset <= state.through) return state;
+  if (record.offset > state.through + 1) return gapAt(state, record);
+  return apply(state, record);
 }
 
 function apply(state: State, record: LogRecord): State {`;
