import { isMillraceError, type JsonValue, parseJson } from '@millrace/core';
import { ConfigError } from './config-error.ts';
import { lineAndColumn } from './place-of.ts';
import { readText } from './read-text.ts';

/** A file of JSON, with its text to find places in. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  readonly value: JsonValue;
}

const limits = { maxTextLength: 1_000_000, maxDepth: 64 };

/** Nothing where there is no such file. */
export async function readJsonFile(path: string): Promise<JsonFile | undefined> {
  const text = await readTextOf(path);
  if (text === undefined) return undefined;
  const parsed = parseJson(text, limits);
  if (parsed.ok) return { path, text, value: parsed.value };
  const { message, position } = parsed.failure;
  const where = `${path}:${lineAndColumn(text, position)}`;
  const what = message.replace(/^Cannot parse JSON at \d+: /, '');
  throw new ConfigError(`Cannot read ${where}: ${what}. ${hintAt(text, position)}`, {
    path,
    position,
  });
}

/** What people write into JSON that other formats take. */
function hintAt(text: string, position: number): string {
  const [before, after] = [text.slice(0, position), text.slice(position)];
  if (/^\s*\/[/*]/.test(after)) return 'JSON has no comments: take it out';
  if (/,\s*$/.test(before) && /^\s*[}\]]/.test(after)) return 'Take out the comma before it';
  return 'Mend it there';
}

async function readTextOf(path: string): Promise<string | undefined> {
  try {
    return await readText(path);
  } catch (error) {
    const { code = 'nothing' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw cannotRead(path, code, error);
  }
}

function cannotRead(path: string, errno: string, cause: unknown): ConfigError {
  const why = isMillraceError(cause) ? cause.message : reasons[errno];
  const message = `Cannot read ${path}: ${why ?? `the system says ${errno}`}`;
  return new ConfigError(message, { path, errno }, { cause });
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not. Change its permissions, or name another file with --config',
  EISDIR: 'it is a folder. Name a file',
};
