import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { readTool } from './read-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const put = (name: string, content: string | Uint8Array) =>
  writeFileSync(join(root, name), content);
const read = (path: string, range: { readonly offset?: number; readonly limit?: number } = {}) =>
  runTool(readTool(createWorkspace({ root })), { path, ...range });
const refused = (text: unknown) => expect.objectContaining({ text, isError: true });

describe('text', () => {
  test('is returned as numbered lines', async () => {
    put('a.txt', 'one\n\n\tthree\n');
    expect(await read('a.txt')).toEqual({
      text: '1\tone\n2\t\n3\t\tthree',
      isError: false,
      updates: [],
    });
  });

  test('is returned in parts that say how to continue', async () => {
    put('a.txt', 'a\nb\nc\nd\ne');
    expect((await read('a.txt', { limit: 2 })).text).toBe(
      '1\ta\n2\tb\n(Lines 1 to 2. More follow: continue with offset 3)',
    );
    expect((await read('a.txt', { offset: 3, limit: 2 })).text).toContain('continue with offset 5');
    expect((await read('a.txt', { offset: 5, limit: 2 })).text).toBe('5\te\n(Line 5 of 5)');
    expect((await read('a.txt', { limit: 5 })).text).toBe('1\ta\n2\tb\n3\tc\n4\td\n5\te');
    expect(await read('a.txt', { offset: 6 })).toEqual(
      refused('Cannot read a.txt from line 6: it has 5 lines'),
    );
  });

  test('is limited in lines and length, and the rest can be read with offset', async () => {
    put('lines.txt', 'x\n'.repeat(5000));
    put('long.txt', `${'y'.repeat(1500)}\n`.repeat(100));
    expect((await read('lines.txt')).text).toContain('(Lines 1 to 2000. More follow');
    const { text } = await read('long.txt');
    expect(text.length).toBeLessThan(60_000);
    const [, next] = /continue with offset (\d+)\)$/.exec(text) ?? [];
    expect((await read('long.txt', { offset: Number(next) })).text).toMatch(`${next}\ty`);
  });

  test('of a very long line is clipped, with the number of bytes', async () => {
    put('a.txt', `${'é'.repeat(10_000)}\nnext`);
    const { text } = await read('a.txt');
    expect(text).toBe(`1\t${'é'.repeat(2000)}… (clipped: 16.0 kB more)\n2\tnext`);
  });

  test('that is empty is reported as empty', async () => {
    put('a.txt', '');
    expect(await read('a.txt')).toMatchObject({
      text: 'a.txt is empty: it has 0 bytes',
      isError: false,
    });
  });

  test('with CRLF, a byte order mark or invalid UTF-8 has a note', async () => {
    put('crlf.txt', '\ufeffa\r\nb\r\n');
    expect((await read('crlf.txt')).text).toBe(
      '1\ta\n2\tb\n(Line endings: CRLF)\n(The file starts with a byte order mark)',
    );
    put('mixed.txt', 'a\r\nb\nc');
    expect((await read('mixed.txt')).text).toContain('(Line endings: CRLF and LF, mixed)');
    put('latin.txt', Buffer.from('caf\xe9 and more text around it\n', 'latin1'));
    expect((await read('latin.txt')).text).toContain('Some bytes are not UTF-8');
  });
});

describe('a file of 1 GB', () => {
  const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

  test.runIf(process.platform === 'linux')('is read as far as needed', async () => {
    put('large.txt', 'first\nsecond\nthird\n'.repeat(10_000));
    truncateSync(join(root, 'large.txt'), 2 ** 30);
    const before = bytesRead();
    const { text } = await read('large.txt', { offset: 100, limit: 2 });
    expect(text).toMatch(/^100\tfirst\n101\tsecond\n/);
    expect(bytesRead() - before).toBeLessThan(2 ** 20);
  });

  test('of NUL bytes is refused after its first bytes', async () => {
    put('sparse', '');
    truncateSync(join(root, 'sparse'), 2 ** 30);
    expect(await read('sparse')).toEqual(refused(expect.stringContaining('binary data (1.1 GB)')));
  });

  test('of one line is not read to its end', async () => {
    put('line.txt', `start${'x'.repeat(10_000)}`);
    truncateSync(join(root, 'line.txt'), 2 ** 30);
    const { text } = await read('line.txt');
    expect(text).toMatch(/^1\tstartxx+… \(clipped: at least 16\.\d MB more\)/);
    expect(text).toContain('too long to find the lines after it');
  });

  test('stops being read when the call is aborted', async () => {
    put('large.txt', 'text\n'.repeat(2000));
    truncateSync(join(root, 'large.txt'), 2 ** 30);
    const tool = readTool(createWorkspace({ root }));
    const signal = AbortSignal.abort(new Error('enough'));
    const result = await runTool(tool, { path: 'large.txt', offset: 1_000_000 }, { signal });
    expect(result).toEqual(refused('enough'));
  });
});

test('23, to build 5: a PDF document is attached, up to 10 MB', async () => {
  const pdf = Buffer.from('%PDF-1.7\n%\xe2\xe3', 'latin1');
  put('order.pdf', pdf);
  expect(await read('order.pdf')).toMatchObject({
    text: expect.stringMatching(/^order\.pdf is a PDF document/),
    attachments: [
      {
        ...{ kind: 'file', name: 'order.pdf', mimeType: 'application/pdf' },
        source: { type: 'bytes', bytes: new Uint8Array(pdf) },
      },
    ],
  });
  truncateSync(join(root, 'order.pdf'), 10_000_001);
  expect(await read('order.pdf')).toEqual(refused(expect.stringContaining('At most 10.0 MB')));
});

describe('an image', () => {
  const images = {
    'image/png': Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
    'image/jpeg': Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]),
    'image/gif': Buffer.from('GIF89a\x01\0\x01\0', 'latin1'),
    'image/webp': Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'),
  };

  test.each(Object.entries(images))(
    'of type %s is attached, regardless of its name',
    async (mimeType, bytes) => {
      put('picture.txt', bytes);
      const { text, attachments } = await read('picture.txt');
      expect(text).toContain(mimeType);
      expect(attachments).toEqual([
        { kind: 'media', mimeType, source: { type: 'bytes', bytes: new Uint8Array(bytes) } },
      ]);
    },
  );

  test('that is too large is refused with its size', async () => {
    put('a.png', images['image/png']);
    truncateSync(join(root, 'a.png'), 5_000_001);
    expect(await read('a.png')).toEqual(refused(expect.stringContaining('at most 5.0 MB')));
    truncateSync(join(root, 'a.png'), 5_000_000);
    expect((await read('a.png')).attachments).toHaveLength(1);
  });
});

describe('a binary is refused with its kind and size:', () => {
  test.each([
    ['a ZIP archive', 'PK\x03\x04abc'],
    ['gzip data', '\x1f\x8babc'],
    ['an ELF program or library', '\x7fELF\x02'],
    ['an SQLite database', 'SQLite format 3\0'],
    ['UTF-16 text', '\xff\xfea\0b\0'],
    ['WAV audio', 'RIFF\0\0\0\0WAVE'],
    ['binary data', 'text and then \0'],
    ['binary data, or text that is not UTF-8', '\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7'],
  ])('%s', async (kind, start) => {
    put('file', Buffer.from(start, 'latin1'));
    const text = expect.stringContaining(`it is ${kind} (${start.length} bytes)`);
    expect(await read('file')).toEqual(refused(text));
  });

  test('but a text that starts like a binary format is text', async () => {
    for (const start of ['OggS', 'BZh11AY&SY', '----ftyp', 'GIF', 'RIFF1234WAVE']) {
      put('file', `${start} and so on`);
      expect(await read('file')).toMatchObject({ text: `1\t${start} and so on`, isError: false });
    }
  });
});

describe('a path that cannot be read gives the reason', () => {
  test('a folder, a FIFO, a missing file', async () => {
    mkdirSync(join(root, 'folder'));
    expect(spawnSync('mkfifo', [join(root, 'fifo')]).status).toBe(0);
    expect(await read('folder')).toEqual(refused(expect.stringContaining('it is a folder')));
    expect(await read('fifo')).toEqual(refused(expect.stringContaining('it is a FIFO')));
    expect(await read('fold')).toEqual(refused(expect.stringContaining('Similar: folder')));
  });

  test('a file that appears and disappears is read completely or reported as gone', async () => {
    const flicker = `
      const { rmSync, renameSync, writeFileSync } = require('node:fs');
      const { workerData: root, parentPort } = require('node:worker_threads');
      parentPort.postMessage('on');
      for (;;) {
        writeFileSync(root + '/new', 'there');
        renameSync(root + '/new', root + '/file');
        rmSync(root + '/file');
      }`;
    const worker = new Worker(flicker, { eval: true, workerData: root });
    await once(worker, 'message');
    const seen = new Set<string>();
    const isEnough = () => seen.has('1\tthere') && [...seen].some((text) => text.includes('gone'));
    for (let index = 0; index < 100_000 && !(isEnough() && index > 100); index++) {
      seen.add((await read('file')).text);
    }
    await worker.terminate();
    rmSync(join(root, 'file'), { force: true });
    expect(seen).toContain('1\tthere');
    expect(seen).toContain(
      'Cannot use file: it was there a moment ago and is gone. Another process removed or moved it',
    );
    for (const text of seen) expect(text).toMatch(/^1\tthere$|is gone|does not exist/);
  });
});

describe.runIf(process.platform === 'linux')('a file that the system generates', () => {
  const readOwn = (path: string, offset = 1) =>
    runTool(readTool(createWorkspace({ root: '/proc/self' })), { path, offset, limit: 1 });

  test('is read although its size is 0', async () => {
    expect((await readOwn('status')).text).toMatch(/^1\tName:\t.*\n\(Line 1\. More follow/);
    expect((await readOwn('status', 2)).text).toMatch(/^2\tUmask:/);
    expect((await readOwn('status', 9999)).text).toMatch(/from line 9999: it has \d\d+ lines/);
  });

  test('and that cannot be read gives the reason', async () => {
    expect(await readOwn('mem')).toEqual(refused(expect.stringMatching(/^Cannot use mem: .*EIO/)));
  });
});

test('the tool has no effects, may be replayed, and refuses an invalid range', async () => {
  const tool = readTool(createWorkspace({ root }));
  expect(tool).toMatchObject({ name: 'read', effects: 'none', afterCrash: 'repeat' });
  expect(tool.summarize({ path: 'a', offset: 3 })).toBe('Read a from line 3');
  for (const range of [{ offset: 0 }, { offset: 1.5 }, { limit: 0 }, { limit: 1e9 }]) {
    expect(await tool.validate({ path: 'a', ...range })).toMatchObject({ ok: false });
  }
});
