import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, attacksAs, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

endAgents();

// A command writes an index that git never writes but can read. The index has a submodule in `node_modules`,
// which is not searched. The settings of that submodule contain a program.

const submodule = 0o160000;
const file = 0o100644;
const target = 'node_modules/x';

interface EntryOptions {
  readonly mode?: number;
  /** The length in the flags. Default: the length of the name. */
  readonly length?: number;
  readonly hashBytes?: number;
}

function entry(
  name: string | Buffer,
  { mode = submodule, length, hashBytes = 20 }: EntryOptions = {},
): Buffer {
  const bytes = Buffer.from(name as string);
  const fixed = Buffer.alloc(42 + hashBytes, 0);
  fixed.writeUInt32BE(mode, 24);
  fixed.fill(0x11, 40, 40 + hashBytes);
  fixed.writeUInt16BE(length ?? Math.min(bytes.length, 0xfff), 40 + hashBytes);
  const size = fixed.length + bytes.length;
  return Buffer.concat([fixed, bytes, Buffer.alloc(8 - (size % 8))]);
}

/** Returns an entry of version 4, which repeats the start of the previous name. */
function shortEntry(removed: number, added: string, length: number, mode: number): Buffer {
  const fixed = entry('', { mode, length }).subarray(0, 62);
  return Buffer.concat([fixed, Buffer.from([removed]), Buffer.from(`${added}\0`)]);
}

function extension(name: string, content: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length);
  return Buffer.concat([Buffer.from(name), size, content]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}

interface IndexOptions {
  readonly version?: number;
  readonly extensions?: readonly Buffer[];
  readonly count?: number;
  readonly algorithm?: 'sha1' | 'sha256';
}

function index(
  entries: readonly Buffer[],
  { version = 2, extensions = [], count = entries.length, algorithm = 'sha1' }: IndexOptions = {},
): Buffer {
  const header = Buffer.concat([Buffer.from('DIRC'), numbers(version, count)]);
  const body = Buffer.concat([header, ...entries, ...extensions]);
  return Buffer.concat([body, createHash(algorithm).update(body).digest()]);
}

/** The real shared file of a split index comes after many harmless files. */
function manyParts(): Readonly<Record<string, Buffer>> {
  const hashes = Array.from({ length: 60 }, (_, n) => Buffer.alloc(20, n + 0x30));
  const real = Buffer.alloc(20, 0xee);
  const names = hashes.map((hash) => Buffer.concat([Buffer.from('link~~~~'), hash]));
  // Two empty bitmaps follow the hash: no entry is deleted or replaced.
  const empty = numbers(0, 1, 0, 0, 0);
  const link = extension('link', Buffer.concat([real, empty, empty]));
  const main = index(
    names.map((name) => entry(name, { mode: file })),
    { extensions: [link] },
  );
  const part = (hash: Buffer, content: Buffer) =>
    [`.git/sharedindex.${hash.toString('hex')}`, content] as const;
  // Git compares the hash at the end of the file with the hash in its name.
  const named = (content: Buffer, hash: Buffer) =>
    Buffer.concat([content.subarray(0, content.length - 20), hash]);
  return {
    '.git/index': main,
    ...Object.fromEntries(hashes.map((hash) => part(hash, named(index([]), hash)))),
    ...Object.fromEntries([part(real, named(index([entry(target)]), real))]),
  };
}

/**
 * Returns an index with two lists of entries: one for readers of short hashes, and one for readers of long
 * hashes.
 */
function longHashes(): Buffer {
  const first = entry('a', { mode: file, hashBytes: 32 });
  const hidden = entry(target, { hashBytes: 32 });
  const start = first.length + hidden.length + 8;
  // For a reader of short hashes, the name of the first entry extends to the last extension.
  first.writeUInt16BE(start - 8 - 62, 60);
  const rest = extension('TREE', Buffer.alloc(20)).subarray(0, 16);
  const content = Buffer.concat([entry('z', { mode: file }), rest]);
  const entries = [first, hidden, extension('ZZZZ', content)];
  return index(entries, { count: 2, algorithm: 'sha256' });
}

/** Threads start with the second block of entries, without the previous name. */
function blocks(): Buffer {
  const first = shortEntry(0, 'aaaa', 4, file);
  const name = `a${target}`;
  const second = shortEntry(3, target, name.length, submodule);
  const table = numbers(1, 12, 1, 12 + first.length, 1);
  const size = 12 + first.length + second.length;
  return withEnd(
    index([first, second], { version: 4, extensions: [extension('IEOT', table)] }),
    size,
  );
}

/**
 * Returns an index with a table of entries that only threads find, because it declares a wrong end of the
 * entries.
 */
function otherEnd(): Buffer {
  const [hidden, second, plain] = [
    entry(target),
    entry('b', { mode: file }),
    entry('c', { mode: file }),
  ];
  const start = 12 + 62;
  const table = extension('IEOT', numbers(1, start, 1, start + hidden.length, 1));
  const inner = Buffer.concat([hidden, second, table]);
  const outer = entry(Buffer.alloc(inner.length + 8), { mode: file });
  inner.copy(outer, 62);
  // A second extension covers the bytes from the end of the hidden table to the real end of the entries.
  const at = 62 + inner.length;
  outer.write('ZZZZ', at, 'latin1');
  outer.writeUInt32BE(outer.length + plain.length - at - 8, at + 4);
  return withEnd(index([outer, plain]), start + hidden.length + second.length);
}

/** Adds the extension that declares the end of the entries, with the hash that git checks. */
function withEnd(whole: Buffer, end: number): Buffer {
  const body = whole.subarray(0, whole.length - 20);
  const hash = createHash('sha1');
  for (let at = end; at < body.length; at += 8 + body.readUInt32BE(at + 4))
    hash.update(body.subarray(at, at + 8));
  const eoie = extension('EOIE', Buffer.concat([numbers(end), hash.digest()]));
  const all = Buffer.concat([body, eoie]);
  return Buffer.concat([all, createHash('sha1').update(all).digest()]);
}

interface Attack {
  readonly title: string;
  /** The files that the command writes. */
  readonly files: (workspace: string) => Readonly<Record<string, Buffer>>;
  /** A command that runs first. Default: none. */
  readonly before?: string;
  readonly in?: string;
}

const inRoot = (made: Buffer) => () => ({ '.git/index': made });
const sub = 'git init -q sub; mkdir -p sub/node_modules; mv node_modules/x sub/node_modules/x';
const inSub = (made: Buffer) => () => ({ 'sub/.git/index': made });

const attacks: readonly Attack[] = [
  { title: 'a mode with permissions', files: inRoot(index([entry(target, { mode: 0o160644 })])) },
  { title: 'a mode with high bits', files: inRoot(index([entry(target, { mode: 0x1e000 })])) },
  { title: 'a name with a zero', files: inRoot(index([entry(`${target}\0z`)])) },
  { title: 'a name with a slash at its end', files: inRoot(index([entry(`${target}/`)])) },
  {
    title: 'an absolute name',
    files: (workspace) => ({ '.git/index': index([entry(`${workspace}/${target}`)]) }),
  },
  {
    title: 'a name that leads upwards',
    before: 'git init -q sub',
    files: inSub(index([entry(`../${target}`)])),
    in: 'sub',
  },
  { title: 'many parts of a split index', files: manyParts },
  {
    title: 'long hashes',
    before: sub.replace('init -q', 'init -q --object-format=sha256'),
    files: inSub(longHashes()),
    in: 'sub',
  },
  {
    title: 'a block of entries for threads',
    before: `${sub}; git -C sub config index.threads 4`,
    files: inSub(blocks()),
    in: 'sub',
  },
  {
    title: 'another end of the entries for threads',
    before: `${sub}; git -C sub config index.threads 4`,
    files: inSub(otherEnd()),
    in: 'sub',
  },
];

const identity = '-c user.name=a -c user.email=a@b';
const hidden = `git init -q ${target}; git -C ${target} config core.fsmonitor "$PWD/evil.sh"; git -C ${target} ${identity} commit -q --allow-empty -m x`;

describe.for(sandboxUsers)('a command of %s writes an index', (user) => {
  test.for([
    [
      'the index',
      `echo ${index([entry(target)]).toString('base64')} | base64 -d > store/git/index`,
    ],
    ['the settings', 'git config -f store/git/config core.fsmonitor "$PWD/evil.sh"'],
    [
      'the folder',
      'mv store old; cp -r old store; git config -f store/git/config core.fsmonitor "$PWD/evil.sh"',
    ],
  ] as const)(
    '18.65: attack: %s of a repository whose .git is a link',
    async ([, attack], context) => {
      const { workspace, outside, run, write } = await attackAgent(user, context);
      write(workspace, { 'evil.sh': `#!/bin/sh\ntouch '${outside}/ran'\n`, 'a.txt': 'a' });
      execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
      const owner = execFileSync('stat', ['-c', '%u:%g', workspace], { encoding: 'utf8' }).trim();
      execFileSync('git', ['init', '-q'], { cwd: workspace });
      execFileSync('sh', ['-c', 'mkdir store; mv .git store/git; ln -s store/git .git'], {
        cwd: workspace,
      });
      if (process.getuid?.() === 0) execFileSync('chown', ['-hR', owner, workspace]);
      const safe =
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'";
      const said = await run([safe, hidden, attack].join('\n'));
      try {
        const words = ['-c', 'safe.directory=*', 'status'];
        execFileSync('git', words, { cwd: workspace, stdio: 'ignore' });
      } catch {
        // Git refuses the index. The test checks only the trace in `outside`.
      }
      expect(readdirSync(outside), said).toEqual([]);
    },
  );

  test('18.963: attack: git checkout writes a file outside of the workspace', async (context) => {
    const { workspace, outside, run, write } = await attackAgent(user, context);
    write(workspace, { 'a.txt': 'a' });
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'safe.directory=*', ...words], { cwd: workspace, stdio: 'pipe' });
    git('init', '-q');
    const id = Buffer.from(git('hash-object', '-w', 'a.txt').toString().trim(), 'hex');
    if (user === 'nobody') execFileSync('chown', ['-R', '65534:65534', workspace]);
    const made = entry(`${outside}/ran`, { mode: file });
    id.copy(made, 40);
    const said = await run(`echo ${index([made]).toString('base64')} | base64 -d > .git/index`);
    try {
      git('checkout', '.');
    } catch {
      // There is no index any more.
    }
    expect(readdirSync(outside), said).toEqual([]);
    expect(said).toContain('its index cannot be checked');
  });

  test.for(attacksAs(user, attacks))(
    '18.63: attack: $title hides a submodule',
    async (attack, context) => {
      const { workspace, outside, run, write } = await attackAgent(user, context);
      write(workspace, { 'evil.sh': `#!/bin/sh\ntouch '${outside}/ran'\n`, 'a.txt': 'a' });
      execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
      const owner = execFileSync('stat', ['-c', '%u:%g', workspace], { encoding: 'utf8' }).trim();
      execFileSync('git', ['init', '-q'], { cwd: workspace });
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', owner, workspace]);
      const files = Object.entries(attack.files(workspace)).map(
        ([path, bytes]) => `echo ${bytes.toString('base64')} | base64 -d > ${path}`,
      );
      const safe =
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'";
      const said = await run([safe, hidden, attack.before ?? '', ...files].join('\n'));
      try {
        const cwd = join(workspace, attack.in ?? '.');
        execFileSync('git', ['-c', 'safe.directory=*', 'status'], { cwd, stdio: 'ignore' });
      } catch {
        // Git refuses the index. The test checks only the trace in `outside`.
      }
      expect(readdirSync(outside), said).toEqual([]);
    },
  );
});
