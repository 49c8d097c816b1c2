import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Sections of a repository's configuration, and what may be set in them. Nothing of it has git run anything. */
const harmless: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'core',
    `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks
      autocrlf eol safecrlf abbrev quotepath`.split(/\s+/),
  ],
  ['remote', ['url', 'pushurl', 'fetch', 'tagopt', 'prune', 'gh-resolved']],
  [
    'branch',
    'remote merge rebase pushremote description vscode-merge-base gh-merge-base'.split(' '),
  ],
  ['user', ['name', 'email']],
  ['init', ['defaultbranch']],
  ['pull', ['rebase', 'ff']],
  ['push', ['default', 'autosetupremote']],
  ['color', ['ui']],
]);

/**
 * Whether git, in this folder, finds a repository that has it run no other programs: no file watcher,
 * filter, pager or comparer of its own. A folder that came with its `.git` may have one.
 */
export async function isPlainRepository(root: string): Promise<boolean> {
  try {
    const own = join(root, '.git');
    const folders = await Promise.all(
      ['.', 'objects', 'refs'].map((name) => lstat(join(own, name))),
    );
    const files = await Promise.all(['HEAD', 'config'].map((name) => lstat(join(own, name))));
    // One that git would take for none has it look for another: in this very folder, or above it.
    const isWhole = folders.every((one) => one.isDirectory()) && files.every((one) => one.isFile());
    // What is in another repository inside this one, or beside it, is not looked at here.
    // The hook is run when an index is written, which a mere look may do.
    const more = ['modules', 'config.worktree', 'commondir', 'hooks/post-index-change'];
    const hasMore = await Promise.all(more.map((name) => isThere(join(own, name))));
    if (!isWhole || hasMore.includes(true)) return false;
    if ((await isThere(join(root, '.gitmodules'))) || (await hasInnerRepository(own))) return false;
    return isHarmless(await readFile(join(own, 'config'), 'utf8'));
  } catch {
    return false;
  }
}

/** Modules that git knows of are in the index, as links to commits. */
async function hasInnerRepository(own: string): Promise<boolean> {
  const index = await readFile(join(own, 'index')).catch(() => undefined);
  // Their mode, 0160000, between the fields of an entry.
  return index?.includes(Buffer.from([0x00, 0x00, 0xe0, 0x00])) ?? false;
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

/** Whether each line is a section or a setting that is known. A line that goes on, or is none, is not. */
export function isHarmless(config: string): boolean {
  let known: readonly string[] | undefined;
  return config.split(/\r?\n/).every((line) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) return true;
    const section = /^\[([a-z]+)(?:\s+"[^"\\]*")?\]$/i.exec(text);
    if (section !== null) {
      known = harmless.get((section[1] ?? '').toLowerCase());
      return known !== undefined;
    }
    const setting = /^([a-z][a-z0-9-]*)(?:\s*=\s*[^\\]*)?$/i.exec(text);
    return setting !== null && known?.includes((setting[1] ?? '').toLowerCase()) === true;
  });
}
