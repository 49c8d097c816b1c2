import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMillraceError } from '@millrace/core';
import {
  createModelTable,
  joinTables,
  type ModelTable,
  models,
  readModelTable,
  writeModelTable,
} from '@millrace/providers/models';
import { userConfigFolder } from '../config/config-paths.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { makeFolder } from '../make-folder.ts';
import { readFileSafely } from '../safe-files.ts';

/** Maximum size of the file. LiteLLM's list is 3 MB large. */
const maxTableBytes = 32 * 2 ** 20;

/**
 * Returns the path of the user's own table of models. Returns undefined if there is no settings
 * folder.
 */
function modelTablePath(env: Env): string | undefined {
  const folder = userConfigFolder(env);
  return folder && join(folder, 'models.json');
}

/**
 * Returns the table of models. Entries of the user's own file have priority over the built-in
 * table. It never uses the network. Throws a `ConfigError` if the file is invalid.
 */
export async function loadModelTable(env: Env): Promise<ModelTable> {
  const path = modelTablePath(env);
  const text = path && (await readTable(path));
  if (path === undefined || text === undefined) return models;
  try {
    return joinTables(createModelTable(readModelTable(text)), models);
  } catch (error) {
    throw invalidTable(path, error);
  }
}

/**
 * Stores a file as the user's own table of models. The file must be LiteLLM's list, or a file in
 * the format of `writeModelTable`. Returns the number of models and the path of the stored table.
 */
export async function storeModelTable(
  source: string,
  env: Env,
): Promise<{ readonly count: number; readonly path: string }> {
  const path = modelTablePath(env);
  if (path === undefined) {
    throw new ConfigError('Cannot store the models: set HOME, so that they have a folder');
  }
  const text = await readTable(source, { pipes: true });
  if (text === undefined) throw new ConfigError(`Cannot read ${source}: it does not exist`);
  let rows: ReturnType<typeof readModelTable>;
  try {
    rows = readModelTable(text);
  } catch (error) {
    throw invalidTable(source, error);
  }
  makeFolder(dirname(path));
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFile(draft, writeModelTable(rows), { mode: 0o600 });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return { count: Object.keys(rows).length, path };
}

async function readTable(
  path: string,
  options: { readonly pipes?: boolean } = {},
): Promise<string | undefined> {
  try {
    const { bytes } = await readFileSafely(path, { maxBytes: maxTableBytes, ...options });
    return new TextDecoder().decode(bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw invalidTable(path, error);
  }
}

function invalidTable(path: string, cause: unknown): ConfigError {
  const { code = 'an error' } = cause as NodeJS.ErrnoException;
  const why = isMillraceError(cause) ? cause.message : `the system reports ${code}`;
  const way = 'Fix or remove it, or store another one with millrace models --refresh <file>';
  return new ConfigError(`Cannot use the models in ${path}: ${why}. ${way}`, { path }, { cause });
}
