import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';

const maxBytes = 1_048_576;
// As git does, a link is not followed; without O_NONBLOCK a FIFO of that name would be waited for.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** What the files of a folder say is to be ignored, the weakest first. */
export async function readIgnoreFiles(
  folder: string,
  has: { readonly git: boolean; readonly ignoreFile: boolean },
): Promise<readonly string[]> {
  const texts = [
    has.git ? await readExcludes(folder) : undefined,
    has.ignoreFile ? await readText(`${folder}/.gitignore`) : undefined,
  ];
  return texts.filter((text) => text !== undefined);
}

/** The nearest folder, from this one up, that has a `.git`. */
export async function findRepository(from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    if (await isThere(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

export async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** In a linked work tree `.git` is a file that says where the repository is. */
async function readExcludes(folder: string): Promise<string | undefined> {
  const pointer = await readText(`${folder}/.git`);
  const own = pointer === undefined ? `${folder}/.git` : follow(folder, /^gitdir: (.*)/, pointer);
  const common = own && (await readText(`${own}/commondir`));
  const shared = own && common ? follow(own, /^(.*)/, common) : own;
  return shared && readText(`${shared}/info/exclude`);
}

/** The system resolves `..` here, not `join`: the folder may be a handle, which has no parent by name. */
function follow(folder: string, form: RegExp, text: string): string | undefined {
  const path = form.exec(text)?.[1]?.trim() ?? '';
  if (path === '') return undefined;
  return isAbsolute(path) ? path : `${folder}/${path}`;
}

/** Nothing where it is not a regular file, or may not be read: then it says nothing. */
async function readText(path: string): Promise<string | undefined> {
  const file = await open(path, flags).catch(() => undefined);
  try {
    const stats = await file?.stat();
    if (file === undefined || !stats?.isFile()) return undefined;
    const bytes = Buffer.alloc(Math.min(stats.size, maxBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
