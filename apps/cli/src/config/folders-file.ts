import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isMillraceError } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import { z } from 'zod';
import type { Config } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import { checkJsonFile, readJsonFile } from './json-file.ts';
import { ruleFromText, ruleToText } from './rule-text.ts';

/** What was decided about a folder once and for all. It is in the user's files, out of a project's reach. */
export interface FolderDecisions {
  /** The fingerprint of what its millrace.json may do. */
  readonly trusted?: string | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

type Folders = Readonly<Record<string, FolderDecisions>>;

const schema: z.ZodType<Folders> = z.record(
  z.string(),
  z.strictObject({
    trusted: z.string().optional(),
    allow: z.array(z.string()).optional(),
    deny: z.array(z.string()).optional(),
  }),
);

export async function readFoldersFile(path: string | undefined): Promise<Folders> {
  const file = path === undefined ? undefined : await readJsonFile(path);
  return file === undefined ? {} : checkJsonFile(file, schema);
}

/** A rule for a folder that holds in later sessions too. `cwd` is the one that the rule's paths start at. */
export async function rememberRule(
  { foldersFile }: Pick<Config, 'foldersFile'>,
  cwd: string,
  rule: PermissionRule,
): Promise<void> {
  if (rule.decision === 'ask') return;
  const text = ruleToText(rule);
  const { decision } = rule;
  await updateFolder(foldersFile, cwd, (known) => ({
    ...known,
    [decision]: [...(known[decision] ?? []).filter((each) => each !== text), text],
  }));
}

/** The rule holds in later sessions no more. */
export async function forgetRule(
  { foldersFile }: Pick<Config, 'foldersFile'>,
  cwd: string,
  rule: PermissionRule,
): Promise<void> {
  if (rule.decision === 'ask') return;
  const text = ruleToText(rule);
  const { decision } = rule;
  const known = foldersFile === undefined ? undefined : (await readFoldersFile(foldersFile))[cwd];
  if (known?.[decision]?.includes(text) !== true) return;
  await updateFolder(foldersFile, cwd, (now) => ({
    ...now,
    [decision]: (now[decision] ?? []).filter((each) => each !== text),
  }));
}

/** What was remembered for a folder, as it is on the disk. */
export async function readRememberedRules(
  { foldersFile }: Pick<Config, 'foldersFile'>,
  cwd: string,
): Promise<readonly PermissionRule[]> {
  const folders = await readFoldersFile(foldersFile);
  const { allow = [], deny = [] } = (Object.hasOwn(folders, cwd) && folders[cwd]) || {};
  return [
    ...allow.map((text) => ruleFromText(text, 'allow')),
    ...deny.map((text) => ruleFromText(text, 'deny')),
  ];
}

/** Changes what is known of one folder, and nothing else in the file. */
export async function updateFolder(
  path: string | undefined,
  folder: string,
  change: (known: FolderDecisions) => FolderDecisions,
): Promise<void> {
  if (path === undefined) {
    throw new ConfigError('Cannot remember it: neither XDG_CONFIG_HOME nor HOME is set. Set one');
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  await withFileLock(path, async () => {
    const folders = await readFoldersFile(path);
    const known = Object.hasOwn(folders, folder) ? folders[folder] : undefined;
    const next = { ...folders, [folder]: change(known ?? {}) };
    await writeAtomically(path, `${JSON.stringify(next, undefined, 2)}\n`);
  }).catch((error: unknown) => {
    throw isMillraceError(error) ? error : cannotWrite(path, error);
  });
}

/** Whole or not at all, and for its owner alone. */
async function writeAtomically(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function cannotWrite(path: string, cause: unknown): ConfigError {
  const { code: errno = 'nothing' } = cause as NodeJS.ErrnoException;
  const message = `Cannot write ${path}: the system says ${errno}. See whether its folder can be written to`;
  return new ConfigError(message, { path, errno }, { cause });
}

const pauseMs = 20;
const maxTries = 250;
/** What is done meanwhile takes milliseconds: whoever holds it longer is dead. */
const staleMs = 3000;

/** Does something while no other process does it with the same file. Its folder has to be there. */
async function withFileLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const lock = `${path}.lock`;
  await acquireLock(lock);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function acquireLock(lock: string): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    if (await createLock(lock)) return;
    const found = await stat(lock).catch(() => undefined);
    const isStale = found !== undefined && Date.now() - found.mtimeMs > staleMs;
    if (isStale) await rm(lock, { force: true });
    else await pause(pauseMs);
  }
  const way = 'Try again; if nothing else runs, delete that file';
  throw new ConfigError(`Cannot write: another process holds ${lock}. ${way}`, { path: lock });
}

/** Made by one of all who try at the same time. */
async function createLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
