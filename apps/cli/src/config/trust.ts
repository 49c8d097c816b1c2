import { createHash } from 'node:crypto';
import type { ConfigFile } from './config-file.ts';

/**
 * What a project's file may not say by itself, since anybody's repository can have one: which programs
 * are started, where keys and texts are sent, what needs no asking, where sessions are written.
 */
export function riskyParts(settings: ConfigFile): readonly string[] {
  return Object.keys(riskyOf(settings));
}

/** The same file without them. */
export function withoutRisky(settings: ConfigFile): ConfigFile {
  const { models, mcpServers, store, permissions, ...rest } = settings;
  if (permissions === undefined) return rest;
  const { allow, mode, ...others } = permissions;
  return { ...rest, permissions: mode === 'allow' ? others : { ...others, mode } };
}

/** Of what is trusted, so that what is changed later is asked about again. */
export function fingerprint(settings: ConfigFile): string {
  return createHash('sha256')
    .update(JSON.stringify(riskyOf(settings)))
    .digest('hex');
}

function riskyOf({ models, mcpServers, store, permissions }: ConfigFile): object {
  const parts = {
    models,
    mcpServers,
    store,
    'permissions.allow': permissions?.allow,
    'permissions.mode': permissions?.mode === 'allow' ? 'allow' : undefined,
  };
  const isThere = (part: unknown) => part !== undefined && JSON.stringify(part).length > 2;
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => isThere(part)));
}
