import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LogError } from '../contract/log-error.ts';

/**
 * Where the file really is, whatever the current folder becomes and through whichever link it is named:
 * its journal lies beside that. Throws for what SQLite would not keep in a file.
 */
export function filePath(path: string): string {
  const isFile = typeof path === 'string' && path !== '' && !/^(:memory:$|file:)/.test(path);
  if (!isFile) throw noFile(path);
  const whole = resolve(path);
  return realPath(whole) ?? join(realPath(dirname(whole)) ?? dirname(whole), basename(whole));
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function noFile(path: string): LogError {
  const message = `Cannot keep a log at ${JSON.stringify(path)}: it is the path of a file. For one in memory there is memoryLog`;
  return new LogError('bad_option', message, { path });
}
