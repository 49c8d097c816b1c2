import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@millrace/core';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';

// These tests run the tools in processes without root permissions, because the system refuses no access to
// root.

/** A user who owns no files, if the tests run as root. */
const otherUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/**
 * A cache for compiled code of the other user's processes, because that user cannot write to the cache of
 * this run.
 */
const compiled = mkdtempSync(join(tmpdir(), 'file-permissions-'));
chownToOtherUser(compiled);
afterAll(() => rmSync(compiled, { recursive: true }));

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'folder/file'), 'old\n');
  for (const path of ['.', 'folder', 'folder/file']) chownToOtherUser(join(root, path));
});
afterEach(() => {
  chmodSync(join(root, 'folder'), 0o755);
});

function chownToOtherUser(path: string): void {
  if (otherUser.uid !== undefined) chownSync(path, otherUser.uid, otherUser.gid);
}

const program = bundledProgram(new URL('../testing/call-tools.ts', import.meta.url));
const node = [process.execPath, program];
type Call = readonly [tool: string, input: JsonObject];

/**
 * Runs tools in a process of the other user and returns their results. A second command can start the
 * process.
 */
function runTools(
  calls: readonly Call[],
  starter: readonly string[] = [],
  user: object = otherUser,
) {
  const [name = '', ...args] = [...starter, ...node, root, JSON.stringify(calls)];
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  const { status, stdout, stderr } = spawnSync(name, args, { ...user, env, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

const refused = (why: string) => ({ text: expect.stringContaining(why), isError: true });
const read: Call = ['read', { path: 'folder/file' }];
const write: Call = ['write', { path: 'folder/file', content: 'new' }];
const writeDeep: Call = ['write', { path: 'folder/a/b', content: 'new' }];
const edits = [{ old_text: 'old', new_text: 'new' }];
const edit: Call = ['edit', { path: 'folder/file', edits }];
const list: Call = ['ls', { path: 'folder' }];
const untouched = { 'folder/': '', 'folder/file': 'old\n' };

describe('without permission', () => {
  test('a file is not read', () => {
    chmodSync(join(root, 'folder/file'), 0o000);
    expect(runTools([read])).toEqual([refused('no permission')]);
  });

  test('nothing in a folder is read, listed or written', () => {
    chmodSync(join(root, 'folder'), 0o000);
    expect(runTools([read, list, write, writeDeep])).toEqual(
      Array(4).fill(refused('no permission')),
    );
  });

  test('a read-only file is not replaced, although the folder is writable', () => {
    chmodSync(join(root, 'folder/file'), 0o444);
    expect(runTools([write, edit])).toEqual(Array(2).fill(refused('no permission')));
    expect(everythingIn(root)).toEqual(untouched);
  });

  test('nothing in a read-only folder is changed', () => {
    chmodSync(join(root, 'folder'), 0o555);
    expect(runTools([write, edit, writeDeep])).toEqual(Array(3).fill(refused('no permission')));
    expect(everythingIn(root)).toEqual(untouched);
  });
});

test('with permission all tools work, and the file keeps its mode', () => {
  chmodSync(join(root, 'folder/file'), 0o640);
  expect(runTools([edit, read])).toEqual([
    { text: expect.stringContaining('-old\n+new'), isError: false },
    { text: '1\tnew', isError: false },
  ]);
  expect(statSync(join(root, 'folder/file')).mode & 0o7777).toBe(0o640);
});

test.runIf(otherUser.uid !== undefined)('root keeps the owner of a file', () => {
  expect(runTools([write], [], {})).toEqual([{ text: expect.any(String), isError: false }]);
  expect(statSync(join(root, 'folder/file'))).toMatchObject({ uid: 65534, gid: 65534, size: 3 });
});

test('a file above the size limit is not written, and nothing is left behind', () => {
  const limited = ['bash', '-c', 'ulimit -f 1; exec "$@"', 'bash'];
  const content = 'x'.repeat(40_000);
  const large = ['folder/file', 'folder/a/b/c'].map((path): Call => ['write', { path, content }]);
  expect(runTools(large, limited)).toEqual(Array(2).fill(refused('larger than')));
  expect(everythingIn(root)).toEqual(untouched);
});

// Gives one process its own file system, if the system allows it.
const inSmallFolder = ['unshare', '--map-root-user', '--mount', 'sh', '-c'];
const [unshare = '', ...unshareArgs] = [...inSmallFolder, 'true'];
const canMount = spawnSync(unshare, unshareArgs, otherUser).status === 0;

test.skipIf(!canMount)('nothing is written to a full disk', () => {
  const full = 'mount -t tmpfs -o size=64k none "$0" && exec "$@"';
  const write: Call = ['write', { path: 'a/file', content: 'x'.repeat(100_000) }];
  const told = runTools([write, ['ls', {}]], [...inSmallFolder, full, root]);
  expect(told).toEqual([refused('the disk is full'), { text: '. is empty', isError: false }]);
});
