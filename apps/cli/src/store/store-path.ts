import { isAbsolute, join } from 'node:path';
import { MillraceError } from '@millrace/core';
import type { Config } from '../config/config.ts';
import type { Env } from '../models/env.ts';

/** Where the sessions are kept: as it is configured, else where the user's data belong. */
export function storePath(config: Pick<Config, 'store'>, env: Env): string {
  return config.store ?? join(dataHome(env), 'millrace', 'sessions.db');
}

/** A relative path counts for nothing there, by the XDG specification. */
function dataHome(env: Env): string {
  const { XDG_DATA_HOME: data = '', LOCALAPPDATA: local = '', HOME: home = '' } = env;
  if (isAbsolute(data)) return data;
  if (isAbsolute(local)) return local;
  if (isAbsolute(home)) return join(home, '.local', 'share');
  throw new MillraceError(
    'no_home',
    'Cannot find a place for the sessions: neither XDG_DATA_HOME nor HOME is set. Say where with --store <file>',
  );
}
