import { readFile } from 'node:fs/promises';
import { type JsonValue, parseJson } from '@millrace/core';
import { ConfigError } from './config-error.ts';
import { lineAndColumn } from './place-of.ts';

/** A file of JSON, with its text to find places in. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  readonly value: JsonValue;
}

const limits = { maxTextLength: 1_000_000, maxDepth: 64 };

/** Nothing where there is no such file. */
export async function readJsonFile(path: string): Promise<JsonFile | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  const parsed = parseJson(text, limits);
  if (parsed.ok) return { path, text, value: parsed.value };
  const { message, position } = parsed.failure;
  const where = `${path}:${lineAndColumn(text, position)}`;
  const hint = /^\s*\/[/*]/m.test(text) ? '. JSON has no comments: take them out' : '';
  throw new ConfigError(`Cannot read ${where}: ${message}${hint}`, { path, position });
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
  } catch (error) {
    const { code = 'nothing' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw cannotRead(path, code, error);
  }
}

function cannotRead(path: string, errno: string, cause: unknown): ConfigError {
  const message = `Cannot read ${path}: ${reasons[errno] ?? `the system says ${errno}`}`;
  return new ConfigError(message, { path, errno }, { cause });
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not. Change its permissions, or name another file with --config',
  EISDIR: 'it is a folder. Name a file',
};
