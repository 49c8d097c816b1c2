import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

let base: string;
let root: string;
let outside: string;
let workspace: Workspace;
beforeEach(() => {
  base = temporaryFolder();
  root = join(base, 'root');
  outside = join(base, 'outside');
  mkdirSync(join(root, 'src'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  writeFileSync(join(root, 'src', 'main.ts'), 'main');
  workspace = createWorkspace({ root });
});

const bytes = (text: string) => new TextEncoder().encode(text);
const read = async (path: string) =>
  new TextDecoder().decode((await workspace.read(path, 1000)).bytes);
const all = () => everythingIn(base);

describe('a path', () => {
  test.each(['src/main.ts', './src/../src/main.ts', 'src//main.ts'])(
    '%s leads to the file inside',
    async (path) => {
      expect(await read(path)).toBe('main');
    },
  );

  test('with `..` after a missing folder or a file fails, as in the system', async () => {
    await expect(read('nothing/../src/main.ts')).rejects.toMatchObject({ code: 'not_found' });
    await expect(read('src/main.ts/../main.ts')).rejects.toMatchObject({ code: 'not_a_folder' });
  });

  test('may be absolute, also through a link to the root', async () => {
    expect(await read(join(root, 'src/main.ts'))).toBe('main');
    symlinkSync(root, join(base, 'other-name'));
    expect(await read(join(base, 'other-name', 'src/main.ts'))).toBe('main');
    workspace = createWorkspace({ root: join(base, 'other-name') });
    expect(workspace.root).toBe(root);
    expect(await read('src/main.ts')).toBe('main');
  });

  test('may go through links that stay inside, and is resolved to their target', async () => {
    symlinkSync('src', join(root, 'a'));
    symlinkSync(join(root, 'a', 'main.ts'), join(root, 'b.ts'));
    expect(await read('b.ts')).toBe('main');
    expect(await workspace.resolve('b.ts')).toEqual({
      given: 'b.ts',
      real: join(root, 'src/main.ts'),
      segments: ['src', 'main.ts'],
      shown: 'src/main.ts',
      exists: true,
      isLinked: true,
    });
  });

  test('with ~ or .. as part of a name is an ordinary name', async () => {
    await workspace.write('~', bytes('tilde'));
    await workspace.write('..hidden', bytes('dots'));
    expect(readdirSync(root)).toEqual(['..hidden', 'src', '~']);
    await expect(workspace.read('~/x', 10)).rejects.toThrow('~ is a file');
    rmSync(join(root, '~'));
    await expect(workspace.read('~/x', 10)).rejects.toThrow('"~" is not expanded');
  });

  test.each([
    '',
    'a\0b',
    'a'.repeat(5000),
    'a'.repeat(300),
    // A lone surrogate. The file system would store a different name.
    'a\ud800',
    // A write keeps each folder of the path open, so the depth is limited.
    `${'a/'.repeat(300)}b`,
  ])('that is invalid fails: %#', async (path) => {
    const before = all();
    await expect(workspace.read(path, 10)).rejects.toMatchObject({ code: 'bad_path' });
    await expect(workspace.write(path, bytes('x'))).rejects.toMatchObject({ code: 'bad_path' });
    expect(all()).toEqual(before);
  });

  test('of links in a loop fails', async () => {
    symlinkSync('two', join(root, 'one'));
    symlinkSync('one', join(root, 'two'));
    await expect(workspace.read('one', 10)).rejects.toThrow('form a loop');
    await expect(workspace.write('one', bytes('x'))).rejects.toThrow('form a loop');
  });
});

describe('nothing leads outside', () => {
  beforeEach(() => {
    symlinkSync(outside, join(root, 'folder-link'));
    symlinkSync('../outside/secret.txt', join(root, 'file-link'));
    symlinkSync(join(outside, 'new.txt'), join(root, 'dangling'));
    symlinkSync(join(outside, 'no', 'such'), join(root, 'dangling-folder'));
    symlinkSync('../dangling', join(root, 'src', 'up'));
    symlinkSync('/', join(root, 'slash'));
  });

  test.each([
    '../outside/secret.txt',
    '..',
    'src/../../outside/secret.txt',
    '../root/../outside/secret.txt',
    '/etc/passwd',
    '/',
    'folder-link/secret.txt',
    'folder-link',
    'folder-link/new.txt',
    'folder-link/deep/new.txt',
    'file-link',
    'dangling',
    'dangling-folder/new.txt',
    'src/up',
    'slash/etc/passwd',
    '../root-beside/x',
  ])('%s', async (path) => {
    const before = all();
    const refused = { code: 'outside', message: expect.stringContaining(root) };
    await expect(workspace.resolve(path)).rejects.toMatchObject(refused);
    await expect(workspace.open(path)).rejects.toMatchObject(refused);
    await expect(workspace.list(path, 10)).rejects.toMatchObject(refused);
    await expect(workspace.write(path, bytes('x'))).rejects.toMatchObject({
      code: expect.stringMatching(/outside|folder/),
    });
    expect(all()).toEqual(before);
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  });

  test('and the error for an absolute path outside does not show whether it exists', async () => {
    const words = async (path: string) => {
      const error: unknown = await workspace.read(path, 10).catch((thrown: unknown) => thrown);
      return String(error).replace(path, '');
    };
    const there = await words(join(outside, 'secret.txt'));
    expect(there).toContain('outside the workspace');
    expect(await words(join(outside, 'nothing.txt'))).toBe(there);
  });

  test('a write through a link to a missing file inside creates that file', async () => {
    symlinkSync('made/here.txt', join(root, 'inner'));
    await workspace.write('inner', bytes('x'));
    expect(readFileSync(join(root, 'made/here.txt'), 'utf8')).toBe('x');
  });
});

describe('a file that cannot be read gives the reason:', () => {
  test('missing, with similar names', async () => {
    writeFileSync(join(root, 'src', 'mains.js'), '');
    await expect(workspace.read('src/Main.js', 10)).rejects.toMatchObject({
      code: 'not_found',
      message: 'Cannot use src/Main.js: it does not exist. Similar: src/main.ts, src/mains.js.',
    });
    await expect(workspace.read('scr/main.ts', 10)).rejects.toThrow(
      'the folder scr does not exist. Similar: src.',
    );
    await expect(workspace.read('src/quite-another', 10)).rejects.toThrow(
      'src/ has no similar name.',
    );
  });

  test('a folder', async () => {
    await expect(workspace.read('src', 10)).rejects.toMatchObject({ code: 'folder' });
    await expect(workspace.read('.', 10)).rejects.toMatchObject({ code: 'folder' });
    await expect(workspace.write('src', bytes('x'))).rejects.toMatchObject({ code: 'folder' });
    await expect(workspace.write('.', bytes('x'))).rejects.toMatchObject({ code: 'folder' });
    for (const path of ['new/', 'new/.', 'src/..', 'new/..']) {
      await expect(workspace.write(path, bytes('x'))).rejects.toMatchObject({ code: 'folder' });
    }
    expect(readdirSync(root)).toEqual(['src']);
  });

  test('below a file', async () => {
    const refused = {
      code: 'not_a_folder',
      message: expect.stringContaining('src/main.ts is a file'),
    };
    await expect(workspace.read('src/main.ts/x', 10)).rejects.toMatchObject(refused);
    await expect(workspace.write('src/main.ts/x/y', bytes('x'))).rejects.toMatchObject(refused);
    await expect(workspace.list('src/main.ts', 10)).rejects.toMatchObject(refused);
  });

  test('larger than the limit', async () => {
    await expect(workspace.read('src/main.ts', 3)).rejects.toMatchObject({ code: 'too_large' });
    expect((await workspace.read('src/main.ts', 4)).bytes).toHaveLength(4);
  });

  test('a FIFO, without blocking', async () => {
    expect(spawnSync('mkfifo', [join(root, 'fifo')]).status).toBe(0);
    const refused = { code: 'not_regular', message: expect.stringContaining('a FIFO') };
    await expect(workspace.open('fifo')).rejects.toMatchObject(refused);
    await expect(workspace.write('fifo', bytes('x'))).rejects.toMatchObject(refused);
    expect(statSync(join(root, 'fifo')).isFIFO()).toBe(true);
  });

  test('a socket', async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(join(root, 'socket'), done));
    await expect(workspace.open('socket')).rejects.toMatchObject({ code: 'not_regular' });
    await new Promise((done) => server.close(done));
  });

  test('a workspace that is gone', async () => {
    rmSync(root, { recursive: true });
    await expect(workspace.read('src/main.ts', 10)).rejects.toThrow('the workspace is gone');
  });
});

test('a workspace needs a folder', () => {
  for (const path of [join(root, 'no'), join(root, 'src/main.ts')]) {
    expect(() => createWorkspace({ root: path })).toThrow(
      /Cannot create a workspace in .*Create it first/,
    );
  }
});

describe('a write', () => {
  test('creates missing folders, and returns whether the file is new', async () => {
    expect(await workspace.write('a/b/c.txt', bytes('1'))).toMatchObject({ isNew: true });
    expect(await workspace.write('a/b/c.txt', bytes('22'))).toMatchObject({ isNew: false });
    expect(await read('a/b/c.txt')).toBe('22');
    expect(readdirSync(join(root, 'a/b'))).toEqual(['c.txt']);
  });

  test.each([0o600, 0o640, 0o755])('keeps mode %o', async (mode) => {
    chmodSync(join(root, 'src/main.ts'), mode);
    await workspace.write('src/main.ts', bytes('new'));
    expect(statSync(join(root, 'src/main.ts')).mode & 0o7777).toBe(mode);
  });

  test('gives a new file the default mode', async () => {
    await workspace.write('new.txt', bytes('x'));
    writeFileSync(join(root, 'other.txt'), 'x');
    const modeOf = (name: string) => statSync(join(root, name)).mode;
    expect(modeOf('new.txt')).toBe(modeOf('other.txt'));
  });

  test('does not write through a hard link', async () => {
    linkSync(join(outside, 'secret.txt'), join(root, 'hard'));
    await workspace.write('hard', bytes('new'));
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await read('hard')).toBe('new');
  });

  test('can be synced to the disk', async () => {
    await workspace.write('a/synced.txt', bytes('x'), { sync: true });
    expect(await read('a/synced.txt')).toBe('x');
  });

  test('succeeds while concurrent writes fail and remove the folders that they created', async () => {
    const tooLong = 'x'.repeat(300);
    for (let round = 0; round < 20; round++) {
      const paths = [tooLong, 'a', `b/${tooLong}`, 'b/a'].map((name) => `new/${round}/${name}`);
      const writes = paths.map((path) => workspace.write(path, bytes('x')));
      const ends = (await Promise.allSettled(writes)).map(({ status }) => status);
      expect(ends).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    }
  });

  test('that is aborted leaves nothing behind', async () => {
    const before = all();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(workspace.write('x/y.txt', bytes('x'), { signal })).rejects.toThrow('enough');
    expect(all()).toEqual(before);
  });
});

describe('a change', () => {
  const file = () => join(root, 'src/main.ts');
  const append = (path: string, text: string, meanwhile = () => {}) =>
    workspace.change(
      path,
      ({ bytes: before }) => {
        meanwhile();
        return { bytes: Buffer.concat([before, bytes(text)]), result: text };
      },
      { maxBytes: 1000 },
    );

  test('gets the content of the file, and returns its result', async () => {
    expect(await append('src/main.ts', '!')).toBe('!');
    expect(await read('src/main.ts')).toBe('main!');
  });

  test('may leave the file unchanged', async () => {
    const { ino, mtimeMs } = statSync(file());
    const result = await workspace.change('src/main.ts', () => ({ result: 1 }), { maxBytes: 9 });
    expect(result).toBe(1);
    expect(statSync(file())).toMatchObject({ ino, mtimeMs });
  });

  test('is not lost among concurrent ones, with any path and workspace', async () => {
    symlinkSync('src/main.ts', join(root, 'alias.ts'));
    const inner = createWorkspace({ root: join(root, 'src') });
    const changes = Array.from({ length: 60 }, (_, index) => {
      const one = index % 3 === 0 ? inner : workspace;
      const path = ['main.ts', 'alias.ts', 'src/../src/main.ts'][index % 3] ?? '';
      return one.change(
        path,
        ({ bytes: before }) => ({ bytes: Buffer.concat([before, bytes(`,${index}`)]), result: 0 }),
        { maxBytes: 1000 },
      );
    });
    await Promise.all(changes);
    const numbers = (await read('src/main.ts')).split(',').slice(1).map(Number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i));
  });

  test('continues after one that failed', async () => {
    const failing = append('src/main.ts', '', () => {
      throw new Error('no');
    });
    const next = append('src/main.ts', '2');
    await expect(failing).rejects.toThrow('no');
    await next;
    expect(await read('src/main.ts')).toBe('main2');
  });

  test.each([
    [
      'by another content of the same length and time',
      'changed',
      () => {
        const { atime, mtime } = statSync(file());
        writeFileSync(file(), 'MAIN');
        utimesSync(file(), atime, mtime);
      },
    ],
    ['by a longer content', 'changed', () => writeFileSync(file(), 'main and more')],
    ['by removing it', 'vanished', () => rmSync(file())],
    ['by removing its folder', 'vanished', () => rmSync(join(root, 'src'), { recursive: true })],
    [
      'by a link in its place',
      'changed',
      () => {
        rmSync(file());
        symlinkSync(join(outside, 'secret.txt'), file());
      },
    ],
    [
      'by a folder in its place',
      'folder',
      () => {
        rmSync(file());
        mkdirSync(file());
      },
    ],
    [
      'by a FIFO in its place',
      'not_regular',
      () => {
        rmSync(file());
        spawnSync('mkfifo', [file()]);
      },
    ],
  ])(
    'fails if another process interferes %s, and changes nothing more',
    async (_how, code, spoil) => {
      let left: unknown;
      const meanwhile = () => {
        spoil();
        left = all();
      };
      await expect(append('src/main.ts', '!', meanwhile)).rejects.toMatchObject({ code });
      expect(all()).toEqual(left);
    },
  );

  test('is not affected by a touch', async () => {
    await append('src/main.ts', '!', () => utimesSync(file(), 1, 1));
    expect(await read('src/main.ts')).toBe('main!');
  });

  test('that is aborted while it waits changes nothing', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const change = () => ({ bytes: bytes('2'), result: 0 });
    let second: Promise<number> | undefined;
    // The second change starts while the first one has the file, so it must wait.
    await append('src/main.ts', '1', () => {
      second = workspace.change('src/main.ts', change, { maxBytes: 9, signal });
      second.catch(() => {});
      controller.abort(new Error('enough'));
    });
    await expect(second).rejects.toThrow('enough');
    expect(await read('src/main.ts')).toBe('main1');
  });
});

describe('a list', () => {
  test('has kinds, sizes and link targets, up to a limit', async () => {
    symlinkSync(outside, join(root, 'link'));
    writeFileSync(join(root, '.hidden'), '12345');
    const { entries, isCut } = await workspace.list('.', 10);
    expect(entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: '.hidden', kind: 'file', size: 5 },
      { name: 'link', kind: 'link', size: outside.length, target: outside },
      { name: 'src', kind: 'folder', size: expect.any(Number) },
    ]);
    expect(isCut).toBe(false);
    expect(await workspace.list('.', 2)).toMatchObject({ isCut: true, entries: { length: 2 } });
  });

  test.runIf(process.platform === 'linux')(
    'includes names that are not UTF-8, which cannot be used as paths',
    async () => {
      const name = Buffer.from([...bytes('a'), 0xff, ...bytes('b')]);
      writeFileSync(Buffer.concat([bytes(`${root}/src/`), name]), '123');
      const { entries } = await workspace.list('src', 10);
      expect(entries).toContainEqual({ name: 'a\ufffdb', kind: 'file', size: 3 });
      await expect(workspace.read('src/a\ufffdb', 10)).rejects.toThrow(
        'its name has bytes that are not UTF-8',
      );
    },
  );
});
