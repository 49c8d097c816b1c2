import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';
import { readFileSafely, readPieces, readText } from './safe-files.ts';
import { temporaryFolder } from './testing/temporary-folder.ts';

const folder = temporaryFolder('files');
const at = (name: string) => join(folder(), name);

describe('a file', () => {
  test('is read up to the limit, or refused if it is larger', async () => {
    writeFileSync(at('five'), '12345');
    const whole = { bytes: Buffer.from('12345'), isClipped: false };
    expect(await readFileSafely(at('five'), { maxBytes: 5 })).toEqual(whole);
    const start = { bytes: Buffer.from('123'), isClipped: true };
    expect(await readFileSafely(at('five'), { maxBytes: 3, clip: true })).toEqual(start);
    const refused = { code: 'too_large', message: 'it is larger than 3 bytes' };
    await expect(readFileSafely(at('five'), { maxBytes: 3 })).rejects.toMatchObject(refused);
  });

  test('of any size costs no more memory than the limit', async () => {
    writeFileSync(at('huge'), '');
    truncateSync(at('huge'), 10 * 2 ** 30);
    const { bytes, isClipped } = await readFileSafely(at('huge'), { maxBytes: 10, clip: true });
    expect([bytes.length, isClipped]).toEqual([10, true]);
  });

  test('that is a folder, a FIFO or a device is refused', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    symlinkSync('/dev/zero', at('device'));
    for (const path of [folder(), at('pipe'), at('device')])
      await expect(readFileSafely(path, { maxBytes: 10 }), path).rejects.toMatchObject({
        code: 'not_a_file',
      });
    const options = { maxBytes: 10, pipes: true };
    await expect(readFileSafely(at('device'), options)).rejects.toThrow('not a regular file');
  });

  test('18.899: attack: very many FIFOs without a writer block no thread', async () => {
    // A blocking read takes one of four threads, and the read of a file then waits forever.
    const pipes = Array.from({ length: 8 }, (_, index) => at(`waiting${index}`));
    execFileSync('mkfifo', pipes);
    const reads = pipes.flatMap((path) => [readText(path), readPieces(path).next()]);
    writeFileSync(at('plain'), 'text');
    expect(await readFile(at('plain'), 'utf8')).toBe('text');
    for (const path of pipes) spawn('sh', ['-c', ': > "$0"', path]);
    await Promise.all(reads);
  });

  test('is read in pieces', async () => {
    execFileSync('mkfifo', [at('typed')]);
    spawn('sh', ['-c', 'printf 12345 > "$0"', at('typed')]);
    writeFileSync(at('long'), 'x'.repeat(200_000));
    const lengthOf = async (path: string) => {
      let all = 0;
      for await (const { length } of readPieces(path)) all += length;
      return all;
    };
    expect(await lengthOf(at('typed'))).toBe(5);
    expect(await lengthOf(at('long'))).toBe(200_000);
    expect(await lengthOf('/dev/null')).toBe(0);
    await expect(lengthOf(at('none'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(lengthOf(folder())).rejects.toMatchObject({ code: 'EISDIR' });
  });

  test('that is a pipe of a shell is read to its end if the caller allows it', async () => {
    execFileSync('mkfifo', [at('written')]);
    const writer = spawn('sh', ['-c', 'printf 12345 > "$0"', at('written')]);
    const { bytes } = await readFileSafely(at('written'), { maxBytes: 5, pipes: true });
    expect([bytes.toString(), writer.killed]).toEqual(['12345', false]);
    spawn('sh', ['-c', 'printf 123456 > "$0"', at('written')]);
    const more = readFileSafely(at('written'), { maxBytes: 5, pipes: true });
    await expect(more).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('a folder', () => {
  test('is created with those above it, for its owner alone', () => {
    makeFolder(at('a/b/c'));
    expect(['a', 'a/b', 'a/b/c'].map((name) => statSync(at(name)).mode & 0o777)).toEqual([
      0o700, 0o700, 0o700,
    ]);
    makeFolder(at('a/b/c'));
  });

  test('that cannot be created is an error of the system', () => {
    writeFileSync(at('file'), '');
    expect(() => makeFolder(at('file/x'))).toThrow(/ENOTDIR|EEXIST/);
    symlinkSync(at('nowhere'), at('dangling'));
    expect(() => makeFolder(at('dangling/x'))).toThrow('EEXIST');
    mkdirSync(at('own'));
    if (process.platform === 'linux') expect(() => makeFolder('/proc/none/x')).toThrow('ENOENT');
  });
});
