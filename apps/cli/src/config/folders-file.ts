import { open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isMillraceError } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import { z } from 'zod';
import type { Config } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import { makeFolder } from '../make-folder.ts';
import { checkJsonFile, readJsonFile } from './json-file.ts';
import { isKeptByText, ruleFromText, ruleToText } from './rule-text.ts';

/**
 * The stored decisions about one folder. They are in a file that belongs to the user, so a project
 * cannot change them.
 */
export interface FolderDecisions {
  /** The fingerprint of the parts of the folder's millrace.json that the user trusts. */
  readonly trusted?: string | undefined;
  /** The fingerprints of the files that the folder's MCP servers execute and that the user trusts, by path. */
  readonly scripts?: Readonly<Record<string, string>> | undefined;
  /** The paths of these files by the working folder from which the servers execute them. */
  readonly started?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The fingerprint of the folder's hooks, skills, commands and other extensions that the user trusts. */
  readonly extensions?: string | undefined;
  /** The fingerprint of the folder's hooks and their scripts that the user trusts. */
  readonly hooks?: string | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

type Folders = Readonly<Record<string, FolderDecisions>>;

const schema: z.ZodType<Folders> = z.record(
  z.string(),
  z.strictObject({
    trusted: z.string().optional(),
    scripts: z.record(z.string(), z.string()).optional(),
    started: z.record(z.string(), z.array(z.string())).optional(),
    extensions: z.string().optional(),
    hooks: z.string().optional(),
    allow: z.array(z.string()).optional(),
    deny: z.array(z.string()).optional(),
  }),
);

export async function readFoldersFile(path: string | undefined): Promise<Folders> {
  const file = path === undefined ? undefined : await readJsonFile(path);
  return file === undefined ? {} : checkJsonFile(file, schema);
}

/**
 * Stores a rule for a folder, so that later sessions use it too. The rule's paths are relative to
 * `cwd`. Throws if later sessions would read a different rule.
 */
export async function rememberRule(
  { foldersFile }: Pick<Config, 'foldersFile'>,
  cwd: string,
  rule: PermissionRule,
): Promise<void> {
  if (rule.decision === 'ask') return;
  const text = ruleToText(rule);
  if (!isKeptByText(rule))
    throw new ConfigError(
      `Cannot save the rule ${JSON.stringify(text)}: later sessions would read a different rule from this text. Write a rule in your configuration`,
    );
  const { decision } = rule;
  await updateFolder(foldersFile, cwd, (known) => ({
    ...known,
    [decision]: [...(known[decision] ?? []).filter((each) => each !== text), text],
  }));
}

/** Deletes a stored rule. */
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

/** Reads the rules that are stored for a folder. */
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

/** Updates the decisions of one folder and leaves the rest of the file unchanged. */
export async function updateFolder(
  path: string | undefined,
  folder: string,
  change: (known: FolderDecisions) => FolderDecisions,
): Promise<void> {
  if (path === undefined) {
    throw new ConfigError(
      'Cannot store the decision: neither XDG_CONFIG_HOME nor HOME is set. Set one of them',
    );
  }
  try {
    makeFolder(dirname(path));
  } catch (error) {
    throw cannotWrite(path, error);
  }
  await withFileLock(path, async () => {
    const folders = await readFoldersFile(path);
    const known = Object.hasOwn(folders, folder) ? folders[folder] : undefined;
    const next = { ...folders, [folder]: change(known ?? {}) };
    await writeAtomically(path, `${JSON.stringify(next, undefined, 2)}\n`);
  }).catch((error: unknown) => {
    throw isMillraceError(error) ? error : cannotWrite(path, error);
  });
}

/** Writes the file atomically: completely or not at all. Only the owner can read it. */
export async function writeAtomically(path: string, text: string): Promise<void> {
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
  const message = `Cannot write ${path}: the system reports ${errno}. Check the permissions of its folder`;
  return new ConfigError(message, { path, errno }, { cause });
}

const pauseMs = 20;
const maxTries = 250;
/**
 * A lock of this age belongs to a dead process. A live process holds a lock only for milliseconds.
 */
const staleMs = 3000;

/**
 * Runs `work` under a lock, so that no other process runs work for the same file. The folder of the
 * file must exist.
 */
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
  const way = 'Try again. If no other millrace process runs, delete that file';
  throw new ConfigError(`Cannot write: another process holds ${lock}. ${way}`, { path: lock });
}

/**
 * Tries to create the lock file. Returns true on success. If several processes try, only one
 * succeeds.
 */
async function createLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
