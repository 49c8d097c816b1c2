import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import type { LogErrorCode } from '../contract/log-error.ts';
import { isRequirementMissing } from '../testing/external-programs.ts';
import type { AttemptResult } from '../testing/programs/append-until-full.ts';

// These tests need processes without root rights, because the system refuses root nothing.

/** An unprivileged user, if the tests run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Compiled code of the program, which this user can read and write. */
let codeCache = '';
beforeAll(() => {
  codeCache = mkdtempSync(join(tmpdir(), 'system-code-'));
  giveAway(codeCache);
});
afterAll(() => rmSync(codeCache, { recursive: true }));

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'system-'));
  path = join(folder, 'log.db');
  giveAway(folder);
});
afterEach(() => {
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true });
});

function giveAway(file: string): void {
  if (nobody.uid !== undefined) chownSync(file, nobody.uid, nobody.gid);
}

const program = bundledProgram(
  new URL('../testing/programs/append-until-full.ts', import.meta.url),
);
const node = [process.execPath, program];

function run([name = '', ...args]: readonly string[]) {
  const env = { ...process.env, NODE_COMPILE_CACHE: codeCache };
  return spawnSync(name, args, { ...nobody, env, encoding: 'utf8' });
}

/** The output of an unprivileged process. The command may wrap another one. */
function tell(command: readonly string[]): readonly AttemptResult[] {
  const { status, stdout, stderr } = run(command);
  expect(status, stderr).toBe(0);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AttemptResult);
}

const tryLog = () => tell([...node, path]);

const refused = (why: RegExp) => [
  { failed: 'storage', message: expect.stringMatching(why), after: expect.any(Number) },
];

describe('permissions', () => {
  test('to write into the folder are needed to create a log', () => {
    chmodSync(folder, 0o555);
    expect(tryLog()).toEqual(refused(/cannot be opened.*permissions/));
    chmodSync(folder, 0o755);
    expect(tryLog()).toEqual([{ done: 20 }]);
  });

  test('to write into the folder are needed to use a log', () => {
    expect(tryLog()).toEqual([{ done: 20 }]);
    chmodSync(folder, 0o555);
    expect(tryLog()).toEqual(refused(/permission/));
    chmodSync(folder, 0o755);
    expect(tryLog()).toEqual([{ done: 40 }]);
  });

  test('to write the file are needed', () => {
    expect(tryLog()).toEqual([{ done: 20 }]);
    chmodSync(path, 0o444);
    expect(tryLog()).toEqual(refused(/give permission for the file/));
    chmodSync(path, 0o644);
    expect(tryLog()).toEqual([{ done: 40 }]);
  });

  test('to read the file are needed, and removing them loses no data', () => {
    expect(tryLog()).toEqual([{ done: 20 }]);
    chmodSync(path, 0o000);
    expect(tryLog()).toEqual(refused(/permission/));
    chmodSync(path, 0o644);
    expect(tryLog()).toEqual([{ done: 40 }]);
  });

  test('to look into the folder are needed', () => {
    chmodSync(folder, 0o000);
    expect(tryLog()).toEqual(refused(/cannot be opened.*permissions/));
  });
});

/** All records that were stored before the failure exist, and more can be written. */
async function expectKept(
  [first, second]: readonly AttemptResult[],
  failed: LogErrorCode,
  why: RegExp,
): Promise<void> {
  expect(first).toMatchObject({ failed, message: expect.stringMatching(why) });
  const after = first !== undefined && 'after' in first ? first.after : 0;
  expect(after).toBeGreaterThan(20);
  expect(second).toEqual({ done: after + 20 });
}

// A small private file system for one process, where the system allows that.
const inSmallFolder = ['unshare', '--map-root-user', '--mount', 'sh', '-c'];
const mount = 'mount -t tmpfs -o size=1m none "$0" && ';
const canMount = run([...inSmallFolder, 'true']).status === 0;

test.skipIf(!canMount)(
  'a full disk refuses further records, and keeps the stored ones',
  async () => {
    const ballast = join(folder, 'ballast');
    const fill = 'head -c 300000 /dev/zero > "$1" && shift && exec "$@"';
    const results = tell([...inSmallFolder, mount + fill, folder, ballast, ...node, path, ballast]);
    await expectKept(results, 'storage_full', /disk is full.*make room/);
  },
);

/** Runs a command whose reads of the file fail from the given one on. */
const withReadErrors = (first: number, command: readonly string[]) => [
  ...['strace', '-f', '-o', '/dev/null', '-P', path, '-e', 'trace=pread64'],
  ...['-e', `inject=pread64:error=EIO:when=${first}+`, ...command],
];
const noStrace = 'strace is not installed, and this test injects errors with it';
const isStraceMissing = isRequirementMissing(spawnSync('strace', ['-V']).status === 0, noStrace);

test.skipIf(isStraceMissing).each([1, 2, 5])(
  '21.O: a disk that cannot read is told as such, and not as damage, from read %i on',
  (first) => {
    expect(tryLog()).toEqual([{ done: 20 }]);
    const [result] = tell(withReadErrors(first, [...node, path]));
    const message = expect.stringMatching(/the disk could not read it, which may pass.*EIO/);
    expect(result).toMatchObject({ failed: 'storage', message });
    expect(tryLog()).toEqual([{ done: 40 }]);
  },
);

test('a file that cannot grow refuses appends and keeps acknowledged records', async () => {
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, '');
  giveAway(ballast);
  const limited = ['bash', '-c', 'ulimit -f 400; exec "$@"', 'bash'];
  // Closing the log runs a checkpoint, which frees space.
  await expectKept(
    tell([...limited, ...node, path, ballast]),
    'storage',
    /disk reported an error; check the disk/,
  );
});
